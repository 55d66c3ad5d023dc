#include "framing.h"

#include <algorithm>
#include <cstring>

#include "wire.h"

namespace wellfed {
namespace {

// The length at `pos`, once its sum holds and the record can be inside the block.
// REQUIRES: pos < block.size().
FrameStatus ReadLength(std::span<const uint8_t> block, uint64_t pos, uint64_t* length) {
  const uint64_t left = block.size() - pos;
  if (left < kHeaderSize) return FrameStatus::kTruncated;
  const uint8_t* const header = block.data() + pos;
  const uint64_t found = LoadLE64(header);
  // A flipped bit in the length would lead to a false record far down the block.
  if (MaskCrc(Crc32cOfWord(found)) != LoadLE32(header + 8)) return FrameStatus::kBadLengthCrc;
  // Subtract, never add: `found` comes from the file and may be near 2^64.
  if (left < kFrameOverhead || found > left - kFrameOverhead) return FrameStatus::kTruncated;
  *length = found;
  return FrameStatus::kOk;
}

// REQUIRES: the whole record is inside the block.
bool PayloadSumHolds(const uint8_t* payload, uint64_t length) {
  return MaskedCrc32c(payload, length) == LoadLE32(payload + length);
}

}  // namespace

FrameStatus ReadFrame(std::span<const uint8_t> block, uint64_t pos, bool check, Frame* frame) {
  if (pos == block.size()) return FrameStatus::kEnd;
  uint64_t length;
  const FrameStatus status = ReadLength(block, pos, &length);
  if (status != FrameStatus::kOk) return status;
  const uint8_t* const payload = block.data() + pos + kHeaderSize;
  if (check && !PayloadSumHolds(payload, length)) return FrameStatus::kBadPayloadCrc;
  *frame = {payload, length};
  return FrameStatus::kOk;
}

ScanResult ScanFrames(std::span<const uint8_t> block, uint64_t pos, uint64_t max_records, bool check,
                      std::vector<uint64_t>* offsets) {
  // Invariant: pos <= block.size(), and a record starts at pos unless the block ends or is damaged there.
  for (; max_records > 0; --max_records) {
    Frame frame;
    const FrameStatus status = ReadFrame(block, pos, check, &frame);
    if (status != FrameStatus::kOk) return {status, pos};
    offsets->push_back(pos);
    pos += kFrameOverhead + frame.length;
  }
  return {FrameStatus::kOk, pos};
}

FindResult FindFrameInStream(std::span<const uint8_t> block, uint64_t pos, uint64_t max_length) {
  const auto find_summed_word = BestCrc32c().find_summed_word;
  // Invariant: no record starts in front of pos.
  while (block.size() - pos >= kHeaderSize) {
    const uint64_t count = block.size() - pos - (kHeaderSize - 1);
    const uint64_t ahead = find_summed_word(block.data() + pos, count, max_length);
    pos += ahead;
    if (ahead == count) break;
    Frame frame;
    const FrameStatus status = ReadFrame(block, pos, true, &frame);
    if (status == FrameStatus::kOk || status == FrameStatus::kTruncated) return {status, pos};
    ++pos;
  }
  return {FrameStatus::kEnd, pos};
}

uint64_t FindFrame(std::span<const uint8_t> block, uint64_t pos) {
  while (block.size() - pos >= kFrameOverhead) {
    const FindResult found = FindFrameInStream(block, pos, block.size() - pos - kFrameOverhead);
    if (found.status == FrameStatus::kOk) return found.position;
    if (found.status == FrameStatus::kEnd) break;
    pos = found.position + 1;  // A header whose record goes on beyond the block's end.
  }
  return block.size();
}

void WriteFrame(std::span<const uint8_t> payload, uint8_t* out) {
  const uint64_t length = payload.size();
  StoreLE64(length, out);
  StoreLE32(MaskCrc(Crc32cOfWord(length)), out + 8);
  uint8_t* const copy = out + kHeaderSize;
  if (length > 0) std::memcpy(copy, payload.data(), length);
  StoreLE32(MaskedCrc32c(copy, length), copy + length);
}

void AppendFrame(std::span<const uint8_t> payload, std::vector<uint8_t>* out) {
  const size_t before = out->size();
  out->resize(before + kFrameOverhead + payload.size());
  WriteFrame(payload, out->data() + before);
}

}  // namespace wellfed
