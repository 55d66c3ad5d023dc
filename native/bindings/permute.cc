#include "permute.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"

namespace nb = nanobind;

namespace {

using wellfed::ArrayIn;
using wellfed::ArrayOut;

void CheckSize(uint64_t n) {
  if (n > wellfed::kPermuteMax) {
    throw std::invalid_argument("n must be at most 2**48, got " + std::to_string(n));
  }
}

ArrayOut<uint64_t> PermuteRange(uint64_t n, uint64_t key, uint64_t start, uint64_t stop) {
  CheckSize(n);
  if (start > stop || stop > n) {
    throw std::invalid_argument("start <= stop <= n is due, got start " + std::to_string(start) + ", stop " +
                                std::to_string(stop) + ", n " + std::to_string(n));
  }
  std::vector<uint64_t> rows;
  {
    nb::gil_scoped_release released;
    rows.resize(stop - start);
    wellfed::Permutation(n, key).Range(start, rows);
  }
  return wellfed::ToArray(std::move(rows));
}

ArrayOut<uint64_t> PermuteApply(uint64_t n, uint64_t key, ArrayIn<uint64_t> values) {
  CheckSize(n);
  std::vector<uint64_t> rows;
  uint64_t largest = 0;
  {
    nb::gil_scoped_release released;
    rows.assign(values.data(), values.data() + values.size());
    if (!rows.empty()) largest = *std::max_element(rows.begin(), rows.end());
    if (rows.empty() || largest < n) wellfed::Permutation(n, key).Apply(rows);
  }
  if (!rows.empty() && largest >= n) {
    throw nb::index_error(
        ("values must be below n = " + std::to_string(n) + ", got " + std::to_string(largest)).c_str());
  }
  return wellfed::ToArray(std::move(rows));
}

}  // namespace

void BindPermute(nb::module_& m) {
  m.def("permute_range", &PermuteRange, nb::arg("n"), nb::arg("key"), nb::arg("start"), nb::arg("stop"),
        "Where the permutation of [0, n) that `key` picks takes the positions start to stop. n is at most "
        "2**48.");
  m.def("permute_apply", &PermuteApply, nb::arg("n"), nb::arg("key"), nb::arg("values").noconvert(),
        "Where the permutation of [0, n) that `key` picks takes each of `values`.");
}
