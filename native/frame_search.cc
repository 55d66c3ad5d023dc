#include "frame_search.h"

#include "crc32c.h"
#include "wire.h"

namespace wellfed {

FrameStatus FrameSearch::Read(uint64_t pos, uint64_t* length) {
  const FrameStatus status = reader_.ReadLength(block_, pos, length);
  if (status != FrameStatus::kOk) return status;
  const uint64_t payload = pos + kHeaderSize;
  const bool holds = MaskedSum(payload, *length) == LoadLE32(&block_[payload + *length]);
  return holds ? FrameStatus::kOk : FrameStatus::kBadPayloadCrc;
}

ScanResult FrameSearch::Scan(uint64_t pos, uint64_t max_records, std::vector<uint64_t>* offsets) {
  // Invariant: pos <= block_.size(), and a record starts at pos unless the block ends or is damaged there.
  for (; max_records > 0; --max_records) {
    uint64_t length;
    const FrameStatus status = Read(pos, &length);
    if (status != FrameStatus::kOk) return {status, pos};
    offsets->push_back(pos);
    pos += kFrameOverhead + length;
  }
  return {FrameStatus::kOk, pos};
}

FindResult FrameSearch::FindInStream(uint64_t pos, uint64_t max_length) {
  const auto find_summed_word = BestCrc32c().find_summed_word;
  // Invariant: no record starts in front of pos.
  while (block_.size() - pos >= kHeaderSize) {
    const uint64_t count = block_.size() - pos - (kHeaderSize - 1);
    const uint64_t ahead = find_summed_word(block_.data() + pos, count, max_length);
    pos += ahead;
    if (ahead == count) break;
    uint64_t length;
    const FrameStatus status = Read(pos, &length);
    if (status == FrameStatus::kOk || status == FrameStatus::kTruncated) return {status, pos};
    ++pos;
  }
  return {FrameStatus::kEnd, pos};
}

uint64_t FrameSearch::Find(uint64_t pos) {
  while (block_.size() - pos >= kFrameOverhead) {
    const FindResult found = FindInStream(pos, block_.size() - pos - kFrameOverhead);
    if (found.status == FrameStatus::kOk) return found.position;
    if (found.status == FrameStatus::kEnd) break;
    pos = found.position + 1;  // A header whose record goes on beyond the block's end.
  }
  return block_.size();
}

FindResult FindFrameInStream(std::span<const uint8_t> block, uint64_t pos, uint64_t max_length) {
  return FrameSearch(block).FindInStream(pos, max_length);
}

uint64_t FindFrame(std::span<const uint8_t> block, uint64_t pos) { return FrameSearch(block).Find(pos); }

}  // namespace wellfed
