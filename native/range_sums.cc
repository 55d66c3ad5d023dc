#include "range_sums.h"

#include <array>

#include "crc32c.h"
#include "crc32c_impl.h"

namespace wellfed {
namespace {

constexpr uint64_t kStride = 768;  // Between marks: one step of the checksum's three streams. [bytes]
constexpr uint64_t kDirect = 2 * kStride;

// x^(8 * digit * 256^place) modulo the polynomial: what that many zero bytes multiply a sum by.
using Powers = std::array<std::array<uint32_t, 256>, 8>;

constexpr Powers MakePowers() {
  Powers powers{};
  uint32_t base = Crc32cShiftOf(1);
  for (auto& place : powers) {
    place[0] = 0x80000000u;  // x^0
    for (size_t digit = 1; digit < 256; ++digit) place[digit] = Crc32cMultiply(place[digit - 1], base);
    base = Crc32cMultiply(place[255], base);
  }
  return powers;
}

constexpr Powers kPowers = MakePowers();

// A sum followed by `bytes` bytes whose own sum is 0.
uint32_t Shift(uint32_t crc, uint64_t bytes) {
  for (size_t place = 0; bytes != 0; ++place, bytes >>= 8) {
    const auto digit = static_cast<size_t>(bytes & 0xff);
    if (digit != 0) crc = Crc32cMultiply(kPowers[place][digit], crc);
  }
  return crc;
}

}  // namespace

uint32_t RangeSums::Extend(uint32_t crc, uint64_t pos, uint64_t length) {
  summed_ += length;
  return Crc32c(block_.data() + pos, length, crc);
}

uint32_t RangeSums::Prefix(uint64_t pos) {
  const uint64_t mark = (pos - start_) / kStride, at = start_ + mark * kStride;
  return Extend(marks_[mark], at, pos - at);
}

uint64_t RangeSums::Covered() const { return start_ + (marks_.size() - 1) * kStride; }

void RangeSums::Cover(uint64_t pos, uint64_t end) {
  if (marks_.empty() || pos < start_ || pos > Covered()) {
    start_ = pos;
    marks_.assign(1, 0);
  }
  // Invariant: the bytes up to the last mark lie inside the block.
  while (end - start_ >= marks_.size() * kStride) {
    marks_.push_back(Extend(marks_.back(), Covered(), kStride));
  }
}

uint32_t RangeSums::Of(uint64_t pos, uint64_t length) {
  if (length <= kDirect) return Extend(0, pos, length);
  Cover(pos, pos + length);
  return Prefix(pos + length) ^ Shift(Prefix(pos), length);
}

}  // namespace wellfed
