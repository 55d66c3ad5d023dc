#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "arrays.h"
#include "example_columns.h"
#include "example_records.h"
#include "sequence_parse.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using wellfed::ArrayIn;
using wellfed::Buffer;
using wellfed::SequenceParser;

void MakeParser(SequenceParser* parser, nb::list specs) {
  new (parser) SequenceParser(wellfed::ToSpecs(specs));
}

template <typename Records>
nb::tuple ParseRecords(const SequenceParser& parser, const Records& records) {
  const auto& specs = parser.specs();
  std::vector<wellfed::SequenceColumn> columns(specs.size());
  std::vector<wellfed::Strings> placed(specs.size());
  wellfed::SequenceError error;
  uint64_t row = 0;
  {
    nb::gil_scoped_release released;
    parser.Start(columns);
    while (row < records.size() && parser.Parse(records[row], columns, &error) == wellfed::ParseStatus::kOk)
      ++row;
    for (size_t f = 0; row == records.size() && f < specs.size(); ++f) {
      if (specs[f].strings()) placed[f] = wellfed::PlaceStrings(records.buffer(), columns[f].steps);
    }
  }
  if (row < records.size()) {
    return nb::make_tuple(nb::none(), nb::make_tuple(wellfed::ToPython(error, row), error.step));
  }
  nb::list result;
  for (size_t f = 0; f < specs.size(); ++f) {
    result.append(nb::make_tuple(wellfed::ToPython(specs[f], &columns[f].steps, &placed[f]),
                                 wellfed::ToArray(std::move(columns[f].step_splits))));
  }
  return nb::make_tuple(result, nb::none());
}

nb::tuple Parse(const SequenceParser& parser, const Buffer& data, ArrayIn<int64_t> starts,
                ArrayIn<int64_t> sizes) {
  return ParseRecords(parser, wellfed::RecordBuffer(data, starts, sizes));
}

nb::tuple ParseList(const SequenceParser& parser, nb::list records) {
  return ParseRecords(parser, wellfed::RecordList(records));
}

}  // namespace

void BindSequence(nb::module_& m) {
  nb::class_<SequenceParser>(m, "SequenceParser",
                             "Parses the lists of SequenceExamples. Immutable; threads may share it.")
      .def("__init__", &MakeParser, "specs"_a, "As ExampleParser's; a list without a default must be there.")
      .def("parse", &Parse, "data"_a, "starts"_a.noconvert(), "sizes"_a.noconvert(),
           "Parses record i, the `sizes[i]` bytes of `data` at `starts[i]`. Returns (columns, None), or\n"
           "(None, (failure as ExampleParser's, step)). A column is (steps, step_splits); steps are "
           "(values,),\n"
           "(values, row_splits), (data, starts, sizes), or (data, starts, sizes, row_splits).")
      .def("parse_list", &ParseList, "records"_a,
           "The same for a list of bytes-like records; strings are copied.");
}
