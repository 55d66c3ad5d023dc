#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "arrays.h"
#include "example_columns.h"
#include "example_parse.h"
#include "example_records.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace wellfed {
namespace {

std::string AsString(nb::bytes bytes) { return {bytes.c_str(), bytes.size()}; }

// (key, kind, layout, count, default): the default is None, or bytes of a row, or a list of byte strings.
FeatureSpec ToSpec(nb::tuple given) {
  FeatureSpec spec;
  spec.key = AsString(nb::cast<nb::bytes>(given[0]));
  spec.kind = static_cast<Kind>(nb::cast<int>(given[1]));
  spec.layout = static_cast<Layout>(nb::cast<int>(given[2]));
  spec.count = nb::cast<uint64_t>(given[3]);
  if (spec.count > (uint64_t{1} << 56)) throw std::invalid_argument("a row of more than 2^56 values");
  spec.has_default = !given[4].is_none();
  if (!spec.has_default) return spec;
  if (spec.strings()) {
    for (nb::handle string : nb::cast<nb::list>(given[4])) {
      spec.default_bytes.push_back(AsString(nb::cast<nb::bytes>(string)));
    }
    if (spec.default_bytes.size() != spec.count) throw std::invalid_argument("a default of another length");
  } else {
    const std::string row = AsString(nb::cast<nb::bytes>(given[4]));
    spec.default_dense.assign(row.begin(), row.end());
    if (row.size() != spec.row_size()) throw std::invalid_argument("a default of another length");
  }
  return spec;
}

}  // namespace

std::vector<FeatureSpec> ToSpecs(nb::list given) {
  std::vector<FeatureSpec> specs;
  for (nb::handle spec : given) specs.push_back(ToSpec(nb::cast<nb::tuple>(spec)));
  return specs;
}

Strings PlaceStrings(std::span<const uint8_t> buffer, const Column& column) {
  Strings strings;
  const size_t count = column.starts.size();
  int64_t* starts = strings.starts.Grow(count);
  int64_t* sizes = strings.sizes.Grow(count);
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto offset =
        reinterpret_cast<uintptr_t>(column.starts[i]) - reinterpret_cast<uintptr_t>(buffer.data());
    // Below the buffer the difference wraps to something huge.
    strings.copied |=
        column.sizes[i] > 0 && (offset > buffer.size() || column.sizes[i] > buffer.size() - offset);
    starts[i] = column.sizes[i] > 0 ? static_cast<int64_t>(offset) : 0;
    sizes[i] = static_cast<int64_t>(column.sizes[i]);
    total += column.sizes[i];
  }
  if (!strings.copied) return strings;
  uint8_t* out = strings.data.Grow(total);
  uint64_t end = 0;
  for (size_t i = 0; i < count; ++i) {
    if (column.sizes[i] > 0) std::memcpy(out + end, column.starts[i], column.sizes[i]);
    starts[i] = static_cast<int64_t>(end);
    end += column.sizes[i];
  }
  return strings;
}

nb::object ToPython(const FeatureSpec& spec, Column* column, Strings* placed) {
  const bool var = spec.layout == Layout::kVar;
  if (!spec.strings()) {
    auto values = ToArray(std::move(column->values));
    return var ? nb::make_tuple(values, ToArray(std::move(column->row_splits))) : nb::make_tuple(values);
  }
  nb::object data = placed->copied ? nb::cast(ToArray(std::move(placed->data))) : nb::none();
  auto starts = ToArray(std::move(placed->starts)), sizes = ToArray(std::move(placed->sizes));
  return var ? nb::make_tuple(data, starts, sizes, ToArray(std::move(column->row_splits)))
             : nb::make_tuple(data, starts, sizes);
}

std::vector<Column> MakeColumns(const ExampleParser& parser, uint64_t rows, const Outputs& out,
                                const Outputs& present) {
  const auto& specs = parser.specs();
  if (out.size() != specs.size() || (!present.empty() && present.size() != specs.size())) {
    throw std::invalid_argument("out and present must hold an entry per feature");
  }
  std::vector<Column> columns(specs.size());
  for (size_t f = 0; f < specs.size(); ++f) {
    if (!present.empty() && present[f].has_value()) {
      if (present[f]->size() != rows) throw std::invalid_argument("present must hold a byte per row");
      columns[f].present = present[f]->data();
    }
    if (!specs[f].dense()) continue;
    const uint64_t row_size = specs[f].row_size();
    const uint64_t size = out[f].has_value() ? out[f]->size() : 0;
    if (!out[f].has_value() ||
        (row_size == 0 ? size != 0 : size % row_size != 0 || size / row_size != rows)) {
      throw std::invalid_argument("feature " + std::to_string(f) + ": out must hold " + std::to_string(rows) +
                                  " rows of " + std::to_string(row_size) + " bytes, got " +
                                  std::to_string(size) + " bytes");
    }
    columns[f].dense = out[f]->data();
  }
  return columns;
}

nb::list ToPython(const std::vector<FeatureSpec>& specs, std::span<Column> columns,
                  std::span<Strings> placed) {
  nb::list result;
  for (size_t f = 0; f < specs.size(); ++f) {
    result.append(specs[f].dense() ? nb::none() : ToPython(specs[f], &columns[f], &placed[f]));
  }
  return result;
}

nb::tuple ToPython(const ParseError& error, uint64_t row) {
  return nb::make_tuple(static_cast<int>(error.status), error.feature, row, error.offset,
                        static_cast<int>(error.found), error.length);
}

}  // namespace wellfed

namespace {

using wellfed::ArrayIn;
using wellfed::Buffer;
using wellfed::Column;
using wellfed::ExampleParser;

using wellfed::MakeColumns;
using wellfed::Outputs;

void MakeParser(ExampleParser* parser, nb::list given) {
  new (parser) ExampleParser(wellfed::ToSpecs(given));
}

template <typename Records>
nb::tuple ParseRecords(const ExampleParser& parser, const Records& records, const Outputs& out,
                       const Outputs& present) {
  const uint64_t rows = records.size();
  std::vector<Column> columns = MakeColumns(parser, rows, out, present);
  std::vector<wellfed::Strings> placed(columns.size());
  wellfed::ParseError error;
  uint64_t row = 0;
  {
    nb::gil_scoped_release released;
    ExampleParser::Scratch scratch;
    parser.Start(rows, columns);
    const auto parse = [&] { return parser.Parse(records[row], row, &scratch, columns.data(), &error); };
    while (row < rows && parse() == wellfed::ParseStatus::kOk) ++row;
    for (size_t f = 0; row == rows && f < columns.size(); ++f) {
      if (parser.specs()[f].strings()) placed[f] = wellfed::PlaceStrings(records.buffer(), columns[f]);
    }
  }
  if (row < rows) return nb::make_tuple(nb::none(), wellfed::ToPython(error, row));
  return nb::make_tuple(wellfed::ToPython(parser.specs(), columns, placed), nb::none());
}

nb::tuple Parse(const ExampleParser& parser, const Buffer& data, ArrayIn<int64_t> starts,
                ArrayIn<int64_t> sizes, const Outputs& out, const Outputs& present) {
  return ParseRecords(parser, wellfed::RecordBuffer(data, starts, sizes), out, present);
}

nb::tuple ParseList(const ExampleParser& parser, nb::list records, const Outputs& out,
                    const Outputs& present) {
  return ParseRecords(parser, wellfed::RecordList(records), out, present);
}

}  // namespace

void BindExample(nb::module_& m) {
  nb::class_<ExampleParser>(
      m, "ExampleParser", "Parses Examples into columns. Immutable but for a counter; threads may share it.")
      .def("__init__", &MakeParser, "specs"_a,
           "`specs`: (key, kind 1 bytes | 2 float | 3 int64, layout 0 fixed | 1 var | 2 raw, count, default) "
           "each;\n"
           "the default is None, the bytes of a row, or a list of byte strings.")
      .def_prop_ro("repeated", &ExampleParser::repeated,
                   "Records parsed so far in which the key of a spec came more than once: the last counted.")
      .def("parse", &Parse, "data"_a, "starts"_a.noconvert(), "sizes"_a.noconvert(), "out"_a,
           "present"_a = Outputs(),
           "Parses record i, the `sizes[i]` bytes of `data` at `starts[i]`, into row i. `out` has, per spec, "
           "the\n"
           "uint8 memory of a dense column, or None; `present`, a 1 per row, or None.\n"
           "Returns (columns, None), or (None, (status, feature, row, offset, found kind, length)). A column "
           "is\n"
           "None (it went to `out`), (values, row_splits), (data, starts, sizes), or (data, starts, sizes,\n"
           "row_splits); its `data` is None where the strings lie in the `data` given.")
      .def("parse_list", &ParseList, "records"_a, "out"_a, "present"_a = Outputs(),
           "The same for a list of bytes-like records; strings are copied.");
}
