#include "framing.h"

#include <algorithm>
#include <cstring>

#include "prefetch.h"
#include "wire.h"

namespace wellfed {
namespace {

constexpr uint64_t kScanReserve = 1 << 16;  // Offsets that are made room for at once.
// The hardware's prefetcher does not follow headers. This far ahead, a walk over headers that are 3 KB apart
// takes 45 ns a record instead of 280 from memory, one over 46-byte records with their sums 15 instead of 28.
constexpr uint64_t kPrefetchRecords = 16;

}  // namespace

ScanResult ScanFrames(std::span<const uint8_t> block, uint64_t pos, uint64_t max_records, bool check,
                      std::vector<uint64_t>* offsets) {
  const FrameReader reader;
  const uint64_t most = (block.size() - pos) / kFrameOverhead;  // Of records in what is left.
  offsets->reserve(offsets->size() + std::min({max_records, most, kScanReserve}));
  // Invariant: pos <= block.size(), and a record starts at pos unless the block ends or is damaged there.
  for (; max_records > 0; --max_records) {
    Frame frame{};
    const FrameStatus status =
        check ? reader.Read(block, pos, true, &frame) : reader.ReadLength(block, pos, &frame.length);
    if (status != FrameStatus::kOk) return {status, pos};
    offsets->push_back(pos);
    const uint64_t size = kFrameOverhead + frame.length;
    // Records of one size are common; where they are not, this costs a wasted line.
    Prefetch(block.data() + std::min<uint64_t>(pos + kPrefetchRecords * size, block.size()));
    pos += size;
  }
  return {FrameStatus::kOk, pos};
}

void SealFrame(uint64_t length, uint8_t* frame) {
  StoreLE64(length, frame);
  StoreLE32(MaskCrc(Crc32cOfWord(length)), frame + 8);
  uint8_t* const payload = frame + kHeaderSize;
  StoreLE32(MaskedCrc32c(payload, length), payload + length);
}

void WriteFrame(std::span<const uint8_t> payload, uint8_t* out) {
  if (!payload.empty()) std::memcpy(out + kHeaderSize, payload.data(), payload.size());
  SealFrame(payload.size(), out);
}

void AppendFrame(std::span<const uint8_t> payload, std::vector<uint8_t>* out) {
  const size_t before = out->size();
  out->resize(before + kFrameOverhead + payload.size());
  WriteFrame(payload, out->data() + before);
}

}  // namespace wellfed
