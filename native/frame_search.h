// Goes over one block whose records are damaged, whatever its bytes claim, in time proportional to the block.
#ifndef WELLFED_FRAME_SEARCH_H_
#define WELLFED_FRAME_SEARCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "framing.h"
#include "range_sums.h"

namespace wellfed {

// Keeps the block's address. Not thread-safe.
class FrameSearch {
 public:
  explicit FrameSearch(std::span<const uint8_t> block) : block_(block), sums_(block) {}

  // As ScanFrames with `check`.
  ScanResult Scan(uint64_t pos, uint64_t max_records, std::vector<uint64_t>* offsets);

  // As FindFrameInStream.
  FindResult FindInStream(uint64_t pos, uint64_t max_length);

  // As FindFrame.
  uint64_t Find(uint64_t pos);

  // The masked sum of `length` bytes from `pos` on. REQUIRES: they lie inside the block.
  uint32_t MaskedSum(uint64_t pos, uint64_t length) { return MaskCrc(sums_.Of(pos, length)); }

  // Bytes of payloads that were summed so far.
  uint64_t summed() const { return sums_.summed(); }

 private:
  FrameStatus Read(uint64_t pos, uint64_t* length);

  std::span<const uint8_t> block_;
  RangeSums sums_;
  FrameReader reader_;
};

}  // namespace wellfed

#endif  // WELLFED_FRAME_SEARCH_H_
