// What the files of the implementations share: the polynomial's arithmetic and their entry points.
// Included by native/crc32c*.cc and native/range_sums.cc only.
#ifndef WELLFED_CRC32C_IMPL_H_
#define WELLFED_CRC32C_IMPL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "crc32c.h"

#if defined(__x86_64__) || defined(_M_X64)
#define WELLFED_CRC32C_SSE42 1
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#define WELLFED_CRC32C_VPCLMUL 1
#endif
#if defined(__aarch64__) || defined(_M_ARM64)
#define WELLFED_CRC32C_ARMV8 1
#endif

namespace wellfed {

extern const Crc32cImplementation kCrc32cPortable;
#ifdef WELLFED_CRC32C_SSE42
extern const Crc32cImplementation kCrc32cSse42;
#endif
#ifdef WELLFED_CRC32C_VPCLMUL
extern const Crc32cImplementation kCrc32cVpclmul;
#endif
#ifdef WELLFED_CRC32C_ARMV8
extern const Crc32cImplementation kCrc32cArmv8;
#endif

inline constexpr uint32_t kCrc32cPolynomial = 0x82f63b78u;  // Reflected: bit 31 is x^0.

// a * b modulo the polynomial, all reflected.
constexpr uint32_t Crc32cMultiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (int i = 0; i < 32; ++i) {
    if (a >> 31) product ^= b;
    a <<= 1;
    b = (b >> 1) ^ (b & 1 ? kCrc32cPolynomial : 0);
  }
  return product;
}

// x^exponent modulo the polynomial.
constexpr uint32_t Crc32cPowerOf(uint64_t exponent) {
  uint32_t result = 0x80000000u;  // x^0
  uint32_t square = 0x40000000u;  // x^1
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = Crc32cMultiply(result, square);
    square = Crc32cMultiply(square, square);
  }
  return result;
}

// What `bytes` zero bytes do to a register, as a factor.
constexpr uint32_t Crc32cShiftOf(uint64_t bytes) { return Crc32cPowerOf(8 * bytes); }

// What `bytes` zero bytes do to a register, as four look-ups.
struct Crc32cShiftTable {
  std::array<std::array<uint32_t, 256>, 4> rows{};

  constexpr explicit Crc32cShiftTable(uint64_t bytes) {
    const uint32_t shift = Crc32cShiftOf(bytes);
    for (uint32_t row = 0; row < 4; ++row) {
      for (uint32_t bit = 1; bit < 256; bit <<= 1) {
        const uint32_t shifted = Crc32cMultiply(bit << (8 * row), shift);
        for (uint32_t low = 0; low < bit; ++low) rows[row][bit | low] = rows[row][low] ^ shifted;
      }
    }
  }

  uint32_t operator()(uint32_t crc) const {
    return rows[0][crc & 0xff] ^ rows[1][(crc >> 8) & 0xff] ^ rows[2][(crc >> 16) & 0xff] ^
           rows[3][crc >> 24];
  }
};

}  // namespace wellfed

#endif  // WELLFED_CRC32C_IMPL_H_
