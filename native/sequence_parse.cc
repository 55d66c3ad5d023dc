#include "sequence_parse.h"

#include <utility>

#include "example_walk.h"

namespace wellfed {
namespace {

void FinishStep(const FeatureSpec& spec, SequenceColumn* column) {
  ++column->step_count;
  if (spec.layout != Layout::kVar) return;
  const Column& steps = column->steps;
  const size_t count = spec.strings() ? steps.starts.size() : steps.values.size() / spec.value_size();
  column->steps.row_splits.Push(static_cast<int64_t>(count));
}

}  // namespace

SequenceParser::SequenceParser(std::vector<FeatureSpec> specs)
    : specs_(std::move(specs)), keys_(KeysOf(specs_)) {}

void SequenceParser::Start(std::span<SequenceColumn> columns) const {
  for (SequenceColumn& column : columns) {
    column = {};
    column.step_splits.Push(0);
    column.steps.row_splits.Push(0);
  }
}

// Reads a FeatureList's steps. kMalformed sets `fault`.
ParseStatus SequenceParser::ReadSteps(std::span<const uint8_t> list, const FeatureSpec& spec,
                                      SequenceColumn* column, SequenceError* error,
                                      const uint8_t** fault) const {
  Cursor fields(list);
  while (!fields.done()) {
    *fault = fields.at();
    uint32_t tag;
    std::span<const uint8_t> value;
    if (!fields.ReadTag(&tag)) return ParseStatus::kMalformed;
    if (tag != kField1) {
      if (!fields.SkipValue(tag)) return ParseStatus::kMalformed;
      continue;
    }
    if (!fields.ReadBytes(&value)) return ParseStatus::kMalformed;
    FeatureReader reader(spec, &column->steps, nullptr);
    if (!reader.Read(value)) {
      *fault = reader.fault();
      return ParseStatus::kMalformed;
    }
    // An unset kind is a step without values, as in TensorFlow.
    const Kind found = reader.found() == Kind::kNone ? spec.kind : reader.found();
    const ParseStatus status = Judge(spec, found, reader, error);
    if (status != ParseStatus::kOk) return status;
    FinishStep(spec, column);
    ++error->step;
  }
  return ParseStatus::kOk;
}

ParseStatus SequenceParser::Parse(std::span<const uint8_t> record, std::span<SequenceColumn> columns,
                                  SequenceError* error) const {
  *error = {};
  Pieces values;
  std::vector<Pieces> lists(specs_.size());
  std::vector<bool> present(specs_.size());
  const uint8_t* fault = WalkEntries(record, 2, &values, [&](const MapEntry& entry) -> const uint8_t* {
    const int32_t f = keys_.Find(entry.key);
    if (f < 0) return nullptr;
    lists[static_cast<size_t>(f)].assign(entry.values.begin(), entry.values.end());
    present[static_cast<size_t>(f)] = true;
    return nullptr;
  });
  ParseStatus status = fault == nullptr ? ParseStatus::kOk : ParseStatus::kMalformed;
  for (size_t f = 0; f < specs_.size() && status == ParseStatus::kOk; ++f) {
    error->feature = static_cast<int>(f);
    error->step = 0;
    if (!present[f] && !specs_[f].has_default) status = ParseStatus::kMissing;
    for (size_t i = 0; i < lists[f].size() && status == ParseStatus::kOk; ++i) {
      status = ReadSteps(lists[f][i], specs_[f], &columns[f], error, &fault);
    }
    columns[f].step_splits.Push(static_cast<int64_t>(columns[f].step_count));
  }
  error->status = status;
  if (status == ParseStatus::kMalformed) {
    error->feature = -1;
    error->offset = static_cast<uint64_t>(fault - record.data());
  }
  return status;
}

}  // namespace wellfed
