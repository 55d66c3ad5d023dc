// The pixel pass in plain C++: what every other implementation must equal.
#include "pixels_rows.h"

namespace wellfed {
namespace {

// IEEE 754 binary16. Rounds to nearest, halves to even; what is too large becomes infinity.
uint16_t Float16(float value) {
  const uint32_t bits = rows::FloatBits(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((size >> 13) & 0x3ffu));  // NaN
  if (size >= 0x477ff000u)
    return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity.
  uint32_t half, lost, unit;
  if (size >= 0x38800000u) {  // 2^-14: a normal number.
    half = (size >> 13) - (112u << 10);
    lost = size & 0x1fffu;
    unit = 0x2000u;
  } else {
    const uint32_t exponent = size >> 23;
    if (exponent < 102) return static_cast<uint16_t>(sign);  // Below 2^-25.
    const uint32_t shift = 126 - exponent;
    const uint32_t fraction = (size & 0x7fffffu) | 0x800000u;
    half = fraction >> shift;
    lost = fraction & ((1u << shift) - 1);
    unit = 1u << shift;
  }
  if (lost > unit / 2 || (lost == unit / 2 && (half & 1))) ++half;  // May carry into the exponent, rightly.
  return static_cast<uint16_t>(sign | half);
}

void NarrowF16(const float* row, uint16_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = Float16(row[i]);
}

void Store(const void* row, uint8_t* out, int64_t bytes, bool) {
  std::memcpy(out, row, static_cast<size_t>(bytes));
}

}  // namespace

constexpr RowKernels kPixelsPortable = {
    .name = "portable",
    .available = [] { return true; },
    .blend_fixed = [](auto... arguments) { rows::BlendFixed(arguments...); },
    .blend_u8 = [](auto... arguments) { rows::Blend(arguments...); },
    .blend_u16 = [](auto... arguments) { rows::Blend(arguments...); },
    .blend_f32 = [](auto... arguments) { rows::Blend(arguments...); },
    .add_u8 = [](auto... arguments) { rows::Add(arguments...); },
    .add_u16 = [](auto... arguments) { rows::Add(arguments...); },
    .add_f32 = [](auto... arguments) { rows::Add(arguments...); },
    .step_fixed = [](auto... arguments) { rows::StepFixed(arguments...); },
    .step_float = [](auto... arguments) { rows::StepFloat(arguments...); },
    .step_area = [](auto... arguments) { rows::StepArea(arguments...); },
    .widen_u8 = [](auto... arguments) { rows::Widen(arguments...); },
    .widen_u16 = [](auto... arguments) { rows::Widen(arguments...); },
    .round = [](auto... arguments) { rows::Round(arguments...); },
    .scale = [](auto... arguments) { rows::Scale(arguments...); },
    .split_u8 = [](auto... arguments) { rows::Split(arguments...); },
    .split_f32 = [](auto... arguments) { rows::Split(arguments...); },
    .narrow_u8 = [](auto... arguments) { rows::Narrow(arguments...); },
    .narrow_u16 = [](auto... arguments) { rows::Narrow(arguments...); },
    .narrow_f16 = NarrowF16,
    .narrow_bf16 = [](auto... arguments) { rows::NarrowBf16(arguments...); },
    .store = Store,
    .fence = [] {},
};

}  // namespace wellfed
