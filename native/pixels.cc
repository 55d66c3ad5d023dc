#include "pixels.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pixels_rows.h"

namespace wellfed {
namespace {

// Offsets within a row are int32.
constexpr int64_t kMaxSide = int64_t{1} << 28;

// Source positions of the vertical step and their weights.
struct Line {
  int64_t lower, upper;
  float weight;
  int16_t weight_fixed;  // 15 fractional bits.
};

// TensorFlow: in = (x + 0.5) * scale - 0.5, between floor and ceil of it, both kept inside. All in float32.
Line BilinearLine(int64_t position, float scale, int64_t size) {
  const float in = (static_cast<float>(position) + 0.5f) * scale - 0.5f;
  const float floor = std::floor(in);
  const int64_t lower = std::max(static_cast<int64_t>(floor), int64_t{0});
  const int64_t upper = std::min(static_cast<int64_t>(std::ceil(in)), size - 1);
  if (upper <= lower) return {upper, upper, 0.0f, 0};
  const float weight = in - floor;
  return {lower, upper, weight, static_cast<int16_t>(std::min(std::lround(weight * 32768.0f), 32767l))};
}

// TensorFlow: all between x * scale and (x + 1) * scale, what sticks out at either end counting in part; what
// lies behind the last position by a rounding error counts for the last one. Appends a weight a position to
// `weights`.
AreaStep AreaLine(int64_t position, float scale, int64_t size, std::vector<float>* weights) {
  const float start = static_cast<float>(position) * scale;
  const float stop = static_cast<float>(position + 1) * scale;
  const int64_t first = std::min(static_cast<int64_t>(std::floor(start)), size - 1);
  const int64_t end = std::max(static_cast<int64_t>(std::ceil(stop)), first + 1);
  const int32_t place = static_cast<int32_t>(weights->size());
  for (int64_t i = first; i < end; ++i) {
    const float from = static_cast<float>(i), to = static_cast<float>(i + 1);
    const float part = from < start ? (to > stop ? scale : to - start) : (to > stop ? stop - from : 1.0f);
    if (i < size) {
      weights->push_back(part / scale);
    } else {
      weights->back() += part / scale;
    }
  }
  return {static_cast<int32_t>(first), static_cast<int32_t>(std::min(end, size) - first), place};
}

bool SameColumns(const PixelGeometry& a, const PixelGeometry& b) {
  return a.width == b.width && a.resized_width == b.resized_width && a.window_left == b.window_left &&
         a.flip == b.flip;
}

float ScaleOf(int64_t from, int64_t to) { return static_cast<float>(from) / static_cast<float>(to); }

bool Within(int64_t start, int64_t size, int64_t whole) {
  return start >= 0 && size >= 0 && size <= whole && start <= whole - size;
}

float LimitOf(PixelType type) { return type == PixelType::kUint8 ? 255.0f : 65535.0f; }

const RowKernels& Best() {
  const RowKernels* best = &kPixelsPortable;
  for (const RowKernels* candidate : PixelImplementations()) {
    if (candidate->available()) best = candidate;
  }
  return *best;
}

template <typename T>
std::vector<T> PaddedRow(int64_t count) {
  return std::vector<T>(static_cast<size_t>(count + kRowPad));
}

template <typename T>
void Grow(std::vector<T>* row, int64_t count) {
  if (static_cast<int64_t>(row->size()) < count + kRowPad) row->resize(static_cast<size_t>(count + kRowPad));
}

void FlipPixels(const uint8_t* from, uint8_t* to, int64_t width, int64_t channels) {
  for (int64_t x = 0; x < width; ++x)
    std::copy_n(from + (width - 1 - x) * channels, channels, to + x * channels);
}

void FlipInPlace(float* row, int64_t width, int64_t channels) {
  for (int64_t x = 0; x < width / 2; ++x) {
    std::swap_ranges(row + x * channels, row + (x + 1) * channels, row + (width - 1 - x) * channels);
  }
}

}  // namespace

std::span<const RowKernels* const> PixelImplementations() {
  static const RowKernels* const implementations[] = {
      &kPixelsPortable,
#ifdef WELLFED_PIXELS_AVX2
      &kPixelsAvx2,
#endif
  };
  return implementations;
}

const char* PixelImplementationName(const RowKernels& kernels) { return kernels.name; }
bool PixelImplementationAvailable(const RowKernels& kernels) { return kernels.available(); }

struct PixelScratch {
  PixelGeometry geometry{};  // Of the last picture: its steps are kept for the next one of the same shape.
  bool prepared = false;
  float down_scale = 0;
  std::vector<BilinearStep> bilinear;
  std::vector<AreaStep> area;
  std::vector<float> area_weights, line_weights;
  std::vector<int16_t> fixed_row;
  std::vector<float> blended, values, planes, scale, bias;
  std::vector<uint8_t> bytes, narrow;
};

namespace {

// The rows of the box.
struct Rows {
  const uint8_t* first;
  int64_t row_bytes, count;  // `count` values a row.

  template <typename T>
  const T* At(int64_t y) const {
    return reinterpret_cast<const T*>(first + y * row_bytes);
  }
};

void BlendRow(const RowKernels& k, const uint8_t* a, const uint8_t* b, float w, float* out, int64_t n) {
  k.blend_u8(a, b, w, out, n);
}
void BlendRow(const RowKernels& k, const uint16_t* a, const uint16_t* b, float w, float* out, int64_t n) {
  k.blend_u16(a, b, w, out, n);
}
void BlendRow(const RowKernels& k, const float* a, const float* b, float w, float* out, int64_t n) {
  k.blend_f32(a, b, w, out, n);
}
void AddRow(const RowKernels& k, const uint8_t* row, float w, float* sum, int64_t n) {
  k.add_u8(row, w, sum, n);
}
void AddRow(const RowKernels& k, const uint16_t* row, float w, float* sum, int64_t n) {
  k.add_u16(row, w, sum, n);
}
void AddRow(const RowKernels& k, const float* row, float w, float* sum, int64_t n) {
  k.add_f32(row, w, sum, n);
}
void WidenRow(const RowKernels& k, const uint8_t* row, float* out, int64_t n) { k.widen_u8(row, out, n); }
void WidenRow(const RowKernels& k, const uint16_t* row, float* out, int64_t n) { k.widen_u16(row, out, n); }
void WidenRow(const RowKernels&, const float* row, float* out, int64_t n) { std::copy_n(row, n, out); }

// Row y of the result in bytes, from a source of bytes: fixed point all the way.
const uint8_t* ByteRow(const PixelSpec& spec, const RowKernels& kernels, const Rows& rows, int64_t y,
                       PixelScratch* scratch) {
  const PixelGeometry& geometry = scratch->geometry;
  uint8_t* row = scratch->bytes.data();
  if (spec.method == ResizeMethod::kNone) {
    const uint8_t* from = rows.At<uint8_t>(geometry.window_top + y) + geometry.window_left * spec.channels;
    if (!geometry.flip) return from;
    FlipPixels(from, row, spec.width, spec.channels);
    return row;
  }
  const Line line = BilinearLine(geometry.window_top + y, scratch->down_scale, geometry.height);
  kernels.blend_fixed(rows.At<uint8_t>(line.lower), rows.At<uint8_t>(line.upper), line.weight_fixed,
                      scratch->fixed_row.data(), rows.count);
  kernels.step_fixed(scratch->fixed_row.data(), scratch->bilinear.data(), row, spec.width, spec.channels);
  return row;
}

// Row y of the result in floats, rounded if the specification says so.
template <typename T>
float* FloatRow(const PixelSpec& spec, const RowKernels& kernels, const Rows& rows, int64_t y,
                PixelScratch* scratch) {
  const PixelGeometry& geometry = scratch->geometry;
  float* row = scratch->values.data();
  float* blended = scratch->blended.data();
  const int64_t line_number = geometry.window_top + y;
  if (spec.method == ResizeMethod::kNone) {
    const T* from = rows.At<T>(line_number) + geometry.window_left * spec.channels;
    WidenRow(kernels, from, row, spec.width * spec.channels);
    if (geometry.flip) FlipInPlace(row, spec.width, spec.channels);
  } else if (spec.method == ResizeMethod::kBilinear) {
    const Line line = BilinearLine(line_number, scratch->down_scale, geometry.height);
    BlendRow(kernels, rows.At<T>(line.lower), rows.At<T>(line.upper), line.weight, blended, rows.count);
    kernels.step_float(blended, scratch->bilinear.data(), row, spec.width, spec.channels);
  } else {
    scratch->line_weights.clear();
    const AreaStep lines =
        AreaLine(line_number, scratch->down_scale, geometry.height, &scratch->line_weights);
    std::fill_n(blended, rows.count, 0.0f);
    for (int32_t k = 0; k < lines.count; ++k) {
      AddRow(kernels, rows.At<T>(lines.start + k), scratch->line_weights[static_cast<size_t>(k)], blended,
             rows.count);
    }
    kernels.step_area(blended, scratch->area.data(), scratch->area_weights.data(), row, spec.width,
                      spec.channels);
  }
  if (spec.rounded != PixelType::kFloat32)
    kernels.round(row, LimitOf(spec.rounded), spec.width * spec.channels);
  return row;
}

}  // namespace

bool PixelPass::IsValid(const PixelSpec& spec) {
  const bool fits = spec.channels >= 1 && spec.channels <= 4 && spec.height >= 0 && spec.width >= 0 &&
                    spec.height <= kMaxSide && spec.width <= kMaxSide;
  const bool source = spec.source_type == PixelType::kUint8 || spec.source_type == PixelType::kUint16 ||
                      spec.source_type == PixelType::kFloat32;
  const bool rounded = spec.rounded == PixelType::kUint8 || spec.rounded == PixelType::kUint16 ||
                       spec.rounded == PixelType::kFloat32;
  const bool whole = spec.out_type == PixelType::kUint8 || spec.out_type == PixelType::kUint16;
  return fits && source && rounded && (!whole || (spec.out_type == spec.rounded && !spec.scaled));
}

PixelPass::PixelPass(const PixelSpec& spec, const RowKernels* kernels)
    : spec_(spec), kernels_(kernels ? *kernels : Best()), scratch_(std::make_unique<PixelScratch>()) {
  const int64_t count = spec.width * spec.channels;
  PixelScratch& scratch = *scratch_;
  scratch.values = PaddedRow<float>(count);
  scratch.bytes = PaddedRow<uint8_t>(count);
  scratch.narrow = PaddedRow<uint8_t>(count * 4);
  if (spec.planar) scratch.planes = PaddedRow<float>(count);
  if (!spec.scaled) return;
  for (int64_t i = 0; i < count; ++i) {
    scratch.scale.push_back(spec.scale[static_cast<size_t>(i % spec.channels)]);
    scratch.bias.push_back(spec.bias[static_cast<size_t>(i % spec.channels)]);
  }
}

PixelPass::~PixelPass() = default;

void PixelPass::Prepare(const PixelGeometry& geometry) {
  PixelScratch& scratch = *scratch_;
  const bool same = scratch.prepared && SameColumns(scratch.geometry, geometry);
  scratch.geometry = geometry;
  scratch.prepared = true;
  if (spec_.method == ResizeMethod::kNone) return;
  scratch.down_scale = ScaleOf(geometry.height, geometry.resized_height);
  if (same) return;
  Grow(&scratch.blended, geometry.width * spec_.channels);
  Grow(&scratch.fixed_row, geometry.width * spec_.channels);
  scratch.bilinear.clear();
  scratch.area.clear();
  scratch.area_weights.clear();
  const float scale = ScaleOf(geometry.width, geometry.resized_width);
  for (int64_t x = 0; x < spec_.width; ++x) {
    const int64_t from = geometry.window_left + (geometry.flip ? spec_.width - 1 - x : x);
    if (spec_.method == ResizeMethod::kArea) {
      AreaStep step = AreaLine(from, scale, geometry.width, &scratch.area_weights);
      step.start *= static_cast<int32_t>(spec_.channels);
      scratch.area.push_back(step);
      continue;
    }
    const Line line = BilinearLine(from, scale, geometry.width);
    const int32_t upper = static_cast<int32_t>(std::lround(line.weight * 16384.0f));
    scratch.bilinear.push_back(
        {static_cast<int32_t>(line.lower * spec_.channels), static_cast<int32_t>(line.upper * spec_.channels),
         line.weight,
         static_cast<int32_t>(static_cast<uint32_t>(16384 - upper) | (static_cast<uint32_t>(upper) << 16))});
  }
}

bool PixelPass::Fits(const Picture& picture, const PixelGeometry& geometry) const {
  const bool boxed = Within(geometry.top, geometry.height, picture.height) &&
                     Within(geometry.left, geometry.width, picture.width) && geometry.height > 0 &&
                     geometry.width > 0 && geometry.width <= kMaxSide / spec_.channels;
  const bool windowed = geometry.resized_height <= kMaxSide && geometry.resized_width <= kMaxSide &&
                        Within(geometry.window_top, spec_.height, geometry.resized_height) &&
                        Within(geometry.window_left, spec_.width, geometry.resized_width);
  const bool kept = geometry.resized_height == geometry.height && geometry.resized_width == geometry.width;
  return boxed && windowed && (kept || spec_.method != ResizeMethod::kNone);
}

bool PixelPass::Run(const Picture& picture, const PixelGeometry& geometry, uint8_t* out) {
  if (!Fits(picture, geometry)) return false;
  if (spec_.width == 0) return true;  // `out` may be null.
  Prepare(geometry);
  const Rows rows = {picture.pixels + geometry.top * picture.row_bytes +
                         geometry.left * spec_.channels * PixelBytes(spec_.source_type),
                     picture.row_bytes, geometry.width * spec_.channels};
  const bool in_bytes = spec_.source_type == PixelType::kUint8 && spec_.rounded == PixelType::kUint8 &&
                        spec_.method != ResizeMethod::kArea;
  for (int64_t y = 0; y < spec_.height; ++y) {
    if (in_bytes) {
      FinishBytes(ByteRow(spec_, kernels_, rows, y, scratch_.get()), y, out);
    } else if (spec_.source_type == PixelType::kUint8) {
      FinishFloats(FloatRow<uint8_t>(spec_, kernels_, rows, y, scratch_.get()), y, out);
    } else if (spec_.source_type == PixelType::kUint16) {
      FinishFloats(FloatRow<uint16_t>(spec_, kernels_, rows, y, scratch_.get()), y, out);
    } else {
      FinishFloats(FloatRow<float>(spec_, kernels_, rows, y, scratch_.get()), y, out);
    }
  }
  if (spec_.stream) kernels_.fence();
  return true;
}

// A row of bytes, channels last: stored as it is, or made floats.
void PixelPass::FinishBytes(const uint8_t* row, int64_t y, uint8_t* out) {
  PixelScratch& scratch = *scratch_;
  const int64_t count = spec_.width * spec_.channels;
  if (spec_.out_type != PixelType::kUint8) {
    kernels_.widen_u8(row, scratch.values.data(), count);
    FinishFloats(scratch.values.data(), y, out);
  } else if (!spec_.planar) {
    kernels_.store(row, out + y * count, count, spec_.stream);
  } else {
    kernels_.split_u8(row, scratch.narrow.data(), spec_.width, spec_.channels, spec_.width);
    for (int64_t c = 0; c < spec_.channels; ++c) {
      kernels_.store(scratch.narrow.data() + c * spec_.width, out + (c * spec_.height + y) * spec_.width,
                     spec_.width, spec_.stream);
    }
  }
}

void PixelPass::FinishFloats(float* row, int64_t y, uint8_t* out) {
  PixelScratch& scratch = *scratch_;
  const int64_t count = spec_.width * spec_.channels;
  const int64_t size = PixelBytes(spec_.out_type);
  if (spec_.scaled) kernels_.scale(row, scratch.scale.data(), scratch.bias.data(), count);
  if (!spec_.planar) return StoreFloats(row, count, out + y * count * size);
  kernels_.split_f32(row, scratch.planes.data(), spec_.width, spec_.channels, spec_.width);
  for (int64_t c = 0; c < spec_.channels; ++c) {
    StoreFloats(scratch.planes.data() + c * spec_.width, spec_.width,
                out + (c * spec_.height + y) * spec_.width * size);
  }
}

void PixelPass::StoreFloats(const float* row, int64_t count, uint8_t* out) {
  uint8_t* narrow = scratch_->narrow.data();
  const void* finished = narrow;
  switch (spec_.out_type) {
    case PixelType::kUint8:
      kernels_.narrow_u8(row, narrow, count);
      break;
    case PixelType::kUint16:
      kernels_.narrow_u16(row, reinterpret_cast<uint16_t*>(narrow), count);
      break;
    case PixelType::kFloat32:
      finished = row;
      break;
    case PixelType::kFloat16:
      kernels_.narrow_f16(row, reinterpret_cast<uint16_t*>(narrow), count);
      break;
    case PixelType::kBfloat16:
      kernels_.narrow_bf16(row, reinterpret_cast<uint16_t*>(narrow), count);
      break;
  }
  kernels_.store(finished, out, count * PixelBytes(spec_.out_type), spec_.stream);
}

}  // namespace wellfed
