#include "rows.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "mapped_file.h"
#include "prefetch.h"
#include "stream_copy.h"

namespace wellfed {
namespace {

// Rows are looked up in blocks, so that many lookups are under way at a time, and their memory is asked for
// one block ahead of the parsing. Few lines at a time: a core follows about 20 misses, and drops or delays
// the rest.
constexpr uint64_t kBlock = 8;
constexpr uint64_t kLine = 64;
constexpr uint64_t kMostLines = 16;  // Of a record. The hardware's own prefetcher takes over from there.
constexpr uint64_t kHeaderLines = 1;

// Records of middle size at random are copied to the first cache, a block at a time, and parsed there: the
// loads of a copy wait for nothing but memory, so as many misses are under way as the core can follow. While
// a block is parsed, the next one is asked for, all of it: first the pages, by a record's first lines and its
// last, then a record for each that is parsed. In microseconds a row, two threads: MNIST's 0.20 without the
// next block, 0.17 with its pages, 0.13 with all of it; CIFAR's 0.52, 0.43, 0.41.
constexpr uint64_t kStagedLines = 3;
constexpr uint64_t kStagedBytes = 4096;
constexpr uint64_t kFirstLines = 4;

// Rows of this size are stored past the caches, where all of a call take more than a core's own cache holds.
// CIFAR's in order, two threads: 310 ns a row without, 250 with.
constexpr uint64_t kStreamedRow = 512;
constexpr uint64_t kStreamed = 512 << 10;

struct Place {
  const Shard* shard;
  uint32_t index;
  uint64_t record;
  uint64_t offset;
};

bool InOrder(std::span<const uint64_t> rows) {
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i] != rows[i - 1] + 1) return false;
  }
  return true;
}

#ifndef _WIN32
// Where a row lies, as the index says: up to the next record, or as long as most of them where it is the
// last.
std::span<const uint8_t> BytesOf(const ShardSet& shards, uint64_t row) {
  const uint32_t index = shards.Find(row);
  const Shard& shard = shards.shard(index);
  const uint64_t record = row - shards.first_row(index);
  const uint64_t size = shard.file.size();
  const uint64_t start = std::min<uint64_t>(shard.offsets[record], size);
  const bool last = record + 1 == shard.offsets.size();
  const uint64_t stop =
      last ? start + std::min(shards.record_bytes(), size - start) : shard.offsets[record + 1];
  return shard.file.subspan(start, std::clamp(stop, start, size) - start);
}
#endif

// Visits rows in order with the memory they need asked for ahead of time. With `may_copy`, what a place
// refers to is gone with the next block.
class Walk {
 public:
  Walk(const ShardSet& shards, std::span<const uint64_t> rows, uint64_t most_lines, bool may_copy)
      : shards_(shards), rows_(rows), lines_(shards.record_bytes() / kLine + 2) {
    const uint64_t bytes = shards.record_bytes();
    if (InOrder(rows) && most_lines > kHeaderLines) {
      lines_ = 0;  // The hardware sees the order by itself: asking costs a sixth of the time for nothing.
    } else if (may_copy && bytes >= kStagedLines * kLine && bytes <= kStagedBytes) {
      copies_.resize(kBlock * kStagedBytes);
      whole_ = lines_;
      lines_ = std::min(lines_, kFirstLines);
    } else {
      lines_ = std::min(lines_, most_lines);
    }
    LookUp(0);
    AskFor(0);
  }

  // REQUIRES: called once for each i, in order.
  const Place& At(uint64_t i) {
    if (i % kBlock == 0) {
      LookUp(i + kBlock);
      AskFor(i + kBlock);
      if (!copies_.empty()) Copy(i);
    }
    if (whole_ > 0 && i + kBlock < rows_.size()) {
      const Place& place = ring_[(i + kBlock) % kRing];
      for (uint64_t line = lines_; line < whole_; ++line) PrefetchToSecond(LineOf(place, line));
    }
    return ring_[i % kRing];
  }

  // The payload's length of the place that At(i) gave.
  FrameStatus ReadLength(uint64_t i, uint64_t* length) const {
    return reader_.ReadLength(FromOffset(ring_[i % kRing]), 0, length);
  }

  // Reads the frame of the place that At(i) gave.
  FrameStatus Read(uint64_t i, bool check, Frame* frame) const {
    if (!copies_.empty() && reader_.Read(copied_[i % kBlock], 0, check, frame) == FrameStatus::kOk) {
      return FrameStatus::kOk;
    }
    // Where an index lies about the next record, the copy is too short: the file decides.
    return reader_.Read(FromOffset(ring_[i % kRing]), 0, check, frame);
  }

 private:
  static constexpr uint64_t kRing = 2 * kBlock;

  uint64_t StopOf(uint64_t start) const { return std::min<uint64_t>(start + kBlock, rows_.size()); }

  void LookUp(uint64_t start) {
    for (uint64_t i = start; i < StopOf(start); ++i) {
      const uint32_t index = shards_.Find(rows_[i]);
      const Shard& shard = shards_.shard(index);
      const uint64_t record = rows_[i] - shards_.first_row(index);
      ring_[i % kRing] = {&shard, index, record, shard.offsets[record]};
    }
  }

  // A line of a record of the usual size. Clamped, not checked: a branch would wait for the offset. A hostile
  // one stays inside the file too.
  static const uint8_t* LineOf(const Place& place, uint64_t line) {
    const std::span<const uint8_t> file = place.shard->file;
    return file.data() + std::min<uint64_t>(place.offset + line * kLine, file.size());
  }

  // The first lines of each record, and the last where all of them will be asked for.
  void AskFor(uint64_t start) {
    for (uint64_t i = start; i < StopOf(start); ++i) {
      const Place& place = ring_[i % kRing];
      for (uint64_t line = 0; line < lines_; ++line) Prefetch(LineOf(place, line));
      if (whole_ > 0) Prefetch(LineOf(place, whole_ - 1));
    }
  }

  // A record that is longer than its neighbours stays where it is.
  void Copy(uint64_t start) {
    for (uint64_t i = start; i < StopOf(start); ++i) {
      const Place& place = ring_[i % kRing];
      const std::span<const uint8_t> file = FromOffset(place);
      const std::span<const uint64_t> offsets = place.shard->offsets;
      const uint64_t next = place.record + 1 < offsets.size() ? offsets[place.record + 1] : UINT64_MAX;
      // A hostile index may say anything: a length that wraps is a long one.
      const uint64_t size = std::min<uint64_t>(next - place.offset, file.size());
      uint8_t* const copy = &copies_[i % kBlock * kStagedBytes];
      copied_[i % kBlock] = size <= kStagedBytes ? std::span<const uint8_t>(copy, size) : file;
      if (size <= kStagedBytes) std::memcpy(copy, file.data(), size);
    }
  }

  static std::span<const uint8_t> FromOffset(const Place& place) {
    const std::span<const uint8_t> file = place.shard->file;
    return file.subspan(std::min<uint64_t>(place.offset, file.size()));
  }

  const FrameReader reader_;
  const ShardSet& shards_;
  std::span<const uint64_t> rows_;
  uint64_t lines_;      // The same for every record, so that no branch depends on one.
  uint64_t whole_ = 0;  // Of a record that is copied; 0 where none is.
  std::vector<uint8_t> copies_;
  std::span<const uint8_t> copied_[kBlock];
  Place ring_[kRing];
};

// Says that the row at `i` is at fault, and why; false.
bool Blame(const Place& place, uint64_t i, FrameStatus status, RowError* error) {
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
  const bool keeps = std::ranges::any_of(parser.specs(), [](const auto& spec) { return spec.strings(); });
  Walk walk(shards, rows, kMostLines, !keeps);
  ExampleParser::Scratch scratch;
  parser.Start(rows.size(), {columns, parser.specs().size()});
  for (size_t f = 0; f < parser.specs().size(); ++f) {
    const FeatureSpec& spec = parser.specs()[f];
    columns[f].streams =
        spec.dense() && spec.row_size() >= kStreamedRow && rows.size() * spec.row_size() >= kStreamed;
  }
  for (uint64_t i = 0; i < rows.size(); ++i) {
    const Place& place = walk.At(i);
    Frame frame;
    const FrameStatus found = walk.Read(i, check, &frame);
    if (found != FrameStatus::kOk) return Blame(place, i, found, error);
    const ParseStatus status =
        parser.Parse({frame.payload, frame.length}, i, &scratch, columns, &error->parse);
    if (status != ParseStatus::kOk) return Blame(place, i, FrameStatus::kOk, error);
  }
  FinishStreams();
  return true;
}

bool MeasureRows(const ShardSet& shards, std::span<const uint64_t> rows, uint64_t* sizes, RowError* error) {
  Walk walk(shards, rows, kHeaderLines, false);
  for (uint64_t i = 0; i < rows.size(); ++i) {
    const Place& place = walk.At(i);
    const FrameStatus status = walk.ReadLength(i, &sizes[i]);
    if (status != FrameStatus::kOk) return Blame(place, i, status, error);
  }
  return true;
}

bool CopyRows(const ShardSet& shards, std::span<const uint64_t> rows, bool check, const uint64_t* sizes,
              uint8_t* out, RowError* error) {
  Walk walk(shards, rows, kMostLines, false);
  for (uint64_t i = 0; i < rows.size(); ++i) {
    const Place& place = walk.At(i);
    Frame frame;
    FrameStatus status = walk.Read(i, check, &frame);
    // The file was written to meanwhile.
    if (status == FrameStatus::kOk && frame.length != sizes[i]) status = FrameStatus::kTruncated;
    if (status != FrameStatus::kOk) return Blame(place, i, status, error);
    if (frame.length > 0) std::memcpy(out, frame.payload, frame.length);
    out += frame.length;
  }
  return true;
}

#ifndef _WIN32

void AskForRows(const ShardSet& shards, std::span<const uint64_t> rows) {
  std::vector<uint64_t> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  RangesAsked asked;
  uint32_t last = UINT32_MAX;
  for (const uint64_t row : sorted) {
    const uint32_t shard = shards.Find(row);
    if (shard != last) asked.Flush();
    last = shard;
    asked.Add(BytesOf(shards, row));  // An index that lies may lead backwards.
  }
  asked.Flush();
}

#endif

}  // namespace wellfed
