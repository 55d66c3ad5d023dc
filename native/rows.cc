#include "rows.h"

#include <algorithm>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace wellfed {
namespace {

inline void Prefetch(const void* address) {
#if defined(_MSC_VER) && !defined(__clang__)
  _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
#else
  __builtin_prefetch(address);
#endif
}

// How far the walk looks ahead of the row at hand. An entry of the offsets is asked for first, the record it
// leads to later; both are cache misses when rows are shuffled.
constexpr uint64_t kOffsetsAhead = 32;
constexpr uint64_t kRecordsAhead = 16;
constexpr uint64_t kLargeRecordsAhead = 4;
constexpr uint64_t kLine = 64;
constexpr uint64_t kSmallRecord = 2 * kLine;
constexpr uint64_t kPrefetchBytes = 16 * kLine;  // The hardware's own prefetcher takes over from there.

struct Place {
  const Shard* shard;
  uint32_t index;
  uint64_t record;
};

// Visits rows in order with the memory they need asked for ahead of time.
class Walk {
 public:
  Walk(const ShardSet& shards, std::span<const uint64_t> rows) : shards_(shards), rows_(rows) {
    for (uint64_t i = 0; i < std::min<uint64_t>(kOffsetsAhead, rows.size()); ++i) AskForOffset(i);
    for (uint64_t i = 0; i < std::min<uint64_t>(kRecordsAhead, rows.size()); ++i) AskForRecord(i);
  }

  // REQUIRES: called once for each i, in order.
  const Place& At(uint64_t i) {
    if (i + kOffsetsAhead < rows_.size()) AskForOffset(i + kOffsetsAhead);
    if (i + kRecordsAhead < rows_.size()) AskForRecord(i + kRecordsAhead);
    if (i + kLargeRecordsAhead < rows_.size()) AskForRest(i + kLargeRecordsAhead);
    return ring_[i % kRing];
  }

 private:
  static constexpr uint64_t kRing = 64;
  static_assert(kRing > kOffsetsAhead);

  void AskForOffset(uint64_t i) {
    const uint64_t row = rows_[i];
    const uint32_t index = shards_.Find(row);
    const Shard& shard = shards_.shard(index);
    const uint64_t record = row - shards_.first_row(index);
    ring_[i % kRing] = {&shard, index, record};
    Prefetch(&shard.offsets[record]);
  }

  void AskForRecord(uint64_t i) {
    const Place& place = ring_[i % kRing];
    const uint64_t offset = place.shard->offsets[place.record];
    if (offset >= place.shard->file.size()) return;  // A hostile index: ReadFrame refuses it.
    Prefetch(place.shard->file.data() + offset);
    if (offset + kLine < place.shard->file.size()) Prefetch(place.shard->file.data() + offset + kLine);
  }

  // The rest of a record of several lines, nearer to its use so that it is still in the cache then.
  void AskForRest(uint64_t i) {
    const Place& place = ring_[i % kRing];
    const std::span<const uint64_t> offsets = place.shard->offsets;
    const uint64_t begin = offsets[place.record];
    const uint64_t file_size = place.shard->file.size();
    const uint64_t next = place.record + 1 < offsets.size() ? offsets[place.record + 1] : file_size;
    if (begin >= file_size || next <= begin || next - begin <= kSmallRecord) return;
    const uint64_t end = std::min({next, file_size, begin + kPrefetchBytes});
    for (uint64_t at = begin + 2 * kLine; at < end; at += kLine) Prefetch(place.shard->file.data() + at);
  }

  const ShardSet& shards_;
  std::span<const uint64_t> rows_;
  Place ring_[kRing];
};

// Reads the frame of row `i`, or says where it fails.
inline bool ReadRow(const Place& place, uint64_t i, bool check, Frame* frame, RowError* error) {
  const uint64_t offset = place.shard->offsets[place.record];
  const bool inside = offset <= place.shard->file.size();
  const FrameStatus status =
      inside ? ReadFrame(place.shard->file, offset, check, frame) : FrameStatus::kTruncated;
  if (status == FrameStatus::kOk) return true;
  error->frame = status == FrameStatus::kEnd ? FrameStatus::kTruncated : status;
  error->position = i;
  error->shard = place.index;
  error->record = place.record;
  error->offset = offset;
  return false;
}

}  // namespace

ShardSet::ShardSet(std::vector<Shard> shards) : shards_(std::move(shards)) {
  first_rows_.reserve(shards_.size() + 1);
  first_rows_.push_back(0);
  for (const Shard& shard : shards_) first_rows_.push_back(first_rows_.back() + shard.offsets.size());
  const uint64_t total = first_rows_.back();
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
  ExampleParser::Scratch scratch;
  parser.Start(rows.size(), {columns, parser.specs().size()});
  for (uint64_t i = 0; i < rows.size(); ++i) {
    const Place& place = walk.At(i);
    Frame frame;
    if (!ReadRow(place, i, check, &frame, error)) return false;
    const ParseStatus status =
        parser.Parse({frame.payload, frame.length}, i, &scratch, columns, &error->parse);
    if (status != ParseStatus::kOk) {
      error->position = i;
      error->shard = place.index;
      error->record = place.record;
      error->offset = place.shard->offsets[place.record];
      return false;
    }
  }
  return true;
}

bool LocateRows(const ShardSet& shards, std::span<const uint64_t> rows, bool check, const uint8_t** starts,
                uint64_t* sizes, RowError* error) {
  Walk walk(shards, rows);
  for (uint64_t i = 0; i < rows.size(); ++i) {
    Frame frame;
    if (!ReadRow(walk.At(i), i, check, &frame, error)) return false;
    starts[i] = frame.payload;
    sizes[i] = frame.length;
  }
  return true;
}

}  // namespace wellfed
