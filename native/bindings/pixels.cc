// The pixel pass for Python: many pictures of one array a call.
#include "pixels.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using wellfed::Picture;
using wellfed::PixelGeometry;
using wellfed::PixelPass;
using wellfed::PixelSpec;
using wellfed::PixelType;

using Pictures = nb::ndarray<nb::ro, nb::ndim<4>, nb::device::cpu>;
using OnePicture = nb::ndarray<nb::ro, nb::ndim<3>, nb::device::cpu>;
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

// What the two calls below share: the result's shape and type, and what is done to each picture.
struct Wanted {
  std::string out_type, method, rounded;
  const Factors& scale;
  const Factors& bias;
  bool planar, stream;
};

PixelSpec SpecOf(const Results& out, PixelType source_type, int64_t channels, const Wanted& wanted) {
  PixelSpec spec;
  spec.source_type = source_type;
  spec.out_type = TypeNamed(wanted.out_type);
  spec.method = MethodNamed(wanted.method);
  spec.rounded = TypeNamed(wanted.rounded);
  spec.planar = wanted.planar;
  spec.stream = wanted.stream;
  spec.channels = channels;
  spec.height = static_cast<int64_t>(out.shape(wanted.planar ? 2 : 1));
  spec.width = static_cast<int64_t>(out.shape(wanted.planar ? 3 : 2));
  if (static_cast<int64_t>(out.shape(wanted.planar ? 1 : 3)) != spec.channels) {
    throw nb::value_error("pictures and out must have the same number of channels");
  }
  if (static_cast<int64_t>(out.itemsize()) != wellfed::PixelBytes(spec.out_type)) {
    throw nb::value_error("the items of out must be as large as out_type");
  }
  SetScale(wanted.scale, wanted.bias, &spec);
  if (!PixelPass::IsValid(spec)) {
    throw nb::value_error("this combination of types and channels is not supported");
  }
  return spec;
}

// REQUIRES: the last two dimensions of `pictures` are columns and channels.
template <typename Array>
void CheckLayout(const Array& pictures, const PixelSpec& spec) {
  const size_t last = pictures.ndim() - 1;
  const int64_t size = wellfed::PixelBytes(spec.source_type);
  const bool packed = (pictures.stride(last) == 1 || spec.channels == 1) &&
                      (pictures.stride(last - 1) == spec.channels || pictures.shape(last - 1) <= 1);
  const bool aligned = reinterpret_cast<uintptr_t>(pictures.data()) % static_cast<uintptr_t>(size) == 0;
  if (!packed || !aligned) throw nb::value_error("the pixels of a row must lie side by side, aligned");
}

PixelGeometry GeometryOf(const int64_t* numbers) {
  return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
          numbers[5], numbers[6], numbers[7], numbers[8]};
}

void RunPixels(const Pictures& pictures, const Geometry& geometry, const Results& out,
               const std::string& out_type, const std::string& method, const std::string& rounded,
               const Factors& scale, const Factors& bias, bool planar, bool stream,
               const std::string& implementation) {
  const Wanted wanted = {out_type, method, rounded, scale, bias, planar, stream};
  const PixelSpec spec =
      SpecOf(out, TypeOf(pictures.dtype()), static_cast<int64_t>(pictures.shape(3)), wanted);
  CheckLayout(pictures, spec);
  const size_t count = out.shape(0);
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
      if (!pass.Run(picture, GeometryOf(numbers), to + row * result_bytes)) break;
    }
  }
  if (row < count)
    throw nb::value_error(("the geometry of row " + std::to_string(row) + " does not fit").c_str());
}

// A pass that stays: for pictures of any sizes that come one by one.
class PixelRows {
 public:
  PixelRows(Results out, const std::string& source_type, int64_t channels, const std::string& out_type,
            const std::string& method, const std::string& rounded, const Factors& scale, const Factors& bias,
            bool planar, bool stream)
      : out_(std::move(out)),
        spec_(SpecOf(out_, TypeNamed(source_type), channels,
                     {out_type, method, rounded, scale, bias, planar, stream})),
        row_bytes_(out_.shape(0) ? out_.nbytes() / out_.shape(0) : 0),
        pass_(spec_) {}

  void Run(size_t row, const OnePicture& pixels, const std::array<int64_t, 9>& place) {
    if (row >= out_.shape(0)) throw nb::index_error("there is no such row");
    if (TypeOf(pixels.dtype()) != spec_.source_type ||
        static_cast<int64_t>(pixels.shape(2)) != spec_.channels) {
      throw nb::value_error("the picture is of another type, or has other channels, than those before it");
    }
    CheckLayout(pixels, spec_);
    const Picture picture = {static_cast<const uint8_t*>(pixels.data()),
                             static_cast<int64_t>(pixels.shape(0)), static_cast<int64_t>(pixels.shape(1)),
                             pixels.stride(0) * wellfed::PixelBytes(spec_.source_type)};
    uint8_t* const to = static_cast<uint8_t*>(out_.data()) + row * row_bytes_;
    bool fits;
    {
      nb::gil_scoped_release released;
      fits = pass_.Run(picture, GeometryOf(place.data()), to);
    }
    if (!fits)
      throw nb::value_error(("the geometry of row " + std::to_string(row) + " does not fit").c_str());
  }

 private:
  const Results out_;
  const PixelSpec spec_;
  const size_t row_bytes_;
  PixelPass pass_;
};

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
  nb::class_<PixelRows>(m, "PixelRows",
                        "A pass into rows of out (n, h, w, C), or (n, C, h, w) if planar, for pictures that "
                        "come one by one.\nNot thread-safe: one for each thread.")
      .def(nb::init<Results, const std::string&, int64_t, const std::string&, const std::string&,
                    const std::string&, const Factors&, const Factors&, bool, bool>(),
           "out"_a.noconvert(), "source_type"_a, "channels"_a, "out_type"_a, "method"_a, "rounded"_a,
           "scale"_a.none(), "bias"_a.none(), "planar"_a, "stream"_a)
      .def("run", &PixelRows::Run, "row"_a, "picture"_a, "place"_a,
           "Fills a row from a picture (H, W, C); `place` is a row of geometry. The GIL is released.");
  m.def("pixel_implementations", &Implementations,
        "The implementations of the pixel pass that this machine runs, slowest first.");
}
