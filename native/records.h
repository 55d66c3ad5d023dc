// Records at scattered places: proves them, copies them together.
#ifndef WELLFED_RECORDS_H_
#define WELLFED_RECORDS_H_

#include <cstdint>
#include <span>

#include "framing.h"

namespace wellfed {

struct ReadResult {
  FrameStatus status;  // kOk, or what is wrong with record `count`.
  uint64_t count;      // Records in front of it.
};

// Proves the records whose headers stand at `offsets` and writes each payload's size to `sizes`. With `check`
// false only headers are proved. An offset behind the block is kTruncated. REQUIRES: `sizes` has room for
// offsets.size() values. Thread-safe.
ReadResult ReadFrames(std::span<const uint8_t> block, std::span<const uint64_t> offsets, bool check,
                      int64_t* sizes);

// Copies sizes[i] bytes from data + starts[i] to out + places[i], for each i. REQUIRES: all of them lie
// inside `data` and `out`, which do not overlap. Thread-safe on distinct outputs.
void CopySpans(const uint8_t* data, std::span<const int64_t> starts, std::span<const int64_t> sizes,
               std::span<const int64_t> places, uint8_t* out);

}  // namespace wellfed

#endif  // WELLFED_RECORDS_H_
