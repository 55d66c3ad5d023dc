// Parsing the lists of SequenceExamples against a slow reader, on any bytes. Where they differ, the process
// aborts.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "example_reference.h"
#include "example_script.h"
#include "require.h"
#include "sequence_parse.h"

namespace {

using wellfed::FeatureSpec;
using wellfed::GrowingArray;
using wellfed::Kind;
using wellfed::Layout;
using wellfed::ParseStatus;
using wellfed::SequenceColumn;
using wellfed::SequenceParser;
using wellfed::reference::Bytes;
using wellfed::reference::Malformed;

FeatureSpec Spec(std::string key, Kind kind, Layout layout, uint64_t count, bool may_be_absent = true) {
  return {std::move(key), kind, layout, count, may_be_absent, {}, {}};
}

const std::vector<SequenceParser>& Parsers() {
  static const std::vector<SequenceParser> parsers = [] {
    std::vector<SequenceParser> made;
    made.emplace_back(std::vector{Spec("i", Kind::kInt64, Layout::kVar, 1),
                                  Spec("s", Kind::kBytes, Layout::kVar, 1),
                                  Spec("f", Kind::kFloat, Layout::kVar, 1)});
    made.emplace_back(std::vector{Spec("i", Kind::kInt64, Layout::kFixed, 1),
                                  Spec("s", Kind::kBytes, Layout::kFixed, 2),
                                  Spec("raw", Kind::kBytes, Layout::kRaw, 4)});
    made.emplace_back(std::vector{Spec("f", Kind::kFloat, Layout::kFixed, 0),
                                  Spec("i", Kind::kInt64, Layout::kVar, 1, false)});
    return made;
  }();
  return parsers;
}

using Steps = std::vector<std::vector<Bytes>>;

ParseStatus ExpectStep(const FeatureSpec& spec, const Bytes& step, Steps* steps) {
  wellfed::reference::Feature feature =
      wellfed::reference::ReadFeature({step}, static_cast<uint32_t>(spec.kind));
  if (feature.kind != 0 && feature.kind != static_cast<uint32_t>(spec.kind)) return ParseStatus::kWrongKind;
  if (spec.layout != Layout::kVar) {
    if (feature.values.size() != (spec.layout == Layout::kRaw ? 1 : spec.count))
      return ParseStatus::kWrongLength;
    if (spec.layout == Layout::kRaw && feature.values[0].size() != spec.count) return ParseStatus::kWrongSize;
  }
  steps->push_back(feature.values);
  return ParseStatus::kOk;
}

// The steps of each list, up to the first that is wrong.
ParseStatus Expect(const SequenceParser& parser, const Bytes& record, std::vector<Steps>* lists) {
  try {
    const auto map = wellfed::reference::ReadMap(record, 2);
    for (const FeatureSpec& spec : parser.specs()) {
      lists->emplace_back();
      const auto found = map.find(spec.key);
      if (found == map.end() && !spec.has_default) return ParseStatus::kMissing;
      if (found == map.end()) continue;
      for (const Bytes& piece : found->second) {
        // One by one: what is malformed behind a step that is wrong is not reached.
        for (wellfed::reference::Reader reader(piece); !reader.done();) {
          const auto field = reader.Next();
          if (field.number != 1 || field.type != 2) continue;
          const ParseStatus status = ExpectStep(spec, field.bytes, &lists->back());
          if (status != ParseStatus::kOk) return status;
        }
      }
    }
    return ParseStatus::kOk;
  } catch (const Malformed&) {
    return ParseStatus::kMalformed;
  }
}

// All that the column holds, as one run of bytes.
Bytes All(const FeatureSpec& spec, const wellfed::Column& steps) {
  Bytes bytes;
  if (!spec.strings()) {
    if (steps.values.size() > 0) bytes.assign(steps.values.data(), steps.values.data() + steps.values.size());
    return bytes;
  }
  for (size_t i = 0; i < steps.starts.size(); ++i) {
    bytes.insert(bytes.end(), steps.starts[i], steps.starts[i] + steps.sizes[i]);
  }
  return bytes;
}

void Check(const SequenceParser& parser, const uint8_t* copy, const Bytes& record) {
  std::vector<SequenceColumn> columns(parser.specs().size());
  wellfed::SequenceError error;
  parser.Start(columns);
  std::vector<Steps> lists;
  const ParseStatus due = Expect(parser, record, &lists);
  REQUIRE(parser.Parse({copy, record.size()}, columns, &error) == due);
  if (due == ParseStatus::kMalformed) {
    REQUIRE(error.offset <= record.size());
    return;
  }
  if (due != ParseStatus::kOk) {
    REQUIRE(error.feature == static_cast<int>(lists.size()) - 1);
    REQUIRE(error.step == lists.back().size());
    return;
  }
  for (size_t f = 0; f < columns.size(); ++f) {
    const FeatureSpec& spec = parser.specs()[f];
    Bytes all;
    int64_t values = 0;
    REQUIRE(columns[f].step_splits[1] == static_cast<int64_t>(lists[f].size()));
    for (size_t step = 0; step < lists[f].size(); ++step) {
      for (const Bytes& value : lists[f][step]) all.insert(all.end(), value.begin(), value.end());
      values += static_cast<int64_t>(lists[f][step].size());
      if (spec.layout == Layout::kVar) REQUIRE(columns[f].steps.row_splits[step + 1] == values);
    }
    REQUIRE(All(spec, columns[f].steps) == all);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Bytes record(data + 1, data + size);
  if (data[0] % 2 == 1) {
    wellfed::fuzz::Script script({data + 1, size - 1});
    record = script.Message(true);
    while (!script.done() && record.size() < 4096) {
      const Bytes more = script.Message(true);
      record.insert(record.end(), more.begin(), more.end());
    }
  }
  const auto copy = std::make_unique<uint8_t[]>(record.size());
  std::copy(record.begin(), record.end(), copy.get());
  for (const SequenceParser& parser : Parsers()) Check(parser, copy.get(), record);
  return 0;
}
