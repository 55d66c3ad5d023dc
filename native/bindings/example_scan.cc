#include "example_scan.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "example_records.h"
#include "example_walk.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using wellfed::ArrayIn;
using wellfed::Buffer;
using wellfed::ExampleScanner;
using wellfed::Kind;
using wellfed::MapEntry;

template <typename T>
nb::object ToPython(const wellfed::Range<T>& range) {
  return range.min > range.max ? nb::none() : nb::object(nb::make_tuple(range.min, range.max));
}

nb::list ToPython(const std::vector<wellfed::FeatureFacts>& features) {
  nb::list result;
  for (const auto& facts : features) {
    result.append(nb::make_tuple(facts.key, facts.present, facts.kinds, facts.first, ToPython(facts.counts),
                                 ToPython(facts.steps), ToPython(facts.ints), ToPython(facts.floats),
                                 facts.nonfinite, ToPython(facts.sizes), facts.looks, facts.repeated));
  }
  return result;
}

// (record, offset) of the first record that is no Example, or None.
template <typename Records>
nb::object AddRecords(ExampleScanner& scanner, const Records& records) {
  uint64_t row = 0, offset = 0;
  {
    nb::gil_scoped_release released;
    while (row < records.size() && scanner.Add(records[row], &offset)) ++row;
  }
  return row == records.size() ? nb::none() : nb::object(nb::make_tuple(row, offset));
}

nb::object Add(ExampleScanner& scanner, const Buffer& data, ArrayIn<int64_t> starts, ArrayIn<int64_t> sizes) {
  return AddRecords(scanner, wellfed::RecordBuffer(data, starts, sizes));
}

nb::object AddList(ExampleScanner& scanner, nb::list records) {
  return AddRecords(scanner, wellfed::RecordList(records));
}

// (kind, values): None, a uint8 array of numbers, or a list of bytes.
nb::tuple ToPython(Kind kind, wellfed::Column* column) {
  if (kind == Kind::kNone) return nb::make_tuple(0, nb::none());
  if (kind != Kind::kBytes)
    return nb::make_tuple(static_cast<int>(kind), wellfed::ToArray(std::move(column->values)));
  nb::list strings;
  for (size_t i = 0; i < column->starts.size(); ++i) {
    strings.append(nb::bytes(reinterpret_cast<const char*>(column->starts[i]), column->sizes[i]));
  }
  return nb::make_tuple(1, strings);
}

const uint8_t* DecodeFeature(std::span<const std::span<const uint8_t>> pieces, nb::object* feature) {
  wellfed::Column column;
  const uint8_t* fault;
  const Kind kind = wellfed::ReadAnyKind(pieces, &column, &fault);
  if (fault == nullptr) *feature = ToPython(kind, &column);
  return fault;
}

const uint8_t* DecodeSteps(std::span<const std::span<const uint8_t>> pieces, nb::list* steps) {
  for (const auto& piece : pieces) {
    wellfed::Cursor fields(piece);
    while (!fields.done()) {
      const uint8_t* at = fields.at();
      uint32_t tag;
      std::span<const uint8_t> bytes;
      if (!fields.ReadTag(&tag)) return at;
      if (tag != wellfed::kField1) {
        if (!fields.SkipValue(tag)) return at;
        continue;
      }
      nb::object feature;
      if (!fields.ReadBytes(&bytes)) return at;
      if (const uint8_t* fault = DecodeFeature({&bytes, 1}, &feature)) return fault;
      steps->append(feature);
    }
  }
  return nullptr;
}

// ({key: feature}, {key: [feature of each step]}, None), or (.., .., offset of the byte that cannot be read).
nb::tuple Decode(const Buffer& record) {
  nb::dict features, sequences;
  wellfed::Pieces values;
  const auto key_of = [](const MapEntry& entry) { return nb::str(entry.key.data(), entry.key.size()); };
  const uint8_t* fault = wellfed::WalkEntries(record.span(), 1, &values, [&](const MapEntry& entry) {
    nb::object feature;
    const uint8_t* unread = DecodeFeature(entry.values, &feature);
    if (unread == nullptr) features[key_of(entry)] = feature;
    return unread;
  });
  if (fault == nullptr) {
    fault = wellfed::WalkEntries(record.span(), 2, &values, [&](const MapEntry& entry) {
      nb::list steps;
      const uint8_t* unread = DecodeSteps(entry.values, &steps);
      sequences[key_of(entry)] = steps;
      return unread;
    });
  }
  if (fault == nullptr) return nb::make_tuple(features, sequences, nb::none());
  return nb::make_tuple(features, sequences, static_cast<uint64_t>(fault - record.span().data()));
}

}  // namespace

void BindExampleScan(nb::module_& m) {
  nb::class_<ExampleScanner>(m, "ExampleScanner",
                             "Counts what is in Examples and SequenceExamples. One thread at a time.")
      .def(nb::init<>())
      .def("add", &Add, "data"_a, "starts"_a.noconvert(), "sizes"_a.noconvert(), nb::lock_self(),
           "Adds record i, the `sizes[i]` bytes of `data` at `starts[i]`. Returns None, or (record, offset) "
           "of the\n"
           "first that is no Example.")
      .def("add_list", &AddList, "records"_a, nb::lock_self(), "The same for a list of bytes-like records.")
      .def_prop_ro("records", &ExampleScanner::records)
      .def_prop_ro(
          "features", [](const ExampleScanner& scanner) { return ToPython(scanner.features()); },
          "(key, present, records by kind, first record by kind, counts, steps, ints, floats, nonfinite, "
          "sizes,\n"
          "strings by look) each; ranges are (min, max) or None. Kinds: unset, bytes, float, int64. Looks: "
          "empty, text,\n"
          "jpeg, png, gif, webp, binary; the last entry counts records that have the key more than once.")
      .def_prop_ro(
          "sequences", [](const ExampleScanner& scanner) { return ToPython(scanner.sequences()); },
          "The same for the lists of SequenceExamples; kinds count steps.");
  m.def("decode_example", &Decode, "record"_a,
        "Decodes an Example or SequenceExample: ({key: feature}, {key: [feature of each step]}, None), or "
        "the offset\n"
        "of the byte that cannot be read in place of None. A feature is (kind, None, uint8 array of numbers, "
        "or list\n"
        "of bytes).");
}
