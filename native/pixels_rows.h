// What the pixel pass does to one row, as a table of functions: one table an instruction set, all with the
// same results bit for bit. Included by native/pixels*.cc only.
//
// Rows are channels-last. Buffers named `out` and `row` that live in scratch have kRowPad bytes of room
// behind their end, which may be read (their content never counts) and written.
#ifndef WELLFED_PIXELS_ROWS_H_
#define WELLFED_PIXELS_ROWS_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "pixels.h"

#if defined(__x86_64__) || defined(_M_X64)
#define WELLFED_PIXELS_AVX2 1
#endif

#if defined(_MSC_VER)
#define WELLFED_INLINE __forceinline
#else
// Inlined into functions of another target, so that each implementation compiles the loops for itself.
#define WELLFED_INLINE inline __attribute__((always_inline))
#endif

namespace wellfed {

inline constexpr int64_t kRowPad = 64;

// How a bilinear step takes pixel x of the result: between two pixels of the row, given as offsets of values.
struct BilinearStep {
  int32_t lower, upper;
  float weight;     // Of `upper`; `lower` has the rest.
  int32_t weights;  // The same in fixed point, 14 fractional bits: low half `lower`'s, high half `upper`'s.
};

// How an area step takes it: `count` pixels from `start` (an offset of values), with weights from `first`.
struct AreaStep {
  int32_t start, count, first;
};

struct RowKernels {
  const char* name;
  bool (*available)();

  // out = a + (b - a) * weight. Fixed point: weight has 15 fractional bits, the result 7.
  void (*blend_fixed)(const uint8_t* a, const uint8_t* b, int16_t weight, int16_t* out, int64_t count);
  void (*blend_u8)(const uint8_t* a, const uint8_t* b, float weight, float* out, int64_t count);
  void (*blend_u16)(const uint16_t* a, const uint16_t* b, float weight, float* out, int64_t count);
  void (*blend_f32)(const float* a, const float* b, float weight, float* out, int64_t count);

  // sum += row * weight.
  void (*add_u8)(const uint8_t* row, float weight, float* sum, int64_t count);
  void (*add_u16)(const uint16_t* row, float weight, float* sum, int64_t count);
  void (*add_f32)(const float* row, float weight, float* sum, int64_t count);

  void (*step_fixed)(const int16_t* row, const BilinearStep* steps, uint8_t* out, int64_t width,
                     int64_t channels);
  void (*step_float)(const float* row, const BilinearStep* steps, float* out, int64_t width,
                     int64_t channels);
  void (*step_area)(const float* row, const AreaStep* steps, const float* weights, float* out, int64_t width,
                    int64_t channels);

  void (*widen_u8)(const uint8_t* row, float* out, int64_t count);
  void (*widen_u16)(const uint16_t* row, float* out, int64_t count);
  void (*round)(float* row, float limit, int64_t count);  // To whole numbers, halves up, within [0, limit].
  void (*scale)(float* row, const float* scale, const float* bias, int64_t count);

  // Channels apart: the row of channel c begins at planes + c * stride.
  void (*split_u8)(const uint8_t* row, uint8_t* planes, int64_t width, int64_t channels, int64_t stride);
  void (*split_f32)(const float* row, float* planes, int64_t width, int64_t channels, int64_t stride);

  void (*narrow_u8)(const float* row, uint8_t* out, int64_t count);  // Whole numbers in range.
  void (*narrow_u16)(const float* row, uint16_t* out, int64_t count);
  void (*narrow_f16)(const float* row, uint16_t* out, int64_t count);   // To nearest, halves to even.
  void (*narrow_bf16)(const float* row, uint16_t* out, int64_t count);  // The same.

  // Copies a finished row to `out`; `stream` goes past the cache. `fence` ends a picture written so.
  void (*store)(const void* row, uint8_t* out, int64_t bytes, bool stream);
  void (*fence)();
};

extern const RowKernels kPixelsPortable;
#ifdef WELLFED_PIXELS_AVX2
extern const RowKernels kPixelsAvx2;
#endif

namespace rows {

template <typename T>
WELLFED_INLINE void Blend(const T* a, const T* b, float weight, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float below = static_cast<float>(a[i]);
    out[i] = below + (static_cast<float>(b[i]) - below) * weight;
  }
}

WELLFED_INLINE void BlendFixed(const uint8_t* a, const uint8_t* b, int16_t weight, int16_t* out,
                               int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const int32_t below = a[i] << 7;
    const int32_t step = ((b[i] << 7) - below) * weight;
    out[i] = static_cast<int16_t>(below + ((step + 0x4000) >> 15));
  }
}

template <typename T>
WELLFED_INLINE void Add(const T* row, float weight, float* sum, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] += static_cast<float>(row[i]) * weight;
}

WELLFED_INLINE uint8_t FixedValue(const int16_t* row, const BilinearStep& step, int64_t channel) {
  const int32_t lower = static_cast<int16_t>(step.weights & 0xffff), upper = step.weights >> 16;
  const int32_t sum = row[step.lower + channel] * lower + row[step.upper + channel] * upper;
  return static_cast<uint8_t>((sum + (1 << 20)) >> 21);  // 7 + 14 fractional bits.
}

WELLFED_INLINE void StepFixed(const int16_t* row, const BilinearStep* steps, uint8_t* out, int64_t width,
                              int64_t channels) {
  for (int64_t x = 0; x < width; ++x) {
    for (int64_t c = 0; c < channels; ++c) out[x * channels + c] = FixedValue(row, steps[x], c);
  }
}

WELLFED_INLINE void StepFloat(const float* row, const BilinearStep* steps, float* out, int64_t width,
                              int64_t channels) {
  for (int64_t x = 0; x < width; ++x) {
    const float* lower = row + steps[x].lower;
    const float* upper = row + steps[x].upper;
    for (int64_t c = 0; c < channels; ++c) {
      out[x * channels + c] = lower[c] + (upper[c] - lower[c]) * steps[x].weight;
    }
  }
}

WELLFED_INLINE void StepArea(const float* row, const AreaStep* steps, const float* weights, float* out,
                             int64_t width, int64_t channels) {
  for (int64_t x = 0; x < width; ++x) {
    const float* weight = weights + steps[x].first;
    for (int64_t c = 0; c < channels; ++c) {
      const float* pixel = row + steps[x].start + c;
      float sum = 0;
      for (int32_t k = 0; k < steps[x].count; ++k) sum += pixel[k * channels] * weight[k];
      out[x * channels + c] = sum;
    }
  }
}

template <typename T>
WELLFED_INLINE void Widen(const T* row, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(row[i]);
}

WELLFED_INLINE void Round(float* row, float limit, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    // In this order a NaN becomes 0, in vector code as well: each comparison with it is false.
    float value = row[i] > 0.0f ? row[i] : 0.0f;
    value = value < limit ? value : limit;
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): halves up, in the same arithmetic as vector code has.
    row[i] = static_cast<float>(static_cast<int32_t>(value + 0.5f));
  }
}

WELLFED_INLINE void Scale(float* row, const float* scale, const float* bias, int64_t count) {
  for (int64_t i = 0; i < count; ++i) row[i] = row[i] * scale[i] + bias[i];
}

template <int64_t kChannels, typename T>
WELLFED_INLINE void SplitBy(const T* row, T* planes, int64_t width, int64_t stride) {
  for (int64_t x = 0; x < width; ++x) {
    for (int64_t c = 0; c < kChannels; ++c) planes[c * stride + x] = row[x * kChannels + c];
  }
}

template <typename T>
WELLFED_INLINE void Split(const T* row, T* planes, int64_t width, int64_t channels, int64_t stride) {
  // The commonest number by itself, so that it becomes vector code.
  if (channels == 3) return SplitBy<3>(row, planes, width, stride);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t x = 0; x < width; ++x) planes[c * stride + x] = row[x * channels + c];
  }
}

template <typename T>
WELLFED_INLINE void Narrow(const float* row, T* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(static_cast<int32_t>(row[i]));
}

WELLFED_INLINE uint32_t FloatBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

WELLFED_INLINE uint16_t Bfloat16(float value) {
  const uint32_t bits = FloatBits(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}

WELLFED_INLINE void NarrowBf16(const float* row, uint16_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = Bfloat16(row[i]);
}

}  // namespace rows
}  // namespace wellfed

#endif  // WELLFED_PIXELS_ROWS_H_
