// The pixel pass on any shape and place: what fits is done within its memory, with the same bits by every
// implementation; what does not fit is told. Where that does not hold, the process aborts.
//
//   input = types, method, layout (a byte each) | sizes and places (a byte each) | pixels
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "pixels.h"
#include "require.h"

namespace {

using wellfed::PixelGeometry;
using wellfed::PixelPass;
using wellfed::PixelSpec;
using wellfed::PixelType;
using wellfed::ResizeMethod;
using Bytes = std::vector<uint8_t>;

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint8_t Byte() { return at_ == bytes_.size() ? 0 : bytes_[at_++]; }
  int64_t Below(int64_t count) { return Byte() % count; }
  std::span<const uint8_t> Rest() const { return bytes_.subspan(at_); }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

constexpr PixelType kTypes[] = {PixelType::kUint8, PixelType::kUint16, PixelType::kFloat32,
                                PixelType::kFloat16, PixelType::kBfloat16};
// Pixels of any bits; but no NaN, which of two keeps its bits is the processor's choice.
Bytes MakePixels(std::span<const uint8_t> given, PixelType type, size_t size) {
  Bytes pixels(size);
  for (size_t i = 0; i < size; ++i) pixels[i] = given.empty() ? 0 : given[i % given.size()];
  for (size_t i = 0; type == PixelType::kFloat32 && i < size; i += 4) {
    float value;
    std::memcpy(&value, &pixels[i], 4);
    if (std::isnan(value)) std::memset(&pixels[i], 0, 4);
  }
  return pixels;
}

// Numbers at which arithmetic on sizes may go wrong.
constexpr int64_t kOdd[] = {-1, INT64_MIN, INT64_MAX, int64_t{1} << 28, (int64_t{1} << 28) + 1, 1000};

PixelSpec MakeSpec(Reader* reader) {
  PixelSpec spec;
  spec.source_type = kTypes[reader->Below(3)];
  spec.rounded = kTypes[reader->Below(3)];
  spec.out_type = kTypes[reader->Below(5)];
  spec.method = static_cast<ResizeMethod>(reader->Below(3));
  const uint8_t flags = reader->Byte();
  spec.planar = flags & 1;
  spec.stream = flags & 2;
  spec.scaled = flags & 4;
  spec.channels = 1 + flags / 8 % 5;
  spec.scale = {2.0f, -1.0f, 0.5f, 1e30f};
  spec.bias = {0.0f, 1.0f, -3.0f, 1e30f};
  spec.height = reader->Below(20);
  spec.width = reader->Below(40);
  return spec;
}

// A small number, or an odd one where the byte is large.
int64_t Length(Reader* reader) {
  const uint8_t byte = reader->Byte();
  return byte < 240 ? byte % 40 : kOdd[byte % std::size(kOdd)];
}

// By sums of 128 bits, which do not wrap.
bool Inside(int64_t start, int64_t size, int64_t whole) {
  return start >= 0 && size >= 0 && static_cast<__int128>(start) + size <= whole;
}

bool Fits(const PixelSpec& spec, const wellfed::Picture& picture, const PixelGeometry& place) {
  constexpr int64_t kMost = int64_t{1} << 28;
  const bool kept = place.resized_height == place.height && place.resized_width == place.width;
  return place.height > 0 && place.width > 0 && Inside(place.top, place.height, picture.height) &&
         Inside(place.left, place.width, picture.width) && place.resized_height <= kMost &&
         place.resized_width <= kMost && Inside(place.window_top, spec.height, place.resized_height) &&
         Inside(place.window_left, spec.width, place.resized_width) &&
         (kept || spec.method != ResizeMethod::kNone);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Reader reader({data, size});
  const PixelSpec spec = MakeSpec(&reader);
  if (!PixelPass::IsValid(spec)) return 0;
  wellfed::Picture picture;
  picture.height = reader.Below(24);
  picture.width = reader.Below(40);
  const int64_t pixel = spec.channels * PixelBytes(spec.source_type);
  picture.row_bytes = picture.width * pixel;
  PixelGeometry place{};
  for (int64_t* const number : {&place.top, &place.left, &place.height, &place.width, &place.resized_height,
                                &place.resized_width, &place.window_top, &place.window_left}) {
    *number = Length(&reader);
  }
  if (spec.method == ResizeMethod::kNone && reader.Below(8) > 0) {
    place.resized_height = place.height;
    place.resized_width = place.width;
  }
  place.flip = reader.Below(2);
  // Each in memory that ends where it ends, so that a sanitizer sees a read or a write beyond.
  const Bytes pixels =
      MakePixels(reader.Rest(), spec.source_type, static_cast<size_t>(picture.height * picture.row_bytes));
  picture.pixels = pixels.data();
  const auto out_bytes = spec.height * spec.width * spec.channels * PixelBytes(spec.out_type);
  Bytes due;
  for (const wellfed::RowKernels* kernels : wellfed::PixelImplementations()) {
    if (!PixelImplementationAvailable(*kernels)) continue;
    Bytes out(static_cast<size_t>(out_bytes), 0xab);
    PixelPass pass(spec, kernels);
    REQUIRE(pass.Run(picture, place, out.data()) == Fits(spec, picture, place));
    if (due.empty()) due = out;
    REQUIRE(out == due);
  }
  return 0;
}
