// Parsing and scanning Examples against a slow reader, on any bytes. Where they differ, the process aborts.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "example_parse.h"
#include "example_reference.h"
#include "example_scan.h"
#include "example_script.h"
#include "require.h"

namespace {

using wellfed::Column;
using wellfed::ExampleParser;
using wellfed::FeatureSpec;
using wellfed::Kind;
using wellfed::Layout;
using wellfed::ParseStatus;
using wellfed::reference::Bytes;
using wellfed::reference::Malformed;

FeatureSpec Spec(std::string key, Kind kind, Layout layout, uint64_t count) {
  return {std::move(key), kind, layout, count, false, {}, {}};
}

FeatureSpec WithDefault(FeatureSpec spec) {
  spec.has_default = true;
  if (spec.strings()) {
    spec.default_bytes.assign(spec.count, "default");
  } else {
    spec.default_dense.assign(spec.row_size(), 7);
  }
  return spec;
}

// One set of specs for each use of a parser.
const std::vector<ExampleParser>& Parsers() {
  static const std::vector<ExampleParser> parsers = [] {
    std::vector<ExampleParser> made;
    made.emplace_back(std::vector{
        WithDefault(Spec("i", Kind::kInt64, Layout::kFixed, 1)), Spec("many", Kind::kInt64, Layout::kVar, 1),
        Spec("words", Kind::kBytes, Layout::kVar, 1), Spec("reals", Kind::kFloat, Layout::kVar, 1)});
    made.emplace_back(std::vector{WithDefault(Spec("i", Kind::kInt64, Layout::kFixed, 2)),
                                  WithDefault(Spec("f", Kind::kFloat, Layout::kFixed, 3)),
                                  WithDefault(Spec("s", Kind::kBytes, Layout::kFixed, 2)),
                                  WithDefault(Spec("raw", Kind::kBytes, Layout::kRaw, 4))});
    made.emplace_back(std::vector{Spec("i", Kind::kInt64, Layout::kFixed, 1)});
    made.emplace_back(std::vector{Spec("\xc3\xa9", Kind::kFloat, Layout::kVar, 1),
                                  Spec("", Kind::kInt64, Layout::kVar, 1)});
    return made;
  }();
  return parsers;
}

// What a row of one feature must hold, as values' bytes.
struct Due {
  ParseStatus status = ParseStatus::kOk;
  std::vector<Bytes> values;
};

Due Expect(const FeatureSpec& spec, const wellfed::reference::Map& map) {
  const auto found = map.find(spec.key);
  wellfed::reference::Feature feature;
  if (found != map.end())
    feature = wellfed::reference::ReadFeature(found->second, static_cast<uint32_t>(spec.kind));
  if (feature.kind == 0) {
    if (spec.layout == Layout::kVar) return {};
    if (!spec.has_default) return {ParseStatus::kMissing, {}};
    Due due;
    for (const std::string& string : spec.default_bytes)
      due.values.emplace_back(string.begin(), string.end());
    const auto size =
        static_cast<std::ptrdiff_t>(spec.layout == Layout::kRaw ? spec.count : spec.value_size());
    for (auto at = spec.default_dense.begin(); at != spec.default_dense.end(); at += size) {
      due.values.emplace_back(at, at + size);
    }
    return due;
  }
  if (feature.kind != static_cast<uint32_t>(spec.kind)) return {ParseStatus::kWrongKind, {}};
  if (spec.layout == Layout::kVar) return {ParseStatus::kOk, feature.values};
  if (feature.values.size() != (spec.layout == Layout::kRaw ? 1 : spec.count))
    return {ParseStatus::kWrongLength, {}};
  if (spec.layout == Layout::kRaw && feature.values[0].size() != spec.count)
    return {ParseStatus::kWrongSize, {}};
  return {ParseStatus::kOk, feature.values};
}

// The whole row: kMalformed, or the first feature that is wrong, or all values.
Due ExpectRow(const ExampleParser& parser, const Bytes& record, std::vector<Due>* features) {
  try {
    const auto map = wellfed::reference::ReadMap(record, 1);
    Due first;
    for (const FeatureSpec& spec : parser.specs()) {
      features->push_back(Expect(spec, map));
      if (features->back().status != ParseStatus::kOk) return {features->back().status, {}};
    }
    return {};
  } catch (const Malformed&) {
    return {ParseStatus::kMalformed, {}};
  }
}

void Append(Bytes* all, const Bytes& part) { all->insert(all->end(), part.begin(), part.end()); }

// What the column holds in `row`, as one run of bytes.
Bytes Row(const FeatureSpec& spec, const Column& column, uint64_t row) {
  Bytes bytes;
  if (spec.dense()) {
    bytes.assign(column.dense + row * spec.row_size(), column.dense + (row + 1) * spec.row_size());
    return bytes;
  }
  const bool var = spec.layout == Layout::kVar;
  const uint64_t begin = var ? static_cast<uint64_t>(column.row_splits[row]) : row * spec.count;
  const uint64_t end = var ? static_cast<uint64_t>(column.row_splits[row + 1]) : begin + spec.count;
  if (spec.strings()) {
    for (uint64_t i = begin; i < end; ++i)
      Append(&bytes, Bytes(column.starts[i], column.starts[i] + column.sizes[i]));
  } else if (begin < end) {
    const uint8_t* values = column.values.data();
    bytes.assign(values + begin * spec.value_size(), values + end * spec.value_size());
  }
  return bytes;
}

// Each record is parsed twice, so that the second time its order of keys is known; a record that fails leaves
// the row to the next.
void CheckParser(const ExampleParser& parser, const std::vector<std::unique_ptr<uint8_t[]>>& copies,
                 const std::vector<Bytes>& records) {
  const auto& specs = parser.specs();
  std::vector<Column> columns(specs.size());
  std::vector<Bytes> dense;
  for (size_t f = 0; f < specs.size(); ++f) {
    columns[f].dense = dense.emplace_back(2 * records.size() * specs[f].row_size() + 1).data();
  }
  parser.Start(2 * records.size(), columns);
  ExampleParser::Scratch scratch;
  wellfed::ParseError error;
  uint64_t row = 0;
  for (size_t i = 0; i < 2 * records.size(); ++i) {
    const Bytes& record = records[i % records.size()];
    std::vector<Due> features;
    const Due due = ExpectRow(parser, record, &features);
    const auto status = parser.Parse({copies[i % records.size()].get(), record.size()}, row, &scratch,
                                     columns.data(), &error);
    REQUIRE(status == due.status);
    if (status == ParseStatus::kMalformed) REQUIRE(error.offset <= record.size());
    if (status != ParseStatus::kOk && status != ParseStatus::kMalformed) {
      REQUIRE(error.feature == static_cast<int>(features.size()) - 1);
    }
    if (status != ParseStatus::kOk) continue;
    for (size_t f = 0; f < specs.size(); ++f) {
      Bytes all;
      for (const Bytes& value : features[f].values) Append(&all, value);
      REQUIRE(Row(specs[f], columns[f], row) == all);
    }
    ++row;
  }
}

// The scanner reads all features of all kinds; it refuses what the reference refuses.
void CheckScanner(const uint8_t* copy, const Bytes& record) {
  bool readable = true;
  std::vector<std::pair<std::string, wellfed::reference::Feature>> due;
  try {
    for (const auto& [key, pieces] : wellfed::reference::ReadMap(record, 1)) {
      due.emplace_back(key, wellfed::reference::ReadFeature(pieces, 0));
    }
    for (const auto& [key, pieces] : wellfed::reference::ReadMap(record, 2)) {
      for (const Bytes& list : pieces) {
        for (const auto& step : wellfed::reference::Fields(list)) {
          if (step.number == 1 && step.type == 2) wellfed::reference::ReadFeature({step.bytes}, 0);
        }
      }
    }
  } catch (const Malformed&) {
    readable = false;
  }
  wellfed::ExampleScanner scanner;
  uint64_t offset = 0;
  REQUIRE(scanner.Add({copy, record.size()}, &offset) == readable);
  REQUIRE(offset <= record.size());
  if (!readable) return;
  REQUIRE(scanner.features().size() == due.size());
  for (const auto& [key, feature] : due) {
    const auto facts = std::find_if(scanner.features().begin(), scanner.features().end(),
                                    [&](const auto& one) { return one.key == key; });
    REQUIRE(facts != scanner.features().end());
    REQUIRE(facts->kinds[feature.kind] == 1);
    REQUIRE(facts->counts.max == feature.values.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<Bytes> records;
  if (data[0] % 2 == 0) {
    records.emplace_back(data + 1, data + size);
  } else {
    wellfed::fuzz::Script script({data + 1, size - 1});
    do records.push_back(script.Record());
    while (!script.done() && records.size() < 4);
  }
  // Each in memory that ends where it ends, so that a sanitizer sees a read beyond.
  std::vector<std::unique_ptr<uint8_t[]>> copies;
  for (const Bytes& record : records) {
    copies.push_back(std::make_unique<uint8_t[]>(record.size()));
    std::copy(record.begin(), record.end(), copies.back().get());
  }
  for (const ExampleParser& parser : Parsers()) CheckParser(parser, copies, records);
  for (size_t i = 0; i < records.size(); ++i) CheckScanner(copies[i].get(), records[i]);
  return 0;
}
