// Rows of a set of shards, read at random or in order, checked and parsed in one call.
//
// A row is a record's number over all shards of a set. The shards are mapped files with the offsets of their
// records; nothing here is copied, so the caller keeps files and offsets alive and unchanged.
#ifndef WELLFED_ROWS_H_
#define WELLFED_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "example_parse.h"
#include "framing.h"

namespace wellfed {

struct Shard {
  std::span<const uint8_t> file;
  std::span<const uint64_t> offsets;  // Header of each record; ascending, inside `file`.
};

// Immutable; thread-safe.
class ShardSet {
 public:
  explicit ShardSet(std::vector<Shard> shards);

  uint64_t rows() const { return first_rows_.back(); }
  const Shard& shard(uint32_t index) const { return shards_[index]; }

  // The shard that holds `row`. A directory of four entries a shard leads to it in a step or two, whatever
  // the number of shards. REQUIRES: row < rows().
  uint32_t Find(uint64_t row) const {
    uint32_t index = directory_[row >> shift_];
    while (row >= first_rows_[index + 1]) ++index;
    return index;
  }

  // The average record, framing included; a guess that nothing but speed depends on. [bytes]
  uint64_t record_bytes() const { return record_bytes_; }

  uint64_t first_row(uint32_t index) const { return first_rows_[index]; }

 private:
  std::vector<Shard> shards_;
  std::vector<uint64_t> first_rows_;  // One more than shards; the last is the number of rows.
  std::vector<uint32_t> directory_;
  int shift_ = 0;
  uint64_t record_bytes_ = 0;
};

// Has the pages of `rows` read that are not in memory, and no others but small gaps between them; does not
// wait for them. For files that memory does not hold: what is there already takes 0.4 us a row. REQUIRES:
// every row < shards.rows(). Thread-safe.
void AskForRows(const ShardSet& shards, std::span<const uint64_t> rows);

// What stopped a read. `position` counts in the span of rows that was asked for.
struct RowError {
  FrameStatus frame = FrameStatus::kOk;
  ParseError parse;
  uint64_t position = 0;
  uint32_t shard = 0;
  uint64_t record = 0;  // Within the shard.
  uint64_t offset = 0;  // Of the record's header in the shard.
};

// Reads `rows` in the order given, proves each header's sum (and each payload's, with `check`) and parses
// each record into row 0, 1, ... of `columns`. Returns false at the first error; the columns are then of no
// use. REQUIRES: every row < shards.rows(). Thread-safe on distinct columns.
bool ParseRows(const ShardSet& shards, std::span<const uint64_t> rows, bool check,
               const ExampleParser& parser, Column* columns, RowError* error);

// The length of each row's payload, by its header, whose sum is proved. Returns false at the first error.
// REQUIRES: every row < shards.rows().
bool MeasureRows(const ShardSet& shards, std::span<const uint64_t> rows, uint64_t* sizes, RowError* error);

// Copies the payloads as they are, end to end, into `out`, each while it is in the cache from its proof. A
// row whose length is not sizes[i] any more is truncated. REQUIRES: `sizes` are those of MeasureRows; `out`
// has their sum.
bool CopyRows(const ShardSet& shards, std::span<const uint64_t> rows, bool check, const uint64_t* sizes,
              uint8_t* out, RowError* error);

}  // namespace wellfed

#endif  // WELLFED_ROWS_H_
