#include "read_files.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "arrays.h"
#include "growing_array.h"

namespace nb = nanobind;

#ifndef _WIN32

namespace {

using wellfed::ArrayIn;
using wellfed::ArrayOut;

std::pair<ArrayOut<uint8_t>, size_t> ReadFiles(nb::bytes folder, const wellfed::Buffer& names,
                                               ArrayIn<int64_t> starts, ArrayIn<int64_t> sizes) {
  const std::span<const int64_t> begin(starts.data(), starts.size()), size(sizes.data(), sizes.size());
  if (begin.size() != size.size() + 1) {
    throw std::invalid_argument("starts must have one entry more than sizes, got " +
                                std::to_string(begin.size()) + " and " + std::to_string(size.size()));
  }
  uint64_t total = 0, before = static_cast<uint64_t>(begin[0]);
  for (size_t i = 0; i < size.size(); ++i) {
    const auto end = static_cast<uint64_t>(begin[i + 1]);
    if (size[i] < 0 || end < before || end > names.span().size()) {
      throw std::invalid_argument("name or size of file " + std::to_string(i) + " is out of range");
    }
    total += static_cast<uint64_t>(size[i]);
    before = end;
  }
  const std::string root(folder.c_str(), folder.size());
  std::vector<uint8_t> content;
  size_t read = 0;
  {
    nb::gil_scoped_release released;
    content.resize(total + 1);
    read = wellfed::ReadFiles(root, names.span(), begin, size, content);
    content.pop_back();
  }
  return {wellfed::ToArray(std::move(content)), read};
}

}  // namespace

void BindReadFiles(nb::module_& m) {
  m.def(
      "read_files", &ReadFiles, nb::arg("folder"), nb::arg("names"), nb::arg("starts").noconvert(),
      nb::arg("sizes").noconvert(),
      "Reads whole files, `folder` + \"/\" + the bytes of `names` from starts[i] to starts[i + 1], of "
      "`sizes` bytes "
      "each,\n"
      "into one array. Returns it, and how many were read before the first that could not be or had another "
      "size.");
}

#else

void BindReadFiles(nb::module_&) {}

#endif  // _WIN32
