// The pixel pass for Python: many pictures of one array a call.
#include "pixels.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using wellfed::Picture;
using wellfed::PixelGeometry;
using wellfed::PixelPass;
using wellfed::PixelSpec;
using wellfed::PixelType;

using Pictures = nb::ndarray<nb::ro, nb::ndim<4>, nb::device::cpu>;
using Results = nb::ndarray<nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Geometry = nb::ndarray<const int64_t, nb::shape<-1, 9>, nb::c_contig, nb::device::cpu>;
using Factors = std::optional<nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;

PixelType TypeNamed(const std::string& name) {
  if (name == "uint8") return PixelType::kUint8;
  if (name == "uint16") return PixelType::kUint16;
  if (name == "float32") return PixelType::kFloat32;
  if (name == "float16") return PixelType::kFloat16;
  if (name == "bfloat16") return PixelType::kBfloat16;
  throw nb::value_error(("unknown type of pixels: " + name).c_str());
}

wellfed::ResizeMethod MethodNamed(const std::string& name) {
  if (name == "none") return wellfed::ResizeMethod::kNone;
  if (name == "bilinear") return wellfed::ResizeMethod::kBilinear;
  if (name == "area") return wellfed::ResizeMethod::kArea;
  throw nb::value_error(("unknown method: " + name).c_str());
}

PixelType TypeOf(nb::dlpack::dtype type) {
  if (type == nb::dtype<uint8_t>()) return PixelType::kUint8;
  if (type == nb::dtype<uint16_t>()) return PixelType::kUint16;
  if (type == nb::dtype<float>()) return PixelType::kFloat32;
  throw nb::value_error("pictures must be uint8, uint16 or float32");
}

const wellfed::RowKernels* ImplementationNamed(const std::string& name) {
  for (const wellfed::RowKernels* kernels : wellfed::PixelImplementations()) {
    if (name == PixelImplementationName(*kernels) && PixelImplementationAvailable(*kernels)) return kernels;
  }
  if (name.empty()) return nullptr;
  throw nb::value_error(("this machine has no implementation called " + name).c_str());
}

void SetScale(const Factors& scale, const Factors& bias, PixelSpec* spec) {
  if (!scale) return;
  const size_t channels = static_cast<size_t>(spec->channels);
  if (!bias || scale->size() != channels || bias->size() != channels) {
    throw nb::value_error("scale and bias need one value a channel each");
  }
  spec->scaled = true;
  for (size_t c = 0; c < channels; ++c) {
    spec->scale[c] = scale->data()[c];
    spec->bias[c] = bias->data()[c];
  }
}

PixelSpec SpecOf(const Pictures& pictures, const Results& out, const std::string& out_type, bool planar) {
  PixelSpec spec;
  spec.source_type = TypeOf(pictures.dtype());
  spec.out_type = TypeNamed(out_type);
  spec.planar = planar;
  spec.channels = static_cast<int64_t>(pictures.shape(3));
  spec.height = static_cast<int64_t>(out.shape(planar ? 2 : 1));
  spec.width = static_cast<int64_t>(out.shape(planar ? 3 : 2));
  if (static_cast<int64_t>(out.shape(planar ? 1 : 3)) != spec.channels) {
    throw nb::value_error("pictures and out must have the same number of channels");
  }
  if (static_cast<int64_t>(out.itemsize()) != wellfed::PixelBytes(spec.out_type)) {
    throw nb::value_error("the items of out must be as large as out_type");
  }
  return spec;
}

void CheckLayout(const Pictures& pictures, const PixelSpec& spec) {
  const int64_t size = wellfed::PixelBytes(spec.source_type);
  const bool packed = (pictures.stride(3) == 1 || spec.channels == 1) &&
                      (pictures.stride(2) == spec.channels || pictures.shape(2) <= 1);
  const bool aligned = reinterpret_cast<uintptr_t>(pictures.data()) % static_cast<uintptr_t>(size) == 0;
  if (!packed || !aligned) throw nb::value_error("the pixels of a row must lie side by side, aligned");
}

void RunPixels(const Pictures& pictures, const Geometry& geometry, const Results& out,
               const std::string& out_type, const std::string& method, const std::string& rounded,
               const Factors& scale, const Factors& bias, bool planar, bool stream,
               const std::string& implementation) {
  PixelSpec spec = SpecOf(pictures, out, out_type, planar);
  spec.method = MethodNamed(method);
  spec.rounded = TypeNamed(rounded);
  spec.stream = stream;
  SetScale(scale, bias, &spec);
  CheckLayout(pictures, spec);
  const size_t count = out.shape(0);
  if (!PixelPass::IsValid(spec))
    throw nb::value_error("this combination of types and channels is not supported");
  if (pictures.shape(0) != count || geometry.shape(0) != count) {
    throw nb::value_error("pictures, geometry and out must have the same number of rows");
  }
  const wellfed::RowKernels* kernels = ImplementationNamed(implementation);
  const int64_t size = wellfed::PixelBytes(spec.source_type);
  const int64_t picture_bytes = pictures.stride(0) * size;
  const size_t result_bytes = count ? out.nbytes() / count : 0;
  const uint8_t* from = static_cast<const uint8_t*>(pictures.data());
  uint8_t* to = static_cast<uint8_t*>(out.data());
  Picture picture = {from, static_cast<int64_t>(pictures.shape(1)), static_cast<int64_t>(pictures.shape(2)),
                     pictures.stride(1) * size};
  const int64_t* numbers = geometry.data();
  size_t row = 0;
  {
    nb::gil_scoped_release released;
    PixelPass pass(spec, kernels);
    for (; row < count; ++row, numbers += 9) {
      picture.pixels = from + static_cast<int64_t>(row) * picture_bytes;
      const PixelGeometry place = {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
                                   numbers[5], numbers[6], numbers[7], numbers[8]};
      if (!pass.Run(picture, place, to + row * result_bytes)) break;
    }
  }
  if (row < count)
    throw nb::value_error(("the geometry of row " + std::to_string(row) + " does not fit").c_str());
}

std::vector<std::string> Implementations() {
  std::vector<std::string> names;
  for (const wellfed::RowKernels* kernels : wellfed::PixelImplementations()) {
    if (PixelImplementationAvailable(*kernels)) names.emplace_back(PixelImplementationName(*kernels));
  }
  return names;
}

}  // namespace

void BindPixels(nb::module_& m) {
  m.def("run_pixels", &RunPixels, "pictures"_a, "geometry"_a, "out"_a.noconvert(), nb::kw_only(),
        "out_type"_a, "method"_a = "none", "rounded"_a = "uint8", "scale"_a = nb::none(),
        "bias"_a = nb::none(), "planar"_a = false, "stream"_a = false, "implementation"_a = "",
        "Crops, resizes, flips and scales pictures (n, H, W, C) into out (n, h, w, C), or (n, C, h, w) if "
        "planar. A row of\n"
        "geometry: top, left, height, width of a box; its size when resized, height and width; top and left "
        "of the\n"
        "window that is taken of it; 1 to mirror. The GIL is released.");
  m.def("pixel_implementations", &Implementations,
        "The implementations of the pixel pass that this machine runs, slowest first.");
}
