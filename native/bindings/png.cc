// PNG's scanlines for Python.
#include "png.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <memory>
#include <new>

#include "arrays.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

wellfed::PngShape ShapeOf(uint32_t height, uint32_t width, int bit_depth, int samples, bool interlaced) {
  const wellfed::PngShape shape = {height, width, bit_depth, samples, interlaced};
  if (!wellfed::IsPngShape(shape)) throw nb::value_error("no PNG has this shape");
  return shape;
}

uint64_t ScanlineBytes(uint32_t height, uint32_t width, int bit_depth, int samples, bool interlaced) {
  return wellfed::PngScanlineBytes(ShapeOf(height, width, bit_depth, samples, interlaced));
}

// (status, samples). The room for the result is made only once `scanlines` is known to be as long as it
// needs.
nb::tuple Unfilter(const wellfed::Buffer& scanlines, uint32_t height, uint32_t width, int bit_depth,
                   int samples, bool interlaced) {
  const wellfed::PngShape shape = ShapeOf(height, width, bit_depth, samples, interlaced);
  if (scanlines.span().size() != wellfed::PngScanlineBytes(shape)) {
    return nb::make_tuple(static_cast<int>(wellfed::PngStatus::kBadSize), nb::none());
  }
  const size_t size = size_t{height} * width * static_cast<size_t>(samples) * (bit_depth == 16 ? 2 : 1);
  std::unique_ptr<uint8_t[]> pixels(new uint8_t[size]);
  wellfed::PngStatus status;
  {
    nb::gil_scoped_release released;
    const std::span<const uint8_t> given = scanlines.span();
    const std::unique_ptr<uint8_t[]> room(new uint8_t[given.size()]);
    std::memcpy(room.get(), given.data(), given.size());
    status = wellfed::UnfilterPng({room.get(), given.size()}, shape, pixels.get());
  }
  uint8_t* const data = pixels.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<uint8_t*>(p); });
  const nb::dlpack::dtype type = bit_depth == 16 ? nb::dtype<uint16_t>() : nb::dtype<uint8_t>();
  const size_t dimensions[3] = {height, width, static_cast<size_t>(samples)};
  const nb::ndarray<nb::numpy> array(data, 3, dimensions, owner, nullptr, type);
  return nb::make_tuple(static_cast<int>(status), array);
}

}  // namespace

void BindPng(nb::module_& m) {
  m.attr("PNG_OK") = static_cast<int>(wellfed::PngStatus::kOk);
  m.attr("PNG_BAD_FILTER") = static_cast<int>(wellfed::PngStatus::kBadFilter);
  m.attr("PNG_BAD_SIZE") = static_cast<int>(wellfed::PngStatus::kBadSize);
  m.def("png_scanline_bytes", &ScanlineBytes, "height"_a, "width"_a, "bit_depth"_a, "samples"_a,
        "interlaced"_a, "Bytes of all scanlines of such a PNG, with their filter types.");
  m.def("unfilter_png", &Unfilter, "scanlines"_a, "height"_a, "width"_a, "bit_depth"_a, "samples"_a,
        "interlaced"_a,
        "(status, array (height, width, samples)) of inflated scanlines: uint8, or uint16 for 16 bits; "
        "values of\n"
        "less than 8 bits stay as they are. The GIL is released.");
}
