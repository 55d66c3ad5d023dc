// CRC-32C by tables: eight bytes a step ("slicing by 8"), on any CPU.
#include "crc32c_impl.h"
#include "wire.h"

namespace wellfed {
namespace {

// kSlices[k][b]: what byte b followed by k zero bytes leaves in an empty register.
constexpr auto kSlices = [] {
  std::array<std::array<uint32_t, 256>, 8> slices{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kCrc32cPolynomial : 0);
    slices[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = slices[k - 1][byte];
      slices[k][byte] = (before >> 8) ^ slices[0][before & 0xff];
    }
  }
  return slices;
}();

uint32_t Step(uint32_t crc, uint64_t word) {
  word ^= crc;
  uint32_t next = 0;
  for (size_t k = 0; k < 8; ++k) next ^= kSlices[7 - k][(word >> (8 * k)) & 0xff];
  return next;
}

uint32_t Extend(uint32_t crc, const uint8_t* data, size_t size) {
  crc = ~crc;
  for (; size >= 8; data += 8, size -= 8) crc = Step(crc, LoadLE64(data));
  for (; size > 0; ++data, --size) crc = (crc >> 8) ^ kSlices[0][(crc ^ *data) & 0xff];
  return ~crc;
}

uint32_t OfWord(uint64_t word) { return ~Step(~0u, word); }

size_t FindSummedWord(const uint8_t* data, size_t count, uint64_t max) {
  for (size_t i = 0; i < count; ++i) {
    const uint64_t word = LoadLE64(data + i);
    if (word <= max && MaskCrc(OfWord(word)) == LoadLE32(data + i + 8)) return i;
  }
  return count;
}

}  // namespace

const Crc32cImplementation kCrc32cPortable = {"portable", [] { return true; }, Extend, OfWord,
                                              FindSummedWord};

}  // namespace wellfed
