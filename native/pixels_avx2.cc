// The pixel pass with AVX2 and F16C of x86-64. No fused multiply-add: it rounds once where the others round
// twice.
#include "pixels_rows.h"

#ifdef WELLFED_PIXELS_AVX2

#include <immintrin.h>

#if defined(_MSC_VER)
#include <intrin.h>
#define WELLFED_AVX2
#else
#define WELLFED_AVX2 __attribute__((target("avx2,f16c")))
#endif

namespace wellfed {
namespace {

bool Available() {
#if defined(_MSC_VER)
  int leaf1[4], leaf7[4];
  __cpuid(leaf1, 1);
  __cpuidex(leaf7, 7, 0);
  const bool saves_ymm = (leaf1[2] >> 27 & 1) && (_xgetbv(0) & 6) == 6;
  return saves_ymm && (leaf1[2] >> 29 & 1) && (leaf7[1] >> 5 & 1);
#else
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
#endif
}

WELLFED_AVX2 inline __m256i Load16Bytes(const uint8_t* bytes) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

WELLFED_AVX2 inline __m256 Load8Bytes(const uint8_t* bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))));
}

WELLFED_AVX2 void BlendFixed(const uint8_t* a, const uint8_t* b, int16_t weight, int16_t* out,
                             int64_t count) {
  const __m256i weights = _mm256_set1_epi16(weight);
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i below = _mm256_slli_epi16(Load16Bytes(a + i), 7);
    const __m256i above = _mm256_slli_epi16(Load16Bytes(b + i), 7);
    // mulhrs is (x * y + 2^14) >> 15, what the portable loop spells out.
    const __m256i step = _mm256_mulhrs_epi16(_mm256_sub_epi16(above, below), weights);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_add_epi16(below, step));
  }
  rows::BlendFixed(a + i, b + i, weight, out + i, count - i);
}

WELLFED_AVX2 void BlendU8(const uint8_t* a, const uint8_t* b, float weight, float* out, int64_t count) {
  const __m256 weights = _mm256_set1_ps(weight);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 below = Load8Bytes(a + i);
    const __m256 step = _mm256_mul_ps(_mm256_sub_ps(Load8Bytes(b + i), below), weights);
    _mm256_storeu_ps(out + i, _mm256_add_ps(below, step));
  }
  rows::Blend(a + i, b + i, weight, out + i, count - i);
}

// Four values from `lower` on and four from `upper` on, in turn: what madd multiplies by the pair of weights.
WELLFED_AVX2 inline __m128i FixedPairs(const int16_t* row, const BilinearStep& step) {
  return _mm_unpacklo_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + step.lower)),
                            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + step.upper)));
}

// Two pixels of the result a register. Writes up to one value more than a pixel has; the next one covers it.
template <int64_t kChannels>
WELLFED_AVX2 void StepFixedBy(const int16_t* row, const BilinearStep* steps, uint8_t* out, int64_t width) {
  int64_t x = 0;
  for (; x + 2 <= width; x += 2, out += 2 * kChannels) {
    const __m256i pairs = _mm256_set_m128i(FixedPairs(row, steps[x + 1]), FixedPairs(row, steps[x]));
    const __m256i weights =
        _mm256_set_m128i(_mm_set1_epi32(steps[x + 1].weights), _mm_set1_epi32(steps[x].weights));
    const __m256i sums = _mm256_add_epi32(_mm256_madd_epi16(pairs, weights), _mm256_set1_epi32(1 << 20));
    const __m256i values = _mm256_srai_epi32(sums, 21);
    const __m256i halves = _mm256_packs_epi32(values, values);
    const __m256i bytes = _mm256_packus_epi16(halves, halves);
    const int32_t first = _mm256_extract_epi32(bytes, 0), second = _mm256_extract_epi32(bytes, 4);
    std::memcpy(out, &first, 4);
    std::memcpy(out + kChannels, &second, 4);
  }
  if (x < width) rows::StepFixed(row, steps + x, out, 1, kChannels);
}

WELLFED_AVX2 void StepFixed(const int16_t* row, const BilinearStep* steps, uint8_t* out, int64_t width,
                            int64_t channels) {
  if (channels == 3) return StepFixedBy<3>(row, steps, out, width);
  if (channels == 4) return StepFixedBy<4>(row, steps, out, width);
  rows::StepFixed(row, steps, out, width, channels);
}

template <int64_t kChannels>
WELLFED_AVX2 void StepFloatBy(const float* row, const BilinearStep* steps, float* out, int64_t width) {
  int64_t x = 0;
  for (; x + 2 <= width; x += 2, out += 2 * kChannels) {
    const __m256 lower =
        _mm256_set_m128(_mm_loadu_ps(row + steps[x + 1].lower), _mm_loadu_ps(row + steps[x].lower));
    const __m256 upper =
        _mm256_set_m128(_mm_loadu_ps(row + steps[x + 1].upper), _mm_loadu_ps(row + steps[x].upper));
    const __m256 weights = _mm256_set_m128(_mm_set1_ps(steps[x + 1].weight), _mm_set1_ps(steps[x].weight));
    const __m256 values = _mm256_add_ps(lower, _mm256_mul_ps(_mm256_sub_ps(upper, lower), weights));
    _mm_storeu_ps(out, _mm256_castps256_ps128(values));
    _mm_storeu_ps(out + kChannels, _mm256_extractf128_ps(values, 1));
  }
  if (x < width) rows::StepFloat(row, steps + x, out, 1, kChannels);
}

WELLFED_AVX2 void StepFloat(const float* row, const BilinearStep* steps, float* out, int64_t width,
                            int64_t channels) {
  if (channels == 3) return StepFloatBy<3>(row, steps, out, width);
  if (channels == 4) return StepFloatBy<4>(row, steps, out, width);
  rows::StepFloat(row, steps, out, width, channels);
}

// A pixel a register: the channels side by side, summed in the portable order.
template <int64_t kChannels>
WELLFED_AVX2 void StepAreaBy(const float* row, const AreaStep* steps, const float* weights, float* out,
                             int64_t width) {
  for (int64_t x = 0; x < width; ++x, out += kChannels) {
    const float* weight = weights + steps[x].first;
    const float* pixel = row + steps[x].start;
    __m128 sum = _mm_setzero_ps();
    for (int32_t k = 0; k < steps[x].count; ++k, pixel += kChannels) {
      sum = _mm_add_ps(sum, _mm_mul_ps(_mm_loadu_ps(pixel), _mm_set1_ps(weight[k])));
    }
    _mm_storeu_ps(out, sum);
  }
}

WELLFED_AVX2 void StepArea(const float* row, const AreaStep* steps, const float* weights, float* out,
                           int64_t width, int64_t channels) {
  if (channels == 3) return StepAreaBy<3>(row, steps, weights, out, width);
  if (channels == 4) return StepAreaBy<4>(row, steps, weights, out, width);
  rows::StepArea(row, steps, weights, out, width, channels);
}

WELLFED_AVX2 void NarrowF16(const float* row, uint16_t* out, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(row + i), _MM_FROUND_TO_NEAREST_INT));
  }
  if (i < count) {
    float tail[8] = {};
    uint16_t halves[8];
    std::memcpy(tail, row + i, static_cast<size_t>(count - i) * sizeof(float));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves),
                     _mm256_cvtps_ph(_mm256_loadu_ps(tail), _MM_FROUND_TO_NEAREST_INT));
    std::memcpy(out + i, halves, static_cast<size_t>(count - i) * sizeof(uint16_t));
  }
}

WELLFED_AVX2 void Store(const void* row, uint8_t* out, int64_t bytes, bool stream) {
  const uint8_t* from = static_cast<const uint8_t*>(row);
  if (!stream) {
    std::memcpy(out, from, static_cast<size_t>(bytes));
    return;
  }
  // Whole lines only: part of a line written past the cache costs more than it saves.
  const int64_t to_line = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(out) & 63);
  int64_t done = to_line < bytes ? to_line : bytes;
  std::memcpy(out, from, static_cast<size_t>(done));
  for (; done + 64 <= bytes; done += 64) {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done));
    const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + done), first);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + done + 32), second);
  }
  std::memcpy(out + done, from + done, static_cast<size_t>(bytes - done));
}

}  // namespace

// The loops that need no hand: the compiler makes AVX2 of them under this target.
#define WELLFED_LOOP(call) [](auto... arguments) WELLFED_AVX2 { call(arguments...); }

constexpr RowKernels kPixelsAvx2 = {
    .name = "avx2",
    .available = Available,
    .blend_fixed = BlendFixed,
    .blend_u8 = BlendU8,
    .blend_u16 = WELLFED_LOOP(rows::Blend),
    .blend_f32 = WELLFED_LOOP(rows::Blend),
    .add_u8 = WELLFED_LOOP(rows::Add),
    .add_u16 = WELLFED_LOOP(rows::Add),
    .add_f32 = WELLFED_LOOP(rows::Add),
    .step_fixed = StepFixed,
    .step_float = StepFloat,
    .step_area = StepArea,
    .widen_u8 = WELLFED_LOOP(rows::Widen),
    .widen_u16 = WELLFED_LOOP(rows::Widen),
    .round = WELLFED_LOOP(rows::Round),
    .scale = WELLFED_LOOP(rows::Scale),
    .split_u8 = WELLFED_LOOP(rows::Split),
    .split_f32 = WELLFED_LOOP(rows::Split),
    .narrow_u8 = WELLFED_LOOP(rows::Narrow),
    .narrow_u16 = WELLFED_LOOP(rows::Narrow),
    .narrow_f16 = NarrowF16,
    .narrow_bf16 = WELLFED_LOOP(rows::NarrowBf16),
    .store = Store,
    .fence = [] { _mm_sfence(); },
};

}  // namespace wellfed

#endif  // WELLFED_PIXELS_AVX2
