// What is in Examples and SequenceExamples of an unknown kind: features, kinds, counts, ranges, and what byte
// strings look like.
#ifndef WELLFED_EXAMPLE_SCAN_H_
#define WELLFED_EXAMPLE_SCAN_H_

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "example_walk.h"
#include "feature_reader.h"

namespace wellfed {

enum class Look : int { kEmpty = 0, kText = 1, kJpeg = 2, kPng = 3, kGif = 4, kWebp = 5, kBinary = 6 };
inline constexpr size_t kLooks = 7;

// By its first bytes, or as UTF-8 without control characters other than tab, line feed and carriage return.
Look LookOf(std::span<const uint8_t> string);

template <typename T>
struct Range {
  T min = std::numeric_limits<T>::max();
  T max = std::numeric_limits<T>::lowest();

  void Add(T value) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
};

// One feature, in all records or (for the lists of SequenceExamples) all steps so far. A range that nothing
// was added to has min > max.
struct FeatureFacts {
  std::string key;
  uint64_t present = 0;                // Records that have the key.
  std::array<uint64_t, 4> kinds = {};  // By Kind: records (or steps) whose list is of that kind; 0 is unset.
  std::array<uint64_t, 4> first = {};  // By Kind: the first record of it.
  Range<uint64_t> counts;              // Values in a list; 0 where the kind is unset.
  Range<uint64_t> steps;               // Of a feature list.
  Range<int64_t> ints;
  Range<float> floats;  // The finite ones.
  uint64_t nonfinite = 0;
  Range<uint64_t> sizes;                    // Of byte strings. [bytes]
  uint64_t repeated = 0;                    // Records that have the key more than once; the last counts.
  std::array<uint64_t, kLooks> looks = {};  // By Look: byte strings.
};

// Not thread-safe: one a thread.
class ExampleScanner {
 public:
  // Adds one record. Returns false where the bytes are no Example: `offset` is the first byte that cannot be
  // read, and a part of the record may have been counted.
  bool Add(std::span<const uint8_t> record, uint64_t* offset);

  uint64_t records() const { return records_; }
  const std::vector<FeatureFacts>& features() const {
    return features_.facts;
  }  // Also a SequenceExample's context.
  const std::vector<FeatureFacts>& sequences() const {
    return sequences_.facts;
  }  // A SequenceExample's lists.

 private:
  struct Table {
    std::vector<FeatureFacts> facts;                   // In order of first appearance.
    std::map<std::string, size_t, std::less<>> index;  // Key to number.
    std::vector<Pieces> pieces;                        // Of each feature, in the record that is read,
    std::vector<uint64_t> times;                       // and how often it came there.
    std::vector<size_t> met;                           // The features that came there, each once.
    std::vector<size_t> order;                         // The features of the last record, as they came.

    size_t Find(std::string_view key, size_t position);
  };

  const uint8_t* Collect(std::span<const uint8_t> record, uint32_t owner, Table* table);
  const uint8_t* AddList(const Pieces& pieces, FeatureFacts* facts);
  const uint8_t* AddSteps(const Pieces& pieces, FeatureFacts* facts);

  uint64_t records_ = 0;
  Table features_, sequences_;
  Column values_;   // Scratch: of one list,
  Pieces scratch_;  // and of one entry.
};

}  // namespace wellfed

#endif  // WELLFED_EXAMPLE_SCAN_H_
