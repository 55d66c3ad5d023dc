#include "mapped_file.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cerrno>
#include <cstdint>
#include <span>

#include "arrays.h"

namespace nb = nanobind;

#ifdef _WIN32

void BindMappedFile(nb::module_&) {}

#else

namespace {

using BytesOut = nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1> >;

struct Mapping {
  const uint8_t* begin;
  size_t size;
};

BytesOut MapFile(int descriptor, size_t size) {
  const uint8_t* const begin = wellfed::MapFile(descriptor, size);
  if (begin == nullptr) {
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
  nb::capsule owner(new Mapping{begin, size}, [](void* p) noexcept {
    const auto* const mapping = static_cast<Mapping*>(p);
    wellfed::UnmapFile(mapping->begin, mapping->size);
    delete mapping;
  });
  return BytesOut(begin, {size}, owner);
}

using Mapped = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig>;

std::span<const uint8_t> Range(const Mapped& mapped, size_t start, size_t stop) {
  if (start > stop || stop > mapped.size()) throw nb::index_error("start <= stop <= size is due");
  return {mapped.data() + start, stop - start};
}

void PopulateFile(Mapped mapped, size_t start, size_t stop) {
  const std::span<const uint8_t> range = Range(mapped, start, stop);
  nb::gil_scoped_release released;
  wellfed::PopulateFile(range.data(), range.size());
}

void AskForRanges(Mapped mapped, wellfed::ArrayIn<int64_t> starts, wellfed::ArrayIn<int64_t> sizes) {
  if (starts.size() != sizes.size()) throw nb::value_error("as many sizes as starts are due");
  nb::gil_scoped_release released;
  wellfed::AskForRanges({mapped.data(), mapped.size()}, {starts.data(), starts.size()},
                        {sizes.data(), sizes.size()});
}

void ReadWhole(Mapped mapped) {
  nb::gil_scoped_release released;
  wellfed::ReadWhole(mapped.data(), mapped.size());
}

void ReadAtRandom(Mapped mapped) {
  nb::gil_scoped_release released;
  wellfed::ReadAtRandom(mapped.data(), mapped.size());
}

void ReleaseFile(Mapped mapped, size_t start, size_t stop) {
  const std::span<const uint8_t> range = Range(mapped, start, stop);
  nb::gil_scoped_release released;
  wellfed::ReleaseFile(range.data(), range.size());
}

}  // namespace

void BindMappedFile(nb::module_& m) {
  m.def("map_file", &MapFile, nb::arg("descriptor"), nb::arg("size"),
        "The first `size` bytes (1 at least) of an open file as a read-only array that owns the mapping; the "
        "descriptor\n"
        "may be closed afterwards. If the file is cut, the missing pages read as zeros. Not on Windows.");
  m.def("populate_file", &PopulateFile, nb::arg("mapped"), nb::arg("start"), nb::arg("stop"),
        "Brings the pages of bytes [start, stop) of what map_file gave into the page tables, and into "
        "memory, as many "
        "at a\n"
        "time as the system does. Not on Windows.");
  m.def(
      "ask_for_ranges", &AskForRanges, nb::arg("mapped"), nb::arg("starts").noconvert(),
      nb::arg("sizes").noconvert(),
      "Has the pages read that are not in memory of the ranges of what map_file gave that begin at `starts` "
      "(int64)\n"
      "and have `sizes` bytes (int64), and no others but small gaps between them; does not wait for them. "
      "Not "
      "on Windows.");
  m.def("read_whole", &ReadWhole, nb::arg("mapped"),
        "From now on a fault of what map_file gave reads 2 MiB or more where that is not in memory. Not on "
        "Windows.");
  m.def("read_at_random", &ReadAtRandom, nb::arg("mapped"),
        "From now on a fault of what map_file gave reads its own page alone, not what is around it, and what "
        "was\n"
        "mapped so far need not stay in memory. Not on Windows.");
  m.def("release_file", &ReleaseFile, nb::arg("mapped"), nb::arg("start"), nb::arg("stop"),
        "Takes the pages of bytes [start, stop) of what map_file gave out of the page tables; they come back "
        "when they\n"
        "are touched. Not on Windows.");
}

#endif
