// tf.train.Example records to columns.
//
// A parser is made once from a list of feature specs and then shared by threads. A call gives it a sink: pointers
// into dense columns that the caller owns, and growing columns for values of any number.
#ifndef WELLFED_EXAMPLE_PARSE_H_
#define WELLFED_EXAMPLE_PARSE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wellfed {

enum class Kind : int { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };  // The field numbers of Feature's oneof.

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
  // `count` values: int64 or float32 as their bytes; for kRaw the bytes themselves; for byte strings `default_bytes`.
  std::vector<uint8_t> default_dense;
  std::vector<std::string> default_bytes;
};

// One column of one call.
//   kFixed int64/float32, kRaw: `dense` points at rows * count values that the caller owns; nothing else is used.
//   kVar int64/float32: `values` grows (8 or 4 bytes a value), `row_splits` holds rows + 1 counts of values.
//   byte strings (kFixed, kVar): `starts` and `sizes` hold a string each, relative to the record's own bytes plus
//   `base` of the call; kVar has `row_splits` too.
struct Column {
  uint8_t* dense = nullptr;
  std::vector<uint8_t> values;
  std::vector<int64_t> row_splits;
  std::vector<const uint8_t*> starts;
  std::vector<uint64_t> sizes;
};

enum class ParseStatus : int { kOk = 0, kMalformed = 1, kMissing = 2, kWrongKind = 3, kWrongLength = 4 };

struct ParseError {
  ParseStatus status = ParseStatus::kOk;
  int feature = -1;         // Index of the spec, or -1.
  uint64_t offset = 0;      // kMalformed: bytes from the proto's start.
  Kind found = Kind::kNone;  // kWrongKind.
  uint64_t length = 0;      // kWrongLength: values (or bytes, for kRaw) found.
};

// REQUIRES: keys are unique. Immutable after construction; Parse is thread-safe on distinct columns.
class ExampleParser {
 public:
  explicit ExampleParser(std::vector<FeatureSpec> specs);

  const std::vector<FeatureSpec>& specs() const { return specs_; }

  // Scratch of one call (last seen key order, marks of features seen); make one a call, use it for all its rows.
  struct Scratch {
    std::vector<uint64_t> seen;   // seen[f] == row + 1: feature f was met in this row.
    std::vector<int32_t> order;   // order[k]: which spec the k-th map entry of the last record was, -1 for none.
  };

  // Parses `record` into row `row` of `columns` (as many as specs). Rows come in ascending order without gaps.
  // On an error the columns hold whatever was parsed before; the caller throws them away.
  ParseStatus Parse(std::span<const uint8_t> record, uint64_t row, Scratch* scratch, Column* columns,
                    ParseError* error) const;

 private:
  std::vector<FeatureSpec> specs_;
};

}  // namespace wellfed

#endif  // WELLFED_EXAMPLE_PARSE_H_
