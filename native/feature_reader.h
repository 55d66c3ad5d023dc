// One feature's values: from a serialized tf.train.Feature to a column.
//
//   Feature { oneof: 1: BytesList  2: FloatList  3: Int64List }     a list { 1: repeated values, packed or
//   not }
#ifndef WELLFED_FEATURE_READER_H_
#define WELLFED_FEATURE_READER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "growing_array.h"
#include "wire.h"

namespace wellfed {

enum class Kind : int {
  kNone = 0,
  kBytes = 1,
  kFloat = 2,
  kInt64 = 3
};  // The field numbers of Feature's oneof.

// The tag of the list of that kind in a Feature.
constexpr uint8_t KindTag(Kind kind) {
  return static_cast<uint8_t>(MakeTag(static_cast<uint32_t>(kind), WireType::kLength));
}

enum class Layout : int {
  kFixed = 0,  // Exactly `count` values a row: dense int64 or float32, or `count` byte strings.
  kVar = 1,    // Any number of values a row: values and row splits.
  kRaw = 2,    // One byte string of exactly `count` bytes a row, copied into a dense column.
};

struct FeatureSpec {
  std::string key;
  Kind kind = Kind::kNone;
  Layout layout = Layout::kFixed;
  uint64_t count = 1;
  bool has_default = false;
  // `count` values: int64 or float32 as their bytes; for kRaw the bytes themselves; for byte strings
  // `default_bytes`.
  std::vector<uint8_t> default_dense;
  std::vector<std::string> default_bytes;

  // Byte strings are told by where they lie; numbers and kRaw are copied.
  bool strings() const { return kind == Kind::kBytes && layout != Layout::kRaw; }
  bool dense() const { return layout != Layout::kVar && !strings(); }
  uint64_t value_size() const { return kind == Kind::kInt64 ? 8 : kind == Kind::kFloat ? 4 : 1; }
  uint64_t row_size() const { return count * value_size(); }  // Of a dense column. [bytes]
};

// One column of one call.
//   dense (kFixed int64 and float32, kRaw): `dense` points at rows * row_size() bytes that the caller owns.
//   kVar int64 and float32: `values` grows by value_size() bytes a value, `row_splits` holds rows + 1 counts
//   of values. byte strings (kFixed, kVar): `starts` and `sizes` hold a string each: a pointer into the
//   record, or into the parser's defaults; kVar has `row_splits` too.
struct Column {
  uint8_t* dense = nullptr;
  uint8_t* present =
      nullptr;  // Optional: `rows` ones of the caller's; 0 is written where the key or its kind is absent.
  bool streams = false;  // Rows of `dense` are stored past the caches: see stream_copy.h.
  GrowingArray<uint8_t> values;
  GrowingArray<int64_t> row_splits;
  GrowingArray<const uint8_t*> starts;
  GrowingArray<uint64_t> sizes;
};

// Reads one feature of one row. Several serialized Features given one after another are merged as protobuf
// merges them: a list of the same kind goes on, a list of another kind replaces it.
class FeatureReader {
 public:
  // `dense` is where this row's values go; nullptr: they are appended to the growing arrays of `column`.
  FeatureReader(const FeatureSpec& spec, Column* column, uint8_t* dense)
      : spec_(spec),
        column_(column),
        dense_(dense),
        first_value_(column->values.size()),
        first_string_(column->starts.size()) {}

  // Returns false where the bytes are no Feature; `fault` is then the first byte that could not be read.
  // Lists of another kind than the spec's are passed unread.
  bool Read(std::span<const uint8_t> feature);

  // The same for the inside of a list message of the spec's own kind.
  bool ReadList(Cursor list);

  const uint8_t* fault() const { return fault_; }
  Kind found() const { return found_; }  // kNone: the kind is unset.
  uint64_t count() const { return count_; }
  uint64_t string_size() const { return string_size_; }  // Of the last string. [bytes]

 private:
  bool Fail(const Cursor& at) {
    fault_ = at.at();
    return false;
  }
  void Restart();
  bool ReadStrings(Cursor list);
  bool ReadFloats(Cursor list);
  bool ReadInts(Cursor list);
  bool PackedFloats(std::span<const uint8_t> chunk);
  bool PackedInts(std::span<const uint8_t> chunk);
  void PutString(std::span<const uint8_t> string);
  uint8_t* Place(uint64_t count, uint64_t value_size);

  const FeatureSpec& spec_;
  Column* column_;
  uint8_t* dense_;
  size_t first_value_, first_string_;
  Kind found_ = Kind::kNone;
  uint64_t count_ = 0;
  uint64_t string_size_ = 0;
  const uint8_t* fault_ = nullptr;
};

// Reads a row of a dense column from the one packed chunk, or the one byte string, of its list. `streams`:
// see Column. Returns false where the chunk is not just what the spec wants; `dense` is then undefined.
// REQUIRES: spec.dense(); the 8 bytes before the chunk can be read.
bool ReadExactly(const FeatureSpec& spec, std::span<const uint8_t> chunk, uint8_t* dense, bool streams);

// Reads a Feature of any kind, given in `pieces`, to the growing arrays of `column`: numbers to `values`,
// strings to `starts` and `sizes`. Returns its kind (kNone: unset); `fault` is the first byte that cannot be
// read, or nullptr.
Kind ReadAnyKind(std::span<const std::span<const uint8_t>> pieces, Column* column, const uint8_t** fault);

}  // namespace wellfed

#endif  // WELLFED_FEATURE_READER_H_
