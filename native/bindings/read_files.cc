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

constexpr size_t kMostHeadBytes = 65536;

using Names = std::span<const int64_t>;

// Throws unless `starts` are the ascending ends of `count` names inside the buffer.
Names CheckNames(const wellfed::Buffer& names, const ArrayIn<int64_t>& starts, size_t count) {
  const Names begin(starts.data(), starts.size());
  if (begin.size() != count + 1) {
    throw std::invalid_argument("starts must have one entry more than there are files, got " +
                                std::to_string(begin.size()) + " for " + std::to_string(count));
  }
  for (size_t i = 0; i < begin.size(); ++i) {
    const int64_t before = i == 0 ? 0 : begin[i - 1];
    if (begin[i] < before || static_cast<uint64_t>(begin[i]) > names.span().size()) {
      throw std::invalid_argument("starts[" + std::to_string(i) +
                                  "] is out of range: " + std::to_string(begin[i]));
    }
  }
  return begin;
}

std::pair<ArrayOut<uint8_t>, size_t> ReadFiles(nb::bytes folder, const wellfed::Buffer& names,
                                               ArrayIn<int64_t> starts, ArrayIn<int64_t> sizes) {
  const std::span<const int64_t> size(sizes.data(), sizes.size());
  const Names begin = CheckNames(names, starts, size.size());
  uint64_t total = 0;
  for (size_t i = 0; i < size.size(); ++i) {
    // A sum that wraps would be a buffer too small.
    if (size[i] < 0 || static_cast<uint64_t>(size[i]) > INT64_MAX - total) {
      throw std::invalid_argument("sizes[" + std::to_string(i) + "] is out of range");
    }
    total += static_cast<uint64_t>(size[i]);
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

std::pair<ArrayOut<uint8_t>, ArrayOut<int64_t>> ReadHeads(nb::bytes folder, const wellfed::Buffer& names,
                                                          ArrayIn<int64_t> starts, size_t head) {
  const size_t count = starts.size() == 0 ? 0 : starts.size() - 1;
  const Names begin = CheckNames(names, starts, count);
  if (head > kMostHeadBytes) throw std::invalid_argument("head must be at most 65536 bytes");
  const std::string root(folder.c_str(), folder.size());
  std::vector<uint8_t> heads;
  std::vector<int64_t> sizes;
  {
    nb::gil_scoped_release released;
    heads.resize(count * head);
    sizes.resize(count);
    wellfed::ReadHeads(root, names.span(), begin, head, heads, sizes);
  }
  return {wellfed::ToArray(std::move(heads)), wellfed::ToArray(std::move(sizes))};
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
  m.def("read_heads", &ReadHeads, nb::arg("folder"), nb::arg("names"), nb::arg("starts").noconvert(),
        nb::arg("head"),
        "The first `head` bytes of each file, named as in read_files, end to end with zeros behind shorter "
        "ones; and "
        "each\n"
        "file's size, -1 where it is no regular file or cannot be read.");
}

#else

void BindReadFiles(nb::module_&) {}

#endif  // _WIN32
