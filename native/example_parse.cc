#include "example_parse.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "example_walk.h"

namespace wellfed {
namespace {

// Orders of more map entries than this are not remembered; longer records are still read, by look-up.
constexpr size_t kMaxGuesses = 4096;

template <class T>
T LoadAs(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

// Does what lies at `p`, `left` bytes, begin with the `size` bytes at `prefix`? Keys are short: two
// overlapping loads decide without a call.
inline bool StartsWith(const uint8_t* p, size_t left, const uint8_t* prefix, size_t size) {
  if (size > left) return false;
  if (size >= 4 && size <= 8) {
    const size_t last = size - 4;
    return LoadAs<uint32_t>(p) == LoadAs<uint32_t>(prefix) &&
           LoadAs<uint32_t>(p + last) == LoadAs<uint32_t>(prefix + last);
  }
  if (size >= 8 && size <= 16) {
    const size_t last = size - 8;
    return LoadAs<uint64_t>(p) == LoadAs<uint64_t>(prefix) &&
           LoadAs<uint64_t>(p + last) == LoadAs<uint64_t>(prefix + last);
  }
  return std::memcmp(p, prefix, size) == 0;
}

// A Feature that holds one packed int64 of up to 8 bytes: 1a L 0a L varint. REQUIRES: 8 readable bytes before
// `p`.
inline bool ReadOneInt(const uint8_t* p, const uint8_t* end, uint8_t* out) {
  const size_t size = static_cast<size_t>(end - p);
  if (size < 5 || size > 12) return false;
  if (p[0] != MakeTag(3, WireType::kLength) || p[1] != size - 2 || p[2] != kField1 || p[3] != size - 4)
    return false;
  const size_t bytes = size - 4;
  // The 8 bytes that end where the varint ends; those before it are shifted out.
  uint64_t x = LoadLE64(end - 8) >> (64 - 8 * bytes);
  // All bytes but the last must say that another follows.
  if ((x & 0x8080808080808080u) != (0x0080808080808080u & ((uint64_t{1} << 8 * (bytes - 1)) - 1)))
    return false;
  x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
  x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
  x = (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
  std::memcpy(out, &x, 8);
  return true;
}

// A list of one packed chunk, or of one byte string, that a dense row is copied from. REQUIRES: as ReadUsual.
inline bool ReadChunk(const FeatureSpec& spec, Cursor list, uint8_t* dense, bool streams) {
  uint64_t size;
  if (list.done() || *list.at() != kField1) return false;
  list.Advance(1);
  if (!list.ReadVarint(&size) || size != list.left()) return false;
  return ReadExactly(spec, {list.at(), list.left()}, dense, streams);
}

// A Feature that is one list of the spec's kind and count, and nothing else. REQUIRES: 8 readable bytes
// before it.
inline bool ReadUsual(const FeatureSpec& spec, std::span<const uint8_t> value, uint64_t row, Column* column) {
  const uint8_t *p = value.data(), *end = p + value.size();
  uint8_t* dense = spec.dense() ? column->dense + row * spec.row_size() : nullptr;
  if (spec.kind == Kind::kInt64 && dense != nullptr && spec.count == 1 && ReadOneInt(p, end, dense))
    return true;
  if (*p != KindTag(spec.kind)) return false;
  Cursor list(p + 1, end);
  uint64_t size;
  if (!list.ReadVarint(&size) || size != list.left()) return false;
  if (dense != nullptr && ReadChunk(spec, list, dense, column->streams)) return true;
  FeatureReader reader(spec, column, dense);
  if (!reader.ReadList(list)) return false;
  switch (spec.layout) {
    case Layout::kFixed:
      return reader.count() == spec.count;
    case Layout::kRaw:
      return reader.count() == 1 && reader.string_size() == spec.count;
    case Layout::kVar:
      return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> KeysOf(const std::vector<FeatureSpec>& specs) {
  std::vector<std::string> keys;
  for (const FeatureSpec& spec : specs) keys.push_back(spec.key);
  return keys;
}

ParseStatus Judge(const FeatureSpec& spec, Kind found, const FeatureReader& reader, ParseError* error) {
  error->found = found;
  error->length = reader.count();
  if (found != spec.kind) return ParseStatus::kWrongKind;
  if (spec.layout == Layout::kVar) return ParseStatus::kOk;
  if (reader.count() != (spec.layout == Layout::kRaw ? 1 : spec.count)) return ParseStatus::kWrongLength;
  if (spec.layout == Layout::kRaw && reader.string_size() != spec.count) {
    error->length = reader.string_size();
    return ParseStatus::kWrongSize;
  }
  return ParseStatus::kOk;
}

ExampleParser::ExampleParser(std::vector<FeatureSpec> specs)
    : specs_(std::move(specs)), keys_(KeysOf(specs_)), repeated_(std::make_unique<std::atomic<uint64_t>>(0)) {
  for (size_t f = 0; f < specs_.size(); ++f) {
    if (!specs_[f].dense()) growing_.push_back(f);
  }
}

void ExampleParser::Start(uint64_t rows, std::span<Column> columns) const {
  for (const size_t f : growing_) {
    Column& column = columns[f];
    column.values.Truncate(0);
    column.row_splits.Truncate(0);
    column.starts.Truncate(0);
    column.sizes.Truncate(0);
    if (specs_[f].layout == Layout::kVar) {
      column.row_splits.Reserve(rows + 1);
      column.row_splits.Push(0);
    } else {
      column.starts.Reserve(rows * specs_[f].count);
      column.sizes.Reserve(rows * specs_[f].count);
    }
  }
}

ParseStatus ExampleParser::Parse(std::span<const uint8_t> record, uint64_t row, Scratch* scratch,
                                 Column* columns, ParseError* error) const {
  if (scratch->seen.size() != specs_.size()) scratch->seen.resize(specs_.size());
  ++scratch->stamp;
  if (ParseUsual(record, row, scratch, columns)) [[likely]] {
    FinishRow(columns);
    return ParseStatus::kOk;
  }
  Rewind(row, columns);
  const ParseStatus status = ParseAny(record, row, scratch, columns, error);
  if (status == ParseStatus::kOk) {
    FinishRow(columns);
  } else {
    Rewind(row, columns);
    error->status = status;
  }
  return status;
}

// What writers make: one Features message, entries of a key and then a value, each key once, each value one
// list. Any record that is otherwise, or wrong, gives false and is left to ParseAny.
bool ExampleParser::ParseUsual(std::span<const uint8_t> record, uint64_t row, Scratch* scratch,
                               Column* columns) const {
  if (record.empty() || record[0] != kField1) return false;
  Cursor features(record.subspan(1));
  uint64_t size;
  if (!features.ReadVarint(&size) || size != features.left()) return false;
  size_t met = 0;
  for (size_t position = 0; !features.done(); ++position) {
    // Invariant: `features` is at the start of a map entry, inside `record`.
    std::span<const uint8_t> entry;
    if (*features.at() != kField1) return false;
    features.Advance(1);
    if (!features.ReadBytes(&entry)) return false;
    const uint8_t *p = entry.data(), *end = p + entry.size();
    int32_t f;
    if (position < scratch->order.size() && StartsWith(p, entry.size(), scratch->order[position].prefix,
                                                       scratch->order[position].size)) [[likely]] {
      f = scratch->order[position].feature;
      p += scratch->order[position].size;
    } else if (!LearnKey(&p, end, position, scratch, &f)) {
      return false;
    }
    Cursor value(p, end);
    if (!value.ReadVarint(&size) || size != value.left()) return false;
    if (f < 0) continue;
    const size_t feature = static_cast<size_t>(f);
    if (scratch->seen[feature] == scratch->stamp) return false;  // A key for the second time.
    if (size == 0) continue;                                     // The kind is unset: as if absent.
    if (!ReadUsual(specs_[feature], {value.at(), value.left()}, row, &columns[feature])) return false;
    scratch->seen[feature] = scratch->stamp;
    ++met;
  }
  for (size_t f = 0; met < specs_.size(); ++f) {
    if (scratch->seen[f] == scratch->stamp) continue;
    if (!FillDefault(f, row, &columns[f])) return false;
    ++met;
  }
  return true;
}

// Reads `0a key 12` at *p and remembers it as entry `position`. Returns false where there is something else.
bool ExampleParser::LearnKey(const uint8_t** p, const uint8_t* end, size_t position, Scratch* scratch,
                             int32_t* feature) const {
  const uint8_t* start = *p;
  Cursor entry(start, end);
  std::span<const uint8_t> key;
  if (entry.done() || *start != kField1) return false;
  entry.Advance(1);
  if (!entry.ReadBytes(&key) || entry.done() || *entry.at() != kField2) return false;
  entry.Advance(1);
  *feature = keys_.Find({reinterpret_cast<const char*>(key.data()), key.size()});
  if (*feature < 0 && !IsUtf8(key)) return false;
  *p = entry.at();
  if (position >= kMaxGuesses) return true;
  if (position >= scratch->order.size()) scratch->order.resize(position + 1, Scratch::Guess{});
  Scratch::Guess& guess = scratch->order[position];
  guess.feature = *feature;
  if (*feature >= 0) {
    const std::string_view prefix = keys_.prefix(static_cast<size_t>(*feature));
    guess.prefix = reinterpret_cast<const uint8_t*>(prefix.data());
    guess.size = prefix.size();
  } else {
    if (scratch->unknown.size() <= position) scratch->unknown.resize(position + 1);
    scratch->unknown[position].assign(reinterpret_cast<const char*>(start), static_cast<size_t>(*p - start));
    guess.prefix = reinterpret_cast<const uint8_t*>(scratch->unknown[position].data());
    guess.size = scratch->unknown[position].size();
  }
  return true;
}

bool ExampleParser::FillDefault(size_t f, uint64_t row, Column* column) const {
  const FeatureSpec& spec = specs_[f];
  if (spec.layout != Layout::kVar && !spec.has_default) return false;
  if (column->present != nullptr) column->present[row] = 0;
  if (spec.layout == Layout::kVar) return true;
  if (spec.strings()) {
    for (const std::string& string : spec.default_bytes) {
      column->starts.Push(reinterpret_cast<const uint8_t*>(string.data()));
      column->sizes.Push(string.size());
    }
  } else if (spec.row_size() > 0) {
    std::memcpy(column->dense + row * spec.row_size(), spec.default_dense.data(), spec.row_size());
  }
  return true;
}

void ExampleParser::FinishRow(Column* columns) const {
  for (const size_t f : growing_) {
    if (specs_[f].layout != Layout::kVar) continue;
    Column& column = columns[f];
    const size_t count =
        specs_[f].strings() ? column.starts.size() : column.values.size() / specs_[f].value_size();
    column.row_splits.Push(static_cast<int64_t>(count));
  }
}

// Takes back what was done for `row`.
void ExampleParser::Rewind(uint64_t row, Column* columns) const {
  for (size_t f = 0; f < specs_.size(); ++f) {
    if (columns[f].present != nullptr) columns[f].present[row] = 1;
  }
  for (const size_t f : growing_) {
    const FeatureSpec& spec = specs_[f];
    Column& column = columns[f];
    const size_t count =
        spec.layout == Layout::kVar ? static_cast<size_t>(column.row_splits[row]) : row * spec.count;
    column.values.Truncate(count * (spec.strings() ? 0 : spec.value_size()));
    column.starts.Truncate(spec.strings() ? count : 0);
    column.sizes.Truncate(spec.strings() ? count : 0);
  }
}

// Notes where the value of each spec's feature lies, the last entry of a key counting. Returns the first byte
// that cannot be read, or nullptr.
const uint8_t* ExampleParser::CollectPieces(std::span<const uint8_t> record, Scratch* scratch,
                                            bool* repeated) const {
  scratch->pieces.clear();
  scratch->ranges.assign(specs_.size(), {});
  std::fill(scratch->seen.begin(), scratch->seen.end(), 0);
  *repeated = false;
  return WalkEntries(record, 1, &scratch->values, [&](const MapEntry& entry) -> const uint8_t* {
    const int32_t f = keys_.Find(entry.key);
    if (f < 0) return nullptr;
    *repeated |= std::exchange(scratch->seen[static_cast<size_t>(f)], scratch->stamp) != 0;
    const size_t begin = scratch->pieces.size();
    scratch->pieces.insert(scratch->pieces.end(), entry.values.begin(), entry.values.end());
    scratch->ranges[static_cast<size_t>(f)] = {begin, scratch->pieces.size()};
    return nullptr;
  });
}

// Every form that protobuf reads, and the exact error for what it does not: of the features that are wrong,
// the first of the specs is named.
ParseStatus ExampleParser::ParseAny(std::span<const uint8_t> record, uint64_t row, Scratch* scratch,
                                    Column* columns, ParseError* error) const {
  *error = {};
  bool repeated = false;
  const uint8_t* fault = CollectPieces(record, scratch, &repeated);
  for (size_t f = 0; f < specs_.size() && fault == nullptr; ++f) {
    uint8_t* dense = specs_[f].dense() ? columns[f].dense + row * specs_[f].row_size() : nullptr;
    FeatureReader reader(specs_[f], &columns[f], dense);
    for (size_t i = scratch->ranges[f].begin; i < scratch->ranges[f].end && fault == nullptr; ++i) {
      if (!reader.Read(scratch->pieces[i])) fault = reader.fault();
    }
    if (fault != nullptr) break;
    ParseStatus status = ParseStatus::kOk;
    if (reader.found() != Kind::kNone) {
      status = Judge(specs_[f], reader.found(), reader, error);
    } else if (!FillDefault(f, row, &columns[f])) {
      status = ParseStatus::kMissing;
    }
    if (status != ParseStatus::kOk) {
      error->feature = static_cast<int>(f);
      return status;
    }
  }
  if (fault == nullptr) {
    if (repeated) repeated_->fetch_add(1, std::memory_order_relaxed);
    return ParseStatus::kOk;
  }
  *error = {};
  error->offset = static_cast<uint64_t>(fault - record.data());
  return ParseStatus::kMalformed;
}

}  // namespace wellfed
