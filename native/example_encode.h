// Columns to tf.train.Example records, framed or not: deterministic, byte for byte what protobuf's
// deterministic serialization writes (keys sorted by their bytes, number lists packed).
#ifndef WELLFED_EXAMPLE_ENCODE_H_
#define WELLFED_EXAMPLE_ENCODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "feature_reader.h"
#include "growing_array.h"

namespace wellfed {

// protobuf refuses to read messages from 2 GiB on.
inline constexpr uint64_t kMaxExampleSize = (uint64_t{1} << 31) - 1;

// One column of any number of rows; all memory is the caller's. Row r has the values from First(r) to First(r
// + 1). kNone: an empty Feature in each row.
struct SourceColumn {
  std::string key;
  Kind kind = Kind::kNone;
  const int64_t* row_splits = nullptr;  // nullptr: `count` values in each row.
  uint64_t count = 1;
  const uint8_t* values = nullptr;  // kInt64, kFloat: numbers as the machine has them.
  const uint8_t* data = nullptr;    // kBytes: string i is the sizes[i] bytes at data + starts[i].
  const int64_t* starts = nullptr;
  const int64_t* sizes = nullptr;

  uint64_t First(uint64_t row) const {
    return row_splits != nullptr ? static_cast<uint64_t>(row_splits[row]) : row * count;
  }
};

// Bytes of the messages of one feature of one row, from the inside out; each without its own tag and length.
struct FeatureSizes {
  uint64_t packed, list, feature, entry;
};

// REQUIRES: keys are unique; row_splits do not fall; every string lies inside its buffer. The columns' memory
// outlives the encoder. Encode is thread-safe on distinct results.
class ExampleEncoder {
 public:
  explicit ExampleEncoder(std::vector<SourceColumn> columns);

  // Appends the records of rows [begin, end) to `out`, and the bytes of each payload to `sizes`. Returns
  // `end`, or the first row whose Example would be larger than kMaxExampleSize; it is not written.
  uint64_t Encode(uint64_t begin, uint64_t end, bool framed, GrowingArray<uint8_t>* out,
                  GrowingArray<int64_t>* sizes) const;

 private:
  uint64_t Measure(uint64_t row, std::vector<FeatureSizes>* sizes) const;
  uint8_t* Write(uint64_t row, const std::vector<FeatureSizes>& sizes, uint8_t* out) const;

  std::vector<SourceColumn> columns_;  // Sorted by key.
};

// Appends the inside of a FeatureList: the Feature of each of `rows` rows. Returns `rows`, or the first row
// that makes it larger than kMaxExampleSize.
uint64_t EncodeFeatureList(const SourceColumn& column, uint64_t rows, GrowingArray<uint8_t>* out);

}  // namespace wellfed

#endif  // WELLFED_EXAMPLE_ENCODE_H_
