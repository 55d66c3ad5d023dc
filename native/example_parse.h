// tf.train.Example records to columns.
//
//   Example  { 1: Features }          Features { 1: map<string, Feature> }
//   Feature  { oneof: 1: BytesList  2: FloatList  3: Int64List }     a list { 1: repeated values, packed or
//   not }
//
// A parser is made once from a list of feature specs and then shared by threads. Each thread brings a scratch
// and its columns: pointers into dense arrays that the caller owns, and growing arrays for values of any
// number.
//
// What is read is what protobuf reads (docs/examples.md lists where TensorFlow's own parser differs): the
// last entry of a key counts, chunks of a list are joined, unknown fields are passed. Values of features that
// no spec names are not looked at.
#ifndef WELLFED_EXAMPLE_PARSE_H_
#define WELLFED_EXAMPLE_PARSE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "feature_reader.h"
#include "key_table.h"

namespace wellfed {

enum class ParseStatus : int {
  kOk = 0,
  kMalformed = 1,    // The bytes are no Example.
  kMissing = 2,      // A fixed feature without a default is absent, or its kind is unset.
  kWrongKind = 3,    // A list of another kind.
  kWrongLength = 4,  // Another number of values.
  kWrongSize = 5,    // kRaw: a string of another number of bytes.
};

struct ParseError {
  ParseStatus status = ParseStatus::kOk;
  int feature = -1;          // Index of the spec, or -1.
  uint64_t offset = 0;       // kMalformed: first byte that could not be read, from the proto's start.
  Kind found = Kind::kNone;  // kWrongKind.
  uint64_t length = 0;       // kWrongLength: values found; kWrongSize: bytes found.
};

// What is wrong with a list of kind `found` that `reader` read, or kOk; fills `error` but for `status` and
// `feature`.
ParseStatus Judge(const FeatureSpec& spec, Kind found, const FeatureReader& reader, ParseError* error);

std::vector<std::string> KeysOf(const std::vector<FeatureSpec>& specs);

// REQUIRES: keys are unique; kRaw has kind kBytes; defaults have their size. Immutable after construction but
// for a counter; Parse is thread-safe on distinct columns and scratch.
class ExampleParser {
 public:
  explicit ExampleParser(std::vector<FeatureSpec> specs);

  const std::vector<FeatureSpec>& specs() const { return specs_; }

  // Records parsed so far, by all threads, in which the key of a spec came more than once: the last counted,
  // and what stood before it is lost.
  uint64_t repeated() const { return repeated_->load(std::memory_order_relaxed); }

  // What one thread remembers from record to record. Valid for one parser; make one a call.
  struct Scratch {
    struct Guess {
      const uint8_t* prefix;  // "key" up to the value's tag, as it is on the wire.
      size_t size;
      int32_t feature;  // -1: no spec names it.
    };
    struct Range {
      size_t begin = 0, end = 0;
    };
    uint64_t stamp = 0;          // Counts calls.
    std::vector<uint64_t> seen;  // seen[f] == stamp: feature f was met in this record.
    std::vector<Guess> order;    // The k-th map entry of the last record.
    std::deque<std::string>
        unknown;  // Owns the prefixes of keys that no spec names. A deque never moves them.
    // For unusual records: the parts of one entry's value, those of all, and which of them are each
    // feature's.
    std::vector<std::span<const uint8_t>> values, pieces;
    std::vector<Range> ranges;
  };

  // Makes columns ready for row 0, with room for `rows` rows. REQUIRES: as many columns as specs.
  void Start(uint64_t rows, std::span<Column> columns) const;

  // Parses `record` into row `row` of `columns`.
  // REQUIRES: Start was called, then rows 0, 1, ... in order; `record` outlives `starts`.
  // On an error the growing columns are as they were before, so the row can be parsed again from another
  // record; its dense values are undefined.
  ParseStatus Parse(std::span<const uint8_t> record, uint64_t row, Scratch* scratch, Column* columns,
                    ParseError* error) const;

 private:
  bool ParseUsual(std::span<const uint8_t> record, uint64_t row, Scratch* scratch, Column* columns) const;
  const uint8_t* CollectPieces(std::span<const uint8_t> record, Scratch* scratch, bool* repeated) const;
  ParseStatus ParseAny(std::span<const uint8_t> record, uint64_t row, Scratch* scratch, Column* columns,
                       ParseError* error) const;
  bool LearnKey(const uint8_t** p, const uint8_t* end, size_t position, Scratch* scratch,
                int32_t* feature) const;
  bool FillDefault(size_t feature, uint64_t row, Column* column) const;
  void FinishRow(Column* columns) const;
  void Rewind(uint64_t row, Column* columns) const;

  std::vector<FeatureSpec> specs_;
  std::vector<size_t> growing_;  // The specs whose columns grow.
  KeyTable keys_;
  std::unique_ptr<std::atomic<uint64_t>> repeated_;  // Held apart, so that a parser can be moved.
};

}  // namespace wellfed

#endif  // WELLFED_EXAMPLE_PARSE_H_
