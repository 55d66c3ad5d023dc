// The steps of the CRC-32C instruction of x86-64, for crc32c_streams.h. The including file defines
// WELLFED_CRC32C_TARGET.
#include <nmmintrin.h>

#include <cstdint>

namespace wellfed {
namespace {

// As the instruction has it: a cast between two steps would take a cycle of three.
using Register = uint64_t;

WELLFED_CRC32C_TARGET inline uint64_t Step(uint64_t crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
WELLFED_CRC32C_TARGET inline uint32_t Step(uint64_t crc, uint32_t word) {
  return _mm_crc32_u32(static_cast<uint32_t>(crc), word);
}
WELLFED_CRC32C_TARGET inline uint32_t Step(uint64_t crc, uint16_t word) {
  return _mm_crc32_u16(static_cast<uint32_t>(crc), word);
}
WELLFED_CRC32C_TARGET inline uint32_t Step(uint64_t crc, uint8_t word) {
  return _mm_crc32_u8(static_cast<uint32_t>(crc), word);
}

}  // namespace
}  // namespace wellfed
