// CRC-32C by two units of an x86-64 processor at a time: the SSE4.2 instruction, and carry-less
// multiplication.
//
//   a block of n steps    | 24 n bytes | 24 n bytes | 24 n bytes |           64 n bytes           |
//                           stream 1     stream 2     stream 3     folded, 64 bytes a step
//
// Each does about 8 bytes a cycle where it works alone. Folding: what two 32-byte registers hold is moved on
// by 64 bytes, each 64 bits of it by one multiplication with a power of x, and the next bytes are added. A
// value moves on by D bits with x^(D - 33): the product of reflected numbers lies one bit too low, and a
// 32-bit factor 32 more. Source: V. Gopal et al., Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction, Intel 2009.
#include "crc32c_impl.h"

#ifdef WELLFED_CRC32C_VPCLMUL

#include <immintrin.h>

#include <algorithm>

#define WELLFED_CRC32C_TARGET __attribute__((target("sse4.2,pclmul,avx2,vpclmulqdq")))

#include "crc32c_steps_x86.h"

namespace wellfed {
namespace {

bool Available() {
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
}

}  // namespace
}  // namespace wellfed

#include "crc32c_streams.h"

namespace wellfed {
namespace {

constexpr size_t kStream = 24, kFolded = 64;  // Of a step. [bytes]
constexpr size_t kStep = 3 * kStream + kFolded;
constexpr size_t kMostSteps = 16;
constexpr size_t kLeast = 384;  // Below it the three streams alone are faster. [bytes]

// What moves a value on by `bytes`.
constexpr uint64_t MoveOf(uint64_t bytes) { return Crc32cPowerOf(8 * bytes - 33); }

// For a block of n steps: how far the three streams' sums are moved to its end.
struct Moves {
  uint64_t of[kMostSteps + 1][3] = {};

  constexpr Moves() {
    for (size_t n = 1; n <= kMostSteps; ++n) {
      for (size_t stream = 0; stream < 3; ++stream)
        of[n][stream] = MoveOf(n * ((2 - stream) * kStream + kFolded));
    }
  }
};
constexpr Moves kMoves;

WELLFED_CRC32C_TARGET inline __m256i Load(const uint8_t* data) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data));
}

// The low 64 bits of `x` come first in the data, so they have 64 bits further to go.
WELLFED_CRC32C_TARGET inline __m256i Fold(__m256i x, __m256i by) {
  return _mm256_xor_si256(_mm256_clmulepi64_epi128(x, by, 0x00), _mm256_clmulepi64_epi128(x, by, 0x11));
}
WELLFED_CRC32C_TARGET inline __m128i Fold(__m128i x, __m128i by) {
  return _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), _mm_clmulepi64_si128(x, by, 0x11));
}
template <uint64_t kBytes>
WELLFED_CRC32C_TARGET inline __m128i FoldBy() {
  constexpr auto kLow = static_cast<int64_t>(MoveOf(kBytes + 8)),
                 kHigh = static_cast<int64_t>(MoveOf(kBytes));
  return _mm_set_epi64x(kHigh, kLow);
}

WELLFED_CRC32C_TARGET inline uint64_t Product(uint64_t crc, uint64_t move) {
  return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_clmulepi64_si128(
      _mm_cvtsi64_si128(static_cast<int64_t>(crc)), _mm_cvtsi64_si128(static_cast<int64_t>(move)), 0x00)));
}

// Sums `steps` steps.
WELLFED_CRC32C_TARGET inline uint64_t Block(uint64_t crc, const uint8_t* data, size_t steps) {
  const size_t stream = steps * kStream;
  const uint8_t* const folded = data + 3 * stream;
  const __m128i by = FoldBy<kFolded>();
  const __m256i by_two = _mm256_broadcastsi128_si256(by);
  uint64_t first = crc, second = 0, third = 0;
  __m256i low = _mm256_setzero_si256(), high = low;
  for (size_t i = 0; i < steps; ++i) {
    low = _mm256_xor_si256(Fold(low, by_two), Load(folded + i * kFolded));
    high = _mm256_xor_si256(Fold(high, by_two), Load(folded + i * kFolded + 32));
    for (size_t word = 0; word < kStream; word += 8) {
      const uint8_t* const at = data + i * kStream + word;
      first = Step(first, LoadLE64(at));
      second = Step(second, LoadLE64(at + stream));
      third = Step(third, LoadLE64(at + 2 * stream));
    }
  }
  const __m256i both = _mm256_xor_si256(Fold(low, _mm256_broadcastsi128_si256(FoldBy<32>())), high);
  const __m128i last =
      _mm_xor_si128(Fold(_mm256_castsi256_si128(both), FoldBy<16>()), _mm256_extracti128_si256(both, 1));
  const uint64_t of_folded = Step(Step(uint64_t{0}, static_cast<uint64_t>(_mm_cvtsi128_si64(last))),
                                  static_cast<uint64_t>(_mm_extract_epi64(last, 1)));
  const uint64_t* const moves = kMoves.of[steps];
  return Step(uint64_t{0}, Product(first, moves[0]) ^ Product(second, moves[1]) ^ Product(third, moves[2])) ^
         of_folded;
}

WELLFED_CRC32C_TARGET uint32_t ExtendByBlocks(uint32_t crc, const uint8_t* data, size_t size) {
  uint64_t sum = ~crc;
  while (size >= kLeast) {
    const size_t steps = std::min(size / kStep, kMostSteps);
    PrefetchAhead(data, steps * kStep);
    sum = Block(sum, data, steps);
    data += steps * kStep;
    size -= steps * kStep;
  }
  return Extend(~static_cast<uint32_t>(sum), data, size);
}

}  // namespace

const Crc32cImplementation kCrc32cVpclmul = {"vpclmulqdq", Available, ExtendByBlocks, OfWord, FindSummedWord};

}  // namespace wellfed

#endif  // WELLFED_CRC32C_VPCLMUL
