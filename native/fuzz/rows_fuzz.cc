// Rows of shards whose files and offsets are hostile, against reading each by itself. Where they differ, the
// process aborts.
//
// An input is a script: how many shards; for each the records in its file, the damage, and offsets that may
// point anywhere; then the rows to read.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "../tests/reference.h"
#include "example_script.h"
#include "framing.h"
#include "mapped_file.h"
#include "records.h"
#include "require.h"
#include "rows.h"

namespace {

using wellfed::Column;
using wellfed::ExampleParser;
using wellfed::FeatureSpec;
using wellfed::FrameStatus;
using wellfed::Kind;
using wellfed::Layout;
using wellfed::ParseStatus;
using wellfed::RowError;
using wellfed::Shard;
using wellfed::ShardSet;
using wellfed::reference::Judge;
using wellfed::reference::Verdict;
using Block = std::span<const uint8_t>;
using Bytes = std::vector<uint8_t>;

class Reader {
 public:
  explicit Reader(Block bytes) : bytes_(bytes) {}

  uint8_t Byte() { return at_ == bytes_.size() ? 0 : bytes_[at_++]; }
  uint64_t Below(uint64_t count) {
    const uint64_t high = Byte();
    return (high << 8 | Byte()) % count;
  }
  Block Some(size_t most) {
    const size_t wanted = Byte() % (most + 1), size = std::min(wanted, bytes_.size() - at_);
    at_ += size;
    return bytes_.subspan(at_ - size, size);
  }

 private:
  Block bytes_;
  size_t at_ = 0;
};

// One shard, its file in memory that ends where the file ends, so that a sanitizer sees a read beyond.
struct File {
  std::unique_ptr<uint8_t[]> bytes;
  size_t size = 0;
  std::vector<uint64_t> offsets;

  Block span() const { return {bytes.get(), size}; }
};

uint64_t Offset(Reader* reader, const std::vector<uint64_t>& headers, size_t size) {
  switch (reader->Byte() % 8) {
    case 0:
      return reader->Below(size + 2);
    case 1:
      return size - reader->Byte() % 20;  // May wrap.
    case 2:
      return UINT64_MAX - reader->Byte();
    case 3:
      return uint64_t{1} << reader->Byte() % 64;
    default:
      return headers[reader->Byte() % headers.size()];
  }
}

File MakeFile(Reader* reader) {
  Bytes content;
  std::vector<uint64_t> headers;
  for (int i = reader->Byte() % 5; i > 0; --i) {
    headers.push_back(content.size());
    const Block script = reader->Some(60);
    Bytes record = reader->Byte() % 8 == 0 ? Bytes(script.begin(), script.end())
                                           : wellfed::fuzz::Script(script).Record();
    // A field that nobody knows, so that records are as long as those that are parsed in a copy.
    if (const size_t more = reader->Byte() % 8; more < 4) {
      const size_t size = 127 + 300 * more;
      record.insert(record.end(),
                    {0x7a, static_cast<uint8_t>(size % 128 + 128), static_cast<uint8_t>(size / 128)});
      record.resize(record.size() + size);
    }
    wellfed::AppendFrame(record, &content);
  }
  headers.push_back(content.size());
  for (int i = reader->Byte() % 4; i > 1 && !content.empty(); --i) {
    content[reader->Below(content.size())] ^= reader->Byte();
  }
  if (reader->Byte() % 8 == 0) content.resize(reader->Below(content.size() + 1));
  File file{std::make_unique<uint8_t[]>(content.size()), content.size(), {}};
  std::copy(content.begin(), content.end(), file.bytes.get());
  for (int i = reader->Byte() % 8; i > 0; --i)
    file.offsets.push_back(Offset(reader, headers, content.size()));
  return file;
}

FrameStatus StatusAt(Block file, uint64_t offset, bool check) {
  if (offset >= file.size()) return FrameStatus::kTruncated;
  switch (Judge(file.subspan(offset))) {
    case Verdict::kRecord:
      return FrameStatus::kOk;
    case Verdict::kBadLength:
      return FrameStatus::kBadLengthCrc;
    case Verdict::kBadPayload:
      return check ? FrameStatus::kBadPayloadCrc : FrameStatus::kOk;
    default:
      return FrameStatus::kTruncated;
  }
}

Block PayloadAt(Block file, uint64_t offset) {
  return file.subspan(offset + 12, wellfed::reference::Number(file.subspan(offset, 8)));
}

const FeatureSpec kNumber{"i", Kind::kInt64, Layout::kFixed, 1, true, {1, 2, 3, 4, 5, 6, 7, 8}, {}};

const ExampleParser& Parser(bool words) {
  static const ExampleParser with_words(
      {kNumber, FeatureSpec{"words", Kind::kBytes, Layout::kVar, 1, false, {}, {}}});
  static const ExampleParser numbers({kNumber});  // Parsed in a copy, where rows come at random.
  return words ? with_words : numbers;
}

// Columns of as many rows, and what is in one of them.
struct Columns {
  Columns(uint64_t rows, bool words) : dense(rows * 8 + 1), columns(words ? 2 : 1) {
    columns[0].dense = dense.data();
  }

  Bytes Row(uint64_t row) const {
    Bytes bytes(dense.begin() + static_cast<std::ptrdiff_t>(8 * row),
                dense.begin() + static_cast<std::ptrdiff_t>(8 * (row + 1)));
    if (columns.size() == 1) return bytes;
    const auto& words = columns[1];
    for (auto i = words.row_splits[row]; i < words.row_splits[row + 1]; ++i) {
      const auto at = static_cast<size_t>(i);
      bytes.insert(bytes.end(), words.starts[at], words.starts[at] + words.sizes[at]);
      bytes.push_back('/');
    }
    return bytes;
  }

  Bytes dense;
  std::vector<Column> columns;
};

// One record by itself: its row, or why it has none.
ParseStatus ParseAlone(Block payload, bool words, Bytes* row) {
  Columns one(1, words);
  ExampleParser::Scratch scratch;
  wellfed::ParseError error;
  Parser(words).Start(1, one.columns);
  const ParseStatus status = Parser(words).Parse(payload, 0, &scratch, one.columns.data(), &error);
  if (status == ParseStatus::kOk) *row = one.Row(0);
  return status;
}

struct Place {
  const File* file;
  uint32_t shard;
  uint64_t record;
};

// Row numbers over all shards.
std::vector<Place> Places(const std::vector<File>& files) {
  std::vector<Place> places;
  for (uint32_t s = 0; s < files.size(); ++s) {
    for (uint64_t r = 0; r < files[s].offsets.size(); ++r) places.push_back({&files[s], s, r});
  }
  return places;
}

void RequirePlace(const RowError& error, const Place& place, uint64_t position) {
  REQUIRE(error.position == position);
  REQUIRE(error.shard == place.shard && error.record == place.record);
  REQUIRE(error.offset == place.file->offsets[place.record]);
}

// The first of `rows` that is not as it is due; rows.size() where there is none.
uint64_t FirstFault(const std::vector<Place>& places, const std::vector<uint64_t>& rows, bool check) {
  uint64_t i = 0;
  while (i < rows.size()) {
    const Place& place = places[rows[i]];
    if (StatusAt(place.file->span(), place.file->offsets[place.record], check) != FrameStatus::kOk) break;
    ++i;
  }
  return i;
}

void CheckCopy(const ShardSet& shards, const std::vector<Place>& places, const std::vector<uint64_t>& rows,
               bool check) {
  std::vector<uint64_t> sizes(rows.size());
  RowError error;
  // Headers come first, all of them.
  bool done = wellfed::MeasureRows(shards, rows, sizes.data(), &error);
  uint64_t fault = FirstFault(places, rows, false);
  REQUIRE(done == (fault == rows.size()));
  Bytes out(done ? std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}) : 0);
  if (done) {
    done = wellfed::CopyRows(shards, rows, check, sizes.data(), out.data(), &error);
    fault = FirstFault(places, rows, check);
    REQUIRE(done == (fault == rows.size()));
  }
  if (!done) {
    const Place& place = places[rows[fault]];
    REQUIRE(error.frame == StatusAt(place.file->span(), place.file->offsets[place.record], check));
    return RequirePlace(error, place, fault);
  }
  const uint8_t* at = out.data();
  for (uint64_t i = 0; i < rows.size(); at += sizes[i++]) {
    const Place& place = places[rows[i]];
    const Block payload = PayloadAt(place.file->span(), place.file->offsets[place.record]);
    REQUIRE(sizes[i] == payload.size() && std::equal(payload.begin(), payload.end(), at));
  }
}

void CheckParse(const ShardSet& shards, const std::vector<Place>& places, const std::vector<uint64_t>& rows,
                bool check, bool words) {
  Columns columns(rows.size(), words);
  RowError error;
  const bool done = wellfed::ParseRows(shards, rows, check, Parser(words), columns.columns.data(), &error);
  for (uint64_t i = 0; i < rows.size(); ++i) {
    const Place& place = places[rows[i]];
    const uint64_t offset = place.file->offsets[place.record];
    const FrameStatus frame = StatusAt(place.file->span(), offset, check);
    Bytes row;
    ParseStatus parse = ParseStatus::kOk;
    if (frame == FrameStatus::kOk) parse = ParseAlone(PayloadAt(place.file->span(), offset), words, &row);
    if (frame != FrameStatus::kOk || parse != ParseStatus::kOk) {
      REQUIRE(!done && error.frame == frame && error.parse.status == parse);
      return RequirePlace(error, place, i);
    }
    REQUIRE(done || error.position > i);
    if (done) REQUIRE(columns.Row(i) == row);
  }
  REQUIRE(done);
}

// One file's records by their offsets, without a set around them.
void CheckFrames(const File& file, bool check) {
  std::vector<int64_t> sizes(file.offsets.size());
  const auto read = wellfed::ReadFrames(file.span(), file.offsets, check, sizes.data());
  REQUIRE(read.count <= file.offsets.size());
  for (size_t i = 0; i < read.count; ++i) {
    REQUIRE(StatusAt(file.span(), file.offsets[i], check) == FrameStatus::kOk);
    REQUIRE(static_cast<uint64_t>(sizes[i]) == PayloadAt(file.span(), file.offsets[i]).size());
  }
  if (read.count < file.offsets.size()) {
    REQUIRE(StatusAt(file.span(), file.offsets[read.count], check) == read.status);
  } else {
    REQUIRE(read.status == FrameStatus::kOk);
  }
}

// Asking ahead gives nothing to compare; a sanitizer sees what it touches.
void CheckAsking(const ShardSet& shards, const std::vector<File>& files, const std::vector<uint64_t>& rows) {
  wellfed::AskForRows(shards, rows);
  for (const File& file : files) {
    std::vector<int64_t> starts, sizes;
    for (const uint64_t offset : file.offsets) {
      starts.push_back(static_cast<int64_t>(offset));
      sizes.push_back(static_cast<int64_t>(offset ^ file.size));
    }
    wellfed::AskForRanges(file.span(), starts, sizes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Reader reader({data, size});
  std::vector<File> files;
  for (int i = 1 + reader.Byte() % 4; i > 0; --i) files.push_back(MakeFile(&reader));
  std::vector<Shard> given;
  for (const File& file : files) given.push_back({file.span(), file.offsets});
  const ShardSet shards(std::move(given));
  const std::vector<Place> places = Places(files);
  REQUIRE(shards.rows() == places.size());
  for (uint64_t row = 0; row < places.size(); ++row) REQUIRE(shards.Find(row) == places[row].shard);
  std::vector<uint64_t> rows;
  for (int i = places.empty() ? 0 : reader.Byte() % 100; i > 0; --i)
    rows.push_back(reader.Below(places.size()));
  CheckAsking(shards, files, rows);
  for (const bool check : {true, false}) {
    CheckCopy(shards, places, rows, check);
    CheckParse(shards, places, rows, check, true);
    CheckParse(shards, places, rows, check, false);
    for (const File& file : files) CheckFrames(file, check);
  }
  return 0;
}
