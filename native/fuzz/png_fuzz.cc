// PNG's scanlines against the definition of their filters, on any bytes. Where they differ, the process
// aborts.
//
//   input = height, width, kind (1 byte each) | scanlines
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "png.h"
#include "require.h"

namespace {

using Bytes = std::vector<uint8_t>;

wellfed::PngShape ShapeOf(uint8_t height, uint8_t width, uint8_t kind) {
  static constexpr int kDepths[] = {1, 2, 4, 8, 16};
  wellfed::PngShape shape;
  shape.height = height % 33u;
  shape.width = width % 33u;
  shape.bit_depth = kDepths[kind % 5];
  shape.samples = 1 + (kind / 5) % 4;
  shape.interlaced = (kind / 20) % 2 != 0;
  return shape;
}

// Section 9.2 read aloud: x is the byte, a the one on the left, b above, c above a.
int Defined(int filter, int x, int a, int b, int c) {
  const int p = a + b - c;
  const int pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
  const int paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
  const int added[] = {0, a, b, (a + b) / 2, paeth};
  return (x + added[filter]) & 255;
}

// Whole bytes, not interlaced: the result is the unfiltered scanlines, one behind the other.
void CheckPlain(const Bytes& lines, const wellfed::PngShape& shape, const uint8_t* found) {
  const size_t step = static_cast<size_t>(shape.samples), count = shape.width * step;
  Bytes due(count * shape.height);
  for (size_t y = 0; y < shape.height; ++y) {
    for (size_t i = 0; i < count; ++i) {
      const size_t at = y * count + i;
      const int a = i >= step ? due[at - step] : 0, b = y > 0 ? due[at - count] : 0;
      const int c = i >= step && y > 0 ? due[at - count - step] : 0;
      due[at] =
          static_cast<uint8_t>(Defined(lines[y * (count + 1)], lines[y * (count + 1) + 1 + i], a, b, c));
      REQUIRE(found[at] == due[at]);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const wellfed::PngShape shape = ShapeOf(data[0], data[1], data[2]);
  if (!wellfed::IsPngShape(shape)) return 0;
  const Bytes given(data + 3, data + size);
  Bytes lines = given;
  std::vector<uint16_t> out(size_t{shape.height} * shape.width * static_cast<size_t>(shape.samples));
  const wellfed::PngStatus status = wellfed::UnfilterPng(lines, shape, out.data());
  REQUIRE((status == wellfed::PngStatus::kBadSize) == (given.size() != wellfed::PngScanlineBytes(shape)));
  if (status == wellfed::PngStatus::kOk && shape.bit_depth == 8 && !shape.interlaced) {
    CheckPlain(given, shape, reinterpret_cast<const uint8_t*>(out.data()));
  }
  return 0;
}
