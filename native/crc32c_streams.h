// The loop around a CPU's CRC-32C instruction. The instruction takes 3 cycles but one can start every cycle,
// so three neighbouring streams are summed at once and joined by a shift. The including file defines, inside
// its own unnamed namespace: WELLFED_CRC32C_TARGET, the attribute that allows the instruction, Step(crc,
// uint64_t / uint32_t / uint16_t / uint8_t), the instruction, and Register, what it takes and gives for 8
// bytes.
#include "crc32c_impl.h"
#include "prefetch.h"
#include "wire.h"

namespace wellfed {
namespace {

// Streams are short: long ones defeat the hardware's prefetcher (6.7 GB/s from memory at 1 KB, 11 at 256
// bytes).
constexpr size_t kLongStream = 256;
constexpr size_t kShortStream = 64;
constexpr size_t kPrefetchAhead = 3072;

constexpr Crc32cShiftTable kLongShift(kLongStream), kLongShift2(2 * kLongStream);
constexpr Crc32cShiftTable kShortShift(kShortStream), kShortShift2(2 * kShortStream);

// Sums 3 * kStream bytes.
template <size_t kStream>
WELLFED_CRC32C_TARGET inline Register ThreeStreams(Register crc, const uint8_t* data,
                                                   const Crc32cShiftTable& shift,
                                                   const Crc32cShiftTable& shift2) {
  Register first = crc, second = 0, third = 0;
  for (size_t i = 0; i < kStream; i += 8) {
    first = Step(first, LoadLE64(data + i));
    second = Step(second, LoadLE64(data + kStream + i));
    third = Step(third, LoadLE64(data + 2 * kStream + i));
  }
  return shift2(static_cast<uint32_t>(first)) ^ shift(static_cast<uint32_t>(second)) ^ third;
}

// Asks for as many bytes as are about to be summed, further on.
inline void PrefetchAhead(const uint8_t* data, size_t size) {
  // As a number: a pointer must not leave its array, and this one may.
  const auto ahead = reinterpret_cast<uintptr_t>(data) + kPrefetchAhead;
  for (size_t line = 0; line < size; line += 64) Prefetch(reinterpret_cast<const void*>(ahead + line));
}

WELLFED_CRC32C_TARGET uint32_t Extend(uint32_t crc, const uint8_t* data, size_t size) {
  Register sum = ~crc;
  for (; size >= 3 * kLongStream; data += 3 * kLongStream, size -= 3 * kLongStream) {
    PrefetchAhead(data, 3 * kLongStream);
    sum = ThreeStreams<kLongStream>(sum, data, kLongShift, kLongShift2);
  }
  for (; size >= 3 * kShortStream; data += 3 * kShortStream, size -= 3 * kShortStream) {
    sum = ThreeStreams<kShortStream>(sum, data, kShortShift, kShortShift2);
  }
  for (; size >= 8; data += 8, size -= 8) sum = Step(sum, LoadLE64(data));
  if (size & 4) {
    sum = Step(sum, LoadLE32(data));
    data += 4;
  }
  if (size & 2) {
    sum = Step(sum, LoadLE<uint16_t>(data));
    data += 2;
  }
  if (size & 1) sum = Step(sum, *data);
  return ~static_cast<uint32_t>(sum);
}

WELLFED_CRC32C_TARGET uint32_t OfWord(uint64_t word) { return ~static_cast<uint32_t>(Step(~0u, word)); }

WELLFED_CRC32C_TARGET size_t FindSummedWord(const uint8_t* data, size_t count, uint64_t max) {
  for (size_t i = 0; i < count; ++i) {
    const uint64_t word = LoadLE64(data + i);
    if (word <= max && MaskCrc(OfWord(word)) == LoadLE32(data + i + 8)) return i;
  }
  return count;
}

}  // namespace
}  // namespace wellfed
