// The feature lists of tf.train.SequenceExample to columns.
//
//   SequenceExample { 1: Features context, 2: FeatureLists { 1: map<string, FeatureList { 1: repeated Feature
//   }> } }
//
// The context is read with ExampleParser, which passes the lists. A list is a sequence of steps, each with
// values of its own: two levels of rows.
#ifndef WELLFED_SEQUENCE_PARSE_H_
#define WELLFED_SEQUENCE_PARSE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "example_parse.h"
#include "key_table.h"

namespace wellfed {

// `values` (kFixed, kRaw: count values each step; kVar: with the row_splits of all steps), or `starts` and
// `sizes`, as in Column without `dense`; and how many steps came before each example.
struct SequenceColumn {
  Column steps;
  GrowingArray<int64_t> step_splits;
  uint64_t step_count = 0;
};

struct SequenceError : ParseError {
  uint64_t step = 0;  // kWrongKind, kWrongLength, kWrongSize: which Feature of the list.
};

// Which lists must be there is `has_default` of the spec: false refuses an absent key, true reads it as no
// steps. REQUIRES: as ExampleParser. Immutable; Parse is thread-safe on distinct columns.
class SequenceParser {
 public:
  explicit SequenceParser(std::vector<FeatureSpec> specs);

  const std::vector<FeatureSpec>& specs() const { return specs_; }

  // Makes columns ready for the first example.
  void Start(std::span<SequenceColumn> columns) const;

  // Appends the lists of one SequenceExample. On an error the columns hold a part of it.
  // REQUIRES: Start was called; `record` outlives `starts`.
  ParseStatus Parse(std::span<const uint8_t> record, std::span<SequenceColumn> columns,
                    SequenceError* error) const;

 private:
  ParseStatus ReadSteps(std::span<const uint8_t> list, const FeatureSpec& spec, SequenceColumn* column,
                        SequenceError* error, const uint8_t** fault) const;

  std::vector<FeatureSpec> specs_;
  KeyTable keys_;
};

}  // namespace wellfed

#endif  // WELLFED_SEQUENCE_PARSE_H_
