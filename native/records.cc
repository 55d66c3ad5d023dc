#include "records.h"

#include <cstring>

namespace wellfed {
namespace {

// Records are met in any order: their first bytes are asked for this many records ahead, since memory answers
// later than a small record takes.
constexpr size_t kPrefetchRecords = 8;

inline void Prefetch([[maybe_unused]] const uint8_t* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace

ReadResult ReadFrames(std::span<const uint8_t> block, std::span<const uint64_t> offsets, bool check,
                      int64_t* sizes) {
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (i + kPrefetchRecords < offsets.size()) {
      const uint64_t ahead = offsets[i + kPrefetchRecords];
      if (ahead < block.size()) Prefetch(block.data() + ahead);
    }
    // At the block's end no record starts either.
    if (offsets[i] >= block.size()) return {FrameStatus::kTruncated, i};
    Frame frame;
    const FrameStatus status = ReadFrame(block, offsets[i], check, &frame);
    if (status != FrameStatus::kOk) return {status, i};
    sizes[i] = static_cast<int64_t>(frame.length);
  }
  return {FrameStatus::kOk, offsets.size()};
}

void CopySpans(const uint8_t* data, std::span<const int64_t> starts, std::span<const int64_t> sizes,
               std::span<const int64_t> places, uint8_t* out) {
  for (size_t i = 0; i < starts.size(); ++i) {
    if (i + kPrefetchRecords < starts.size()) Prefetch(data + starts[i + kPrefetchRecords]);
    if (sizes[i] > 0) std::memcpy(out + places[i], data + starts[i], static_cast<size_t>(sizes[i]));
  }
}

}  // namespace wellfed
