// Finds the entries of the maps in an Example or SequenceExample, in every form that protobuf reads.
//
//   Example         { 1: Features }
//   SequenceExample { 1: Features context, 2: FeatureLists }
//   Features        { 1: map<string, Feature> }         FeatureLists { 1: map<string, FeatureList> }
//   a map entry     { 1: key, 2: value }
#ifndef WELLFED_EXAMPLE_WALK_H_
#define WELLFED_EXAMPLE_WALK_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "utf8.h"
#include "wire.h"

namespace wellfed {

inline constexpr uint8_t kField1 = MakeTag(1, WireType::kLength);
inline constexpr uint8_t kField2 = MakeTag(2, WireType::kLength);

// One entry. The message in `values` is the pieces put end to end; no piece: it is empty. A key that comes
// again replaces what came before. Valid during the visit.
struct MapEntry {
  std::string_view key;
  std::span<const std::span<const uint8_t>> values;
};

using Pieces = std::vector<std::span<const uint8_t>>;

// Reads one entry. Returns the first byte that cannot be read, or nullptr.
inline const uint8_t* ReadEntry(std::span<const uint8_t> bytes, Pieces* values, std::string_view* key) {
  Cursor fields(bytes);
  std::span<const uint8_t> inside;
  *key = {};
  values->clear();
  while (!fields.done()) {
    const uint8_t* at = fields.at();
    uint32_t tag;
    if (!fields.ReadTag(&tag)) return at;
    if (tag == kField1) {
      if (!fields.ReadBytes(&inside) || !IsUtf8(inside)) return at;  // A proto3 string is UTF-8.
      *key = {reinterpret_cast<const char*>(inside.data()), inside.size()};
    } else if (tag == kField2) {
      if (!fields.ReadBytes(&inside)) return at;
      values->push_back(inside);
    } else if (!fields.SkipValue(tag)) {
      return at;
    }
  }
  return nullptr;
}

// Calls `visit(const MapEntry&)` for each entry of the map message in field `owner` of `record`, in order;
// `visit` returns nullptr, or a byte that cannot be read, which ends the walk. Returns the first byte that
// cannot be read, or nullptr. `values` is scratch. Thread-safe.
template <typename Visit>
const uint8_t* WalkEntries(std::span<const uint8_t> record, uint32_t owner, Pieces* values, Visit visit) {
  Cursor fields(record);
  while (!fields.done()) {
    const uint8_t* at = fields.at();
    uint32_t tag;
    std::span<const uint8_t> bytes;
    if (!fields.ReadTag(&tag)) return at;
    if (tag != MakeTag(owner, WireType::kLength)) {
      if (!fields.SkipValue(tag)) return at;
      continue;
    }
    if (!fields.ReadBytes(&bytes)) return at;
    Cursor map(bytes);
    while (!map.done()) {
      at = map.at();
      if (!map.ReadTag(&tag)) return at;
      if (tag != kField1) {
        if (!map.SkipValue(tag)) return at;
        continue;
      }
      MapEntry entry;
      if (!map.ReadBytes(&bytes)) return at;
      const uint8_t* fault = ReadEntry(bytes, values, &entry.key);
      entry.values = *values;
      if (fault == nullptr) fault = visit(entry);
      if (fault != nullptr) return fault;
    }
  }
  return nullptr;
}

}  // namespace wellfed

#endif  // WELLFED_EXAMPLE_WALK_H_
