#include "example_scan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "example_walk.h"
#include "utf8.h"

namespace wellfed {
namespace {

bool StartsWith(std::span<const uint8_t> string, std::string_view prefix, size_t at = 0) {
  return string.size() >= at + prefix.size() &&
         std::memcmp(string.data() + at, prefix.data(), prefix.size()) == 0;
}

// Is one of the eight bytes below 32? A byte from 128 on counts as one that is not. (The subtraction borrows
// from the next byte only where it has found one already.)
bool HasControl(uint64_t eight) {
  return ((eight - 0x2020202020202020u) & ~eight & 0x8080808080808080u) != 0;
}

bool IsText(std::span<const uint8_t> string) {
  for (size_t at = 0; at < string.size();) {
    if (string.size() - at >= 8 && !HasControl(LoadLE64(&string[at]))) {
      at += 8;
      continue;
    }
    const size_t end = std::min(string.size(), at + 8);
    for (; at < end; ++at) {
      const uint8_t byte = string[at];
      if (byte < 32 && byte != '\t' && byte != '\n' && byte != '\r') return false;
    }
  }
  return IsUtf8(string);
}

template <typename T>
T ValueAt(const Column& column, size_t i) {
  T value;
  std::memcpy(&value, column.values.data() + i * sizeof(T), sizeof(T));
  return value;
}

void AddInts(const Column& column, FeatureFacts* facts) {
  for (size_t i = 0; i < column.values.size() / 8; ++i) facts->ints.Add(ValueAt<int64_t>(column, i));
}

void AddFloats(const Column& column, FeatureFacts* facts) {
  for (size_t i = 0; i < column.values.size() / 4; ++i) {
    const float value = ValueAt<float>(column, i);
    if (std::isfinite(value)) {
      facts->floats.Add(value);
    } else {
      ++facts->nonfinite;
    }
  }
}

void AddStrings(const Column& column, FeatureFacts* facts) {
  for (size_t i = 0; i < column.starts.size(); ++i) {
    facts->sizes.Add(column.sizes[i]);
    ++facts->looks[static_cast<size_t>(LookOf({column.starts[i], column.sizes[i]}))];
  }
}

}  // namespace

Look LookOf(std::span<const uint8_t> string) {
  if (string.empty()) return Look::kEmpty;
  if (StartsWith(string, "\xff\xd8\xff")) return Look::kJpeg;
  if (StartsWith(string, "\x89PNG\r\n\x1a\n")) return Look::kPng;
  if (StartsWith(string, "GIF87a") || StartsWith(string, "GIF89a")) return Look::kGif;
  if (StartsWith(string, "RIFF") && StartsWith(string, "WEBP", 8)) return Look::kWebp;
  return IsText(string) ? Look::kText : Look::kBinary;
}

// The number of `key`; the feature that came at this place in the last record is tried first.
size_t ExampleScanner::Table::Find(std::string_view key, size_t position) {
  if (position < order.size() && facts[order[position]].key == key) return order[position];
  const auto [found, is_new] = index.try_emplace(std::string(key), facts.size());
  if (is_new) {
    facts.emplace_back().key = key;
    pieces.emplace_back();
    times.push_back(0);
  }
  if (position >= order.size()) order.resize(position + 1, found->second);
  return order[position] = found->second;
}

// Notes the pieces of each feature, the last entry of a key counting. Returns the first byte that cannot be
// read.
const uint8_t* ExampleScanner::Collect(std::span<const uint8_t> record, uint32_t owner, Table* table) {
  size_t position = 0;
  return WalkEntries(record, owner, &scratch_, [&](const MapEntry& entry) -> const uint8_t* {
    const size_t number = table->Find(entry.key, position++);
    table->pieces[number].assign(entry.values.begin(), entry.values.end());
    if (table->times[number]++ == 0) table->met.push_back(number);
    return nullptr;
  });
}

const uint8_t* ExampleScanner::AddList(const Pieces& pieces, FeatureFacts* facts) {
  values_.values.Truncate(0);
  values_.starts.Truncate(0);
  values_.sizes.Truncate(0);
  const uint8_t* fault;
  const Kind kind = ReadAnyKind(pieces, &values_, &fault);
  if (fault != nullptr) return fault;
  if (facts->kinds[static_cast<size_t>(kind)]++ == 0) facts->first[static_cast<size_t>(kind)] = records_;
  const size_t bytes = values_.values.size();
  switch (kind) {
    case Kind::kInt64:
      facts->counts.Add(bytes / 8);
      AddInts(values_, facts);
      break;
    case Kind::kFloat:
      facts->counts.Add(bytes / 4);
      AddFloats(values_, facts);
      break;
    case Kind::kBytes:
      facts->counts.Add(values_.starts.size());
      AddStrings(values_, facts);
      break;
    case Kind::kNone:
      facts->counts.Add(0);
      break;
  }
  return nullptr;
}

const uint8_t* ExampleScanner::AddSteps(const Pieces& pieces, FeatureFacts* facts) {
  uint64_t steps = 0;
  for (const auto& piece : pieces) {
    Cursor fields(piece);
    while (!fields.done()) {
      const uint8_t* at = fields.at();
      uint32_t tag;
      std::span<const uint8_t> feature;
      if (!fields.ReadTag(&tag)) return at;
      if (tag != kField1) {
        if (!fields.SkipValue(tag)) return at;
        continue;
      }
      if (!fields.ReadBytes(&feature)) return at;
      if (const uint8_t* fault = AddList({feature}, facts)) return fault;
      ++steps;
    }
  }
  facts->steps.Add(steps);
  return nullptr;
}

bool ExampleScanner::Add(std::span<const uint8_t> record, uint64_t* offset) {
  const uint8_t* fault = Collect(record, 1, &features_);
  if (fault == nullptr) fault = Collect(record, 2, &sequences_);
  for (Table* table : {&features_, &sequences_}) {
    std::sort(table->met.begin(), table->met.end());
    for (const size_t f : table->met) {
      // What was noted and not looked at must not be met again: the record's memory may be gone.
      const uint64_t times = std::exchange(table->times[f], 0);
      if (fault != nullptr) continue;
      FeatureFacts* facts = &table->facts[f];
      ++facts->present;
      facts->repeated += times > 1;
      fault = table == &features_ ? AddList(table->pieces[f], facts) : AddSteps(table->pieces[f], facts);
    }
    table->met.clear();
  }
  ++records_;
  if (fault == nullptr) return true;
  *offset = static_cast<uint64_t>(fault - record.data());
  return false;
}

}  // namespace wellfed
