// One pass from a decoded picture into a batch's row: crop, resize, crop again, flip, mean and std, type,
// layout.
//
//   source rows --blend two, or sum many--> one row --step across--> the result's row --finish--> out
//
// Every row stays in the first-level cache until it is finished. All implementations give the same bits.
//
// Resizing follows TensorFlow's kernels, whose arithmetic in float32 is repeated step by step where it
// decides which pixels count and how much: resize_bilinear_op.cc with half_pixel_centers, resize_area_op.cc.
#ifndef WELLFED_PIXELS_H_
#define WELLFED_PIXELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace wellfed {

enum class PixelType : int { kUint8 = 0, kUint16 = 1, kFloat32 = 2, kFloat16 = 3, kBfloat16 = 4 };

constexpr int64_t PixelBytes(PixelType type) {
  return type == PixelType::kUint8 ? 1 : type == PixelType::kFloat32 ? 4 : 2;
}

enum class ResizeMethod : int { kNone = 0, kBilinear = 1, kArea = 2 };

// What is the same for all pictures of a call.
struct PixelSpec {
  PixelType source_type = PixelType::kUint8;  // kUint8, kUint16 or kFloat32.
  PixelType rounded =
      PixelType::kUint8;  // What a resized value is rounded to: these, kFloat32 for not at all.
  PixelType out_type = PixelType::kUint8;  // kUint8 and kUint16 only where `rounded` is the same.
  ResizeMethod method = ResizeMethod::kNone;
  int64_t channels = 3;           // 1 to 4.
  int64_t height = 0, width = 0;  // Of the result.
  bool planar = false;            // Channels first.
  bool stream = false;            // Write past the cache: pays when the batch does not stay in it.
  bool scaled = false;            // value * scale[channel] + bias[channel].
  std::array<float, 4> scale{}, bias{};
};

// One picture: pixels side by side, rows `row_bytes` apart.
struct Picture {
  const uint8_t* pixels = nullptr;
  int64_t height = 0, width = 0, row_bytes = 0;
};

// Where the result comes from: a box of the picture, resized as a whole, of which a window is taken and maybe
// mirrored. The window is as large as the result.
struct PixelGeometry {
  int64_t top, left, height, width;
  int64_t resized_height, resized_width;  // The box's own size where the method is kNone.
  int64_t window_top, window_left;
  int64_t flip;  // 0, or 1: left and right change places.
};

struct RowKernels;    // One implementation; native/pixels_rows.h.
struct PixelScratch;  // Rows and steps of one pass; native/pixels.cc.

// Slowest first; the last one this CPU has is what a pass uses by default.
std::span<const RowKernels* const> PixelImplementations();
const char* PixelImplementationName(const RowKernels& kernels);
bool PixelImplementationAvailable(const RowKernels& kernels);

// REQUIRES: a spec that IsValid. Not thread-safe: each call of the kernel makes its own.
class PixelPass {
 public:
  explicit PixelPass(const PixelSpec& spec, const RowKernels* kernels = nullptr);
  ~PixelPass();
  PixelPass(const PixelPass&) = delete;
  PixelPass& operator=(const PixelPass&) = delete;

  static bool IsValid(const PixelSpec& spec);

  // Writes height * width * channels values of out_type, row by row (or plane by plane), to `out`. Reads
  // nothing outside the box. False, and nothing is done, where the geometry does not fit the picture or the
  // spec.
  bool Run(const Picture& picture, const PixelGeometry& geometry, uint8_t* out);

 private:
  bool Fits(const Picture& picture, const PixelGeometry& geometry) const;
  void Prepare(const PixelGeometry& geometry);
  void FinishBytes(const uint8_t* row, int64_t y, uint8_t* out);
  void FinishFloats(float* row, int64_t y, uint8_t* out);
  void StoreFloats(const float* row, int64_t count, uint8_t* out);

  const PixelSpec spec_;
  const RowKernels& kernels_;
  std::unique_ptr<PixelScratch> scratch_;
};

}  // namespace wellfed

#endif  // WELLFED_PIXELS_H_
