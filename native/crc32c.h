// CRC-32C (Castagnoli; RFC 3720 appendix B.4) and TFRecord's masked form of it.
#ifndef WELLFED_CRC32C_H_
#define WELLFED_CRC32C_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace wellfed {

// Extends `crc` (0 at the start) by `size` bytes at `data`, with the fastest implementation this CPU has.
// Thread-safe.
uint32_t Crc32c(const uint8_t* data, size_t size, uint32_t crc = 0);

// The sum of eight bytes, given as the little-endian number they are: cheaper than Crc32c for a frame's
// length. Thread-safe.
uint32_t Crc32cOfWord(uint64_t word);

// TFRecord stores sums masked, so that a sum over bytes that hold sums stays sound.
constexpr uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

inline uint32_t MaskedCrc32c(const uint8_t* data, size_t size) { return MaskCrc(Crc32c(data, size)); }

// One way to compute the sum. All give the same result; the tests run on each that is `available`.
struct Crc32cImplementation {
  const char* name;  // "portable", "sse4.2", "armv8"
  bool (*available)();
  uint32_t (*extend)(uint32_t crc, const uint8_t* data, size_t size);
  uint32_t (*of_word)(uint64_t word);
  // The first i < count where the eight bytes at data + i, as a number, are at most `max` and the four bytes
  // after them hold their masked sum; `count` where there is none. REQUIRES: count + 11 bytes at `data`,
  // where count > 0.
  size_t (*find_summed_word)(const uint8_t* data, size_t count, uint64_t max);
};

// Slowest first; the last available one is what Crc32c uses.
std::span<const Crc32cImplementation> Crc32cImplementations();

// The last available one.
const Crc32cImplementation& BestCrc32c();

}  // namespace wellfed

#endif  // WELLFED_CRC32C_H_
