// The sums of many overlapping ranges of one block, at the cost of few passes over it.
//
// A search after damage meets headers that stand and payloads that do not. Where each of many headers claims
// most of the block, summing each claim by itself takes the square of the block. Here a long range is the
// difference of two prefixes, and each prefix starts at a mark that an earlier range left.
#ifndef WELLFED_RANGE_SUMS_H_
#define WELLFED_RANGE_SUMS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace wellfed {

// Keeps the block's address, and 4 bytes for each 768 that long ranges covered. Not thread-safe.
class RangeSums {
 public:
  explicit RangeSums(std::span<const uint8_t> block) : block_(block) {}

  // The CRC-32C of `length` bytes from `pos` on. REQUIRES: they lie inside the block.
  uint32_t Of(uint64_t pos, uint64_t length);

  // Bytes that were summed so far: at most 1.5 KiB for each range, and each byte of the block once more while
  // the ranges' starts ascend.
  uint64_t summed() const { return summed_; }

 private:
  uint32_t Extend(uint32_t crc, uint64_t pos, uint64_t length);
  uint32_t Prefix(uint64_t pos);
  uint64_t Covered() const;
  void Cover(uint64_t pos, uint64_t end);

  std::span<const uint8_t> block_;
  uint64_t start_ = 0;           // Where prefixes start.
  std::vector<uint32_t> marks_;  // Sums of the prefixes of 0, 768, 1536, ... bytes; empty until needed.
  uint64_t summed_ = 0;
};

}  // namespace wellfed

#endif  // WELLFED_RANGE_SUMS_H_
