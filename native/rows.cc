#include "rows.h"

#include <algorithm>
#include <utility>

#include "prefetch.h"

namespace wellfed {
namespace {

// Rows are looked up and their memory asked for in blocks, one block ahead of the parsing. By themselves, in
// a tight loop without a branch that waits for memory, many lookups are under way at a time. Mixed with
// parsing, each would wait for the page walks of the one before: a prefetch retires only once its address is
// translated.
constexpr uint64_t kBlock = 32;
constexpr uint64_t kLine = 64;
constexpr uint64_t kMostLines = 16;  // Of a record. The hardware's own prefetcher takes over from there.

struct Place {
  const Shard* shard;
  uint32_t index;
  uint64_t record;
  uint64_t offset;
};

// Visits rows in order with the memory they need asked for ahead of time.
class Walk {
 public:
  Walk(const ShardSet& shards, std::span<const uint64_t> rows)
      : shards_(shards), rows_(rows), lines_(std::min(shards.record_bytes() / kLine + 2, kMostLines)) {
    AskFor(0);
  }

  // REQUIRES: called once for each i, in order.
  const Place& At(uint64_t i) {
    if (i % kBlock == 0) AskFor(i + kBlock);
    return ring_[i % kRing];
  }

 private:
  static constexpr uint64_t kRing = 2 * kBlock;

  // Looks up the block of rows from `start` on and asks for the first lines of each record.
  void AskFor(uint64_t start) {
    const uint64_t stop = std::min<uint64_t>(start + kBlock, rows_.size());
    for (uint64_t i = start; i < stop; ++i) {
      const uint32_t index = shards_.Find(rows_[i]);
      const Shard& shard = shards_.shard(index);
      const uint64_t record = rows_[i] - shards_.first_row(index);
      ring_[i % kRing] = {&shard, index, record, shard.offsets[record]};
    }
    for (uint64_t i = start; i < stop; ++i) {
      const Place& place = ring_[i % kRing];
      const std::span<const uint8_t> file = place.shard->file;
      for (uint64_t line = 0; line < lines_; ++line) {
        // Clamped, not skipped: a branch would wait for the offset. A hostile one stays inside the file too.
        Prefetch(file.data() + std::min<uint64_t>(place.offset + line * kLine, file.size()));
      }
    }
  }

  const ShardSet& shards_;
  std::span<const uint64_t> rows_;
  uint64_t lines_;  // The same for every record, so that no branch depends on one.
  Place ring_[kRing];
};

// Reads the frame of row `i`, or says where it fails.
inline bool ReadRow(const FrameReader& reader, const Place& place, uint64_t i, bool check, Frame* frame,
                    RowError* error) {
  const std::span<const uint8_t> file = place.shard->file;
  const bool inside = place.offset <= file.size();
  const FrameStatus status = inside ? reader.Read(file, place.offset, check, frame) : FrameStatus::kTruncated;
  if (status == FrameStatus::kOk) return true;
  error->frame = status == FrameStatus::kEnd ? FrameStatus::kTruncated : status;
  error->position = i;
  error->shard = place.index;
  error->record = place.record;
  error->offset = place.offset;
  return false;
}

}  // namespace

ShardSet::ShardSet(std::vector<Shard> shards) : shards_(std::move(shards)) {
  first_rows_.reserve(shards_.size() + 1);
  first_rows_.push_back(0);
  uint64_t bytes = 0;
  for (const Shard& shard : shards_) {
    first_rows_.push_back(first_rows_.back() + shard.offsets.size());
    if (!shard.offsets.empty())
      bytes += shard.offsets.back() - std::min(shard.offsets.front(), shard.offsets.back());
  }
  const uint64_t total = first_rows_.back();
  record_bytes_ = total > 0 ? bytes / total : 0;
  while ((total >> shift_) > 4 * shards_.size()) ++shift_;
  directory_.reserve((total >> shift_) + 1);
  uint32_t index = 0;
  for (uint64_t entry = 0; entry <= (total >> shift_); ++entry) {
    const uint64_t row = entry << shift_;
    while (index + 1 < shards_.size() && row >= first_rows_[index + 1]) ++index;
    directory_.push_back(index);
  }
}

bool ParseRows(const ShardSet& shards, std::span<const uint64_t> rows, bool check,
               const ExampleParser& parser, Column* columns, RowError* error) {
  Walk walk(shards, rows);
  const FrameReader reader;
  ExampleParser::Scratch scratch;
  parser.Start(rows.size(), {columns, parser.specs().size()});
  for (uint64_t i = 0; i < rows.size(); ++i) {
    const Place& place = walk.At(i);
    Frame frame;
    if (!ReadRow(reader, place, i, check, &frame, error)) return false;
    const ParseStatus status =
        parser.Parse({frame.payload, frame.length}, i, &scratch, columns, &error->parse);
    if (status != ParseStatus::kOk) {
      error->position = i;
      error->shard = place.index;
      error->record = place.record;
      error->offset = place.offset;
      return false;
    }
  }
  return true;
}

bool LocateRows(const ShardSet& shards, std::span<const uint64_t> rows, bool check, const uint8_t** starts,
                uint64_t* sizes, RowError* error) {
  Walk walk(shards, rows);
  const FrameReader reader;
  for (uint64_t i = 0; i < rows.size(); ++i) {
    Frame frame;
    if (!ReadRow(reader, walk.At(i), i, check, &frame, error)) return false;
    starts[i] = frame.payload;
    sizes[i] = frame.length;
  }
  return true;
}

}  // namespace wellfed
