// What the bindings that parse Examples share: rows in, finished columns out.
#ifndef WELLFED_BINDINGS_EXAMPLE_COLUMNS_H_
#define WELLFED_BINDINGS_EXAMPLE_COLUMNS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "example_parse.h"

namespace wellfed {

// An entry per feature: the caller's memory for a dense column, or None.
using Memory = nanobind::ndarray<uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Outputs = std::vector<std::optional<Memory>>;

// Columns over the caller's memory, checked against what `rows` rows need. Throws std::invalid_argument.
std::vector<Column> MakeColumns(const ExampleParser& parser, uint64_t rows, const Outputs& out,
                                const Outputs& present);

// The byte strings of one column, found a place: inside one buffer that was the input, or copied into `data`.
struct Strings {
  bool copied = false;
  GrowingArray<uint8_t> data;
  GrowingArray<int64_t> starts;
  GrowingArray<int64_t> sizes;
};

// Turns `column`'s pointers into offsets. `buffer` is the whole input where that is one buffer, or empty:
// strings that lie outside it are copied, and then all are. Needs no GIL.
Strings PlaceStrings(std::span<const uint8_t> buffer, const Column& column);

// From (key, kind, layout, count, default) each: the default is None, or the bytes of a row, or a list of
// byte strings. Needs the GIL.
std::vector<FeatureSpec> ToSpecs(nanobind::list given);

// A column that is not dense: (values,), (values, row_splits), (data or None, starts, sizes) or (data or
// None, starts, sizes, row_splits). Takes the column's memory. Needs the GIL.
nanobind::object ToPython(const FeatureSpec& spec, Column* column, Strings* placed);

// One entry per spec, in order, as `ExampleParser.parse` documents: None, (values, row_splits), (data,
// starts, sizes) or (data, starts, sizes, row_splits). Takes the columns' memory. `placed` has an entry per
// spec. Needs the GIL.
nanobind::list ToPython(const std::vector<FeatureSpec>& specs, std::span<Column> columns,
                        std::span<Strings> placed);

// (status, feature, row, offset, found, length). Needs the GIL.
nanobind::tuple ToPython(const ParseError& error, uint64_t row);

}  // namespace wellfed

#endif  // WELLFED_BINDINGS_EXAMPLE_COLUMNS_H_
