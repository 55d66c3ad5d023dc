#include "rows.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "example_bytes.h"
#include "record_bytes.h"
#include "testing.h"

namespace wellfed {
namespace {

using testing::RecordBytes;

// Shards of records whose payload is "shard.record", and the set over them.
class Files {
 public:
  explicit Files(const std::vector<size_t>& counts, size_t padding = 0) {
    files_.resize(counts.size());
    offsets_.resize(counts.size());
    for (size_t s = 0; s < counts.size(); ++s) {
      for (size_t r = 0; r < counts[s]; ++r) {
        const std::string payload = std::to_string(s) + "." + std::to_string(r) + std::string(padding, '.');
        files_[s].Write(payload);
        offsets_[s].push_back(files_[s].Header(r));
        payloads_.push_back(payload);
      }
    }
  }

  RecordBytes& file(size_t shard) { return files_[shard]; }
  std::vector<uint64_t>& offsets(size_t shard) { return offsets_[shard]; }
  const std::vector<std::string>& payloads() const { return payloads_; }

  ShardSet Open() const {
    std::vector<Shard> shards;
    for (size_t s = 0; s < files_.size(); ++s) shards.push_back({files_[s].span(), offsets_[s]});
    return ShardSet(std::move(shards));
  }

 private:
  std::vector<RecordBytes> files_;
  std::vector<std::vector<uint64_t>> offsets_;
  std::vector<std::string> payloads_;
};

struct Read {
  bool done;
  std::vector<std::string> payloads;
  RowError error;
};

Read ReadRows(const ShardSet& shards, const std::vector<uint64_t>& rows, bool check = true) {
  Read read;
  std::vector<const uint8_t*> starts(rows.size());
  std::vector<uint64_t> sizes(rows.size());
  read.done = MeasureRows(shards, rows, sizes.data(), &read.error);
  std::vector<uint8_t> out(std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}));
  read.done = read.done && CopyRows(shards, rows, check, sizes.data(), out.data(), &read.error);
  const uint8_t* at = out.data();
  for (size_t i = 0; read.done && i < rows.size(); at += sizes[i++]) starts[i] = at;
  for (size_t i = 0; read.done && i < rows.size(); ++i) {
    read.payloads.emplace_back(reinterpret_cast<const char*>(starts[i]), sizes[i]);
  }
  return read;
}

std::vector<uint64_t> AllRows(uint64_t count) {
  std::vector<uint64_t> rows(count);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  return rows;
}

TEST(EveryRowIsFoundInItsShardWhateverTheirSizes) {
  for (const std::vector<size_t>& counts :
       {std::vector<size_t>{5}, {1, 1, 1}, {0, 3, 0, 0, 7, 0}, {1, 100, 1}, {64, 64, 64}, {333, 1, 2, 40}}) {
    const Files files(counts);
    const ShardSet shards = files.Open();
    uint64_t row = 0;
    for (uint32_t s = 0; s < counts.size(); ++s) {
      for (size_t r = 0; r < counts[s]; ++r, ++row) EXPECT_EQ(shards.Find(row), s) << "row " << row;
    }
    EXPECT_EQ(shards.rows(), row);
  }
}

TEST(NoShardsHoldNoRows) { EXPECT_EQ(ShardSet({}).rows(), 0u); }

TEST(RowsComeInTheOrderAskedFor) {
  for (const size_t padding : {size_t{0}, size_t{100}, size_t{3000}}) {
    const Files files({70, 0, 130}, padding);
    const ShardSet shards = files.Open();
    std::vector<uint64_t> rows = AllRows(200);
    std::reverse(rows.begin(), rows.end());
    std::swap(rows[3], rows[150]);
    rows.push_back(7);  // A row may come twice.
    const Read read = ReadRows(shards, rows);
    EXPECT_EQ(read.done, true);
    for (size_t i = 0; read.done && i < rows.size(); ++i)
      EXPECT_EQ(read.payloads[i], files.payloads()[rows[i]]);
  }
}

TEST(NoRowsAreReadWithoutATouch) { EXPECT_EQ(ReadRows(Files({3}).Open(), {}).done, true); }

TEST(ADamagedPayloadIsNamedByItsPlace) {
  Files files({40, 50});
  files.file(1).FlipBit(files.file(1).Header(7) + kHeaderSize, 0);
  const Read read = ReadRows(files.Open(), AllRows(90));
  EXPECT_EQ(read.done, false);
  EXPECT_EQ(read.error.frame, FrameStatus::kBadPayloadCrc);
  EXPECT_EQ(read.error.position, 47u);
  EXPECT_EQ(read.error.shard, 1u);
  EXPECT_EQ(read.error.record, 7u);
  EXPECT_EQ(read.error.offset, files.offsets(1)[7]);
}

TEST(ADamagedPayloadPassesWhereSumsAreNotChecked) {
  Files files({40});
  files.file(0).FlipBit(files.file(0).Header(7) + kHeaderSize, 0);
  EXPECT_EQ(ReadRows(files.Open(), AllRows(40), false).done, true);
}

TEST(AHeaderIsProvedAlsoWhereSumsAreNotChecked) {
  Files files({40});
  files.file(0).FlipBit(files.file(0).Header(7), 0);
  const Read read = ReadRows(files.Open(), AllRows(40), false);
  EXPECT_EQ(read.error.frame, FrameStatus::kBadLengthCrc);
  EXPECT_EQ(read.error.position, 7u);
}

TEST(AnOffsetBeyondTheFileIsTruncation) {
  for (const uint64_t offset : {uint64_t{1} << 20, UINT64_MAX, UINT64_MAX - 40}) {
    Files files({40});
    files.offsets(0)[20] = offset;
    const Read read = ReadRows(files.Open(), AllRows(40));
    EXPECT_EQ(read.error.frame, FrameStatus::kTruncated) << "offset " << offset;
    EXPECT_EQ(read.error.position, 20u) << "offset " << offset;
  }
}

TEST(AnOffsetAtTheEndOfTheFileIsTruncation) {
  Files files({4});
  files.offsets(0)[3] = files.file(0).span().size();
  EXPECT_EQ(ReadRows(files.Open(), AllRows(4)).error.frame, FrameStatus::kTruncated);
}

TEST(AnOffsetInsideARecordIsNoRecord) {
  Files files({4}, 100);
  files.offsets(0)[2] += 5;
  EXPECT_EQ(ReadRows(files.Open(), AllRows(4)).done, false);
}

// Example { features { feature { key: "x" value { int64_list { value: 7 } } } } }
const std::string kExample("\x0a\x0c\x0a\x0a\x0a\x01x\x12\x05\x1a\x03\x0a\x01\x07", 14);

FeatureSpec OneInt() {
  FeatureSpec spec;
  spec.key = "x";
  spec.kind = Kind::kInt64;
  return spec;
}

TEST(RowsAreParsedIntoColumns) {
  RecordBytes file;
  std::vector<uint64_t> offsets;
  for (int value = 0; value < 100; ++value) {
    std::string example = kExample;
    example.back() = static_cast<char>(value);
    file.Write(example);
    offsets.push_back(file.Header(static_cast<size_t>(value)));
  }
  const ShardSet shards({{file.span(), offsets}});
  const ExampleParser parser({OneInt()});
  std::vector<uint64_t> rows = AllRows(100);
  std::reverse(rows.begin(), rows.end());
  std::vector<int64_t> out(100);
  std::vector<Column> columns(1);
  columns[0].dense = reinterpret_cast<uint8_t*>(out.data());
  RowError error;
  EXPECT_EQ(ParseRows(shards, rows, true, parser, columns.data(), &error), true);
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], 99 - i);
}

// An Example of `kExample`'s feature and one of `padding` bytes that nobody asks for.
std::string PaddedExample(char value, size_t padding) {
  std::string example = kExample;
  example.back() = value;
  // An unknown field of the Example: number 2, of bytes.
  example += {'\x12', static_cast<char>(padding % 128 + 128), static_cast<char>(padding / 128)};
  return example + std::string(padding, '.');
}

// Records of middle size that are read at random, where a copy of each is parsed; every ninth is too long for
// that.
class Padded {
 public:
  explicit Padded(size_t count) : count_(count), out_(count, -1) {
    for (size_t r = 0; r < count; ++r) {
      file.Write(PaddedExample(static_cast<char>(r), r % 9 == 8 ? 5000 : 400));
      offsets.push_back(file.Header(r));
    }
  }

  // The values of all records, last record first.
  bool Parse(RowError* error) {
    const ShardSet shards({{file.span(), offsets}});
    const ExampleParser parser({OneInt()});
    std::vector<uint64_t> rows = AllRows(count_);
    std::reverse(rows.begin(), rows.end());
    std::vector<Column> columns(1);
    columns[0].dense = reinterpret_cast<uint8_t*>(out_.data());
    return ParseRows(shards, rows, true, parser, columns.data(), error);
  }
  const std::vector<int64_t>& values() const { return out_; }

  RecordBytes file;
  std::vector<uint64_t> offsets;

 private:
  size_t count_;
  std::vector<int64_t> out_;
};

TEST(RowsOfMiddleSizeAreParsedAtRandom) {
  Padded padded(100);
  RowError error;
  EXPECT_EQ(padded.Parse(&error), true);
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(padded.values()[static_cast<size_t>(i)], 99 - i);
}

// Rows and a call that are large enough to be stored past the caches.
TEST(LongRowsAreCopiedWhole) {
  constexpr size_t kRows = 600, kSize = 1000;
  RecordBytes file;
  std::vector<uint64_t> offsets;
  std::string due;
  for (size_t r = 0; r < kRows; ++r) {
    const std::string row(kSize, static_cast<char>(r));
    const testing::Bytes example =
        testing::Example({testing::Entry("x", testing::Feature(Kind::kBytes, testing::Strings({row})))});
    file.Write(std::string(example.begin(), example.end()));
    offsets.push_back(file.Header(r));
    due += row;
  }
  const ShardSet shards({{file.span(), offsets}});
  const ExampleParser parser({{"x", Kind::kBytes, Layout::kRaw, kSize, false, {}, {}}});
  std::string out(due.size(), '-');
  std::vector<Column> columns(1);
  columns[0].dense = reinterpret_cast<uint8_t*>(out.data());
  RowError error;
  EXPECT_EQ(ParseRows(shards, AllRows(kRows), true, parser, columns.data(), &error), true);
  EXPECT_EQ(out == due, true);
}

TEST(AnIndexThatLiesAboutTheNextRecordDoesNotCutThisOne) {
  Padded padded(30);
  padded.offsets[12] = padded.offsets[11] + 20;
  RowError error;
  EXPECT_EQ(padded.Parse(&error), false);
  EXPECT_EQ(error.record, 12u);
  EXPECT_EQ(padded.values()[29 - 13], 13);
}

TEST(AWildOffsetIsTruncationAlsoWhereRecordsAreCopied) {
  for (const uint64_t offset : {uint64_t{1} << 20, UINT64_MAX, UINT64_MAX - 40}) {
    Padded padded(30);
    padded.offsets[12] = offset;
    RowError error;
    EXPECT_EQ(padded.Parse(&error), false) << "offset " << offset;
    EXPECT_EQ(error.frame, FrameStatus::kTruncated) << "offset " << offset;
    EXPECT_EQ(error.record, 12u) << "offset " << offset;
  }
}

TEST(ARowThatIsNoExampleIsNamedByItsPlace) {
  RecordBytes file;
  std::vector<uint64_t> offsets;
  for (size_t r = 0; r < 10; ++r) {
    file.Write(r == 6 ? std::string("\xff") : kExample);
    offsets.push_back(file.Header(r));
  }
  const ShardSet shards({{file.span(), offsets}});
  const ExampleParser parser({OneInt()});
  std::vector<int64_t> out(10);
  std::vector<Column> columns(1);
  columns[0].dense = reinterpret_cast<uint8_t*>(out.data());
  RowError error;
  EXPECT_EQ(ParseRows(shards, AllRows(10), true, parser, columns.data(), &error), false);
  EXPECT_EQ(error.frame, FrameStatus::kOk);
  EXPECT_EQ(error.parse.status, ParseStatus::kMalformed);
  EXPECT_EQ(error.position, 6u);
  EXPECT_EQ(error.record, 6u);
}

#ifndef _WIN32

TEST(RowsOfALyingIndexMayBeAskedFor) {
  Files files({4, 0, 3});
  files.offsets(0) = {UINT64_MAX, 0, 1ull << 62, 8};
  const ShardSet shards = files.Open();
  AskForRows(shards, std::vector<uint64_t>{6, 0, 1, 2, 3, 3, 4});

  EXPECT_EQ(shards.rows(), 7u);
}

#endif

}  // namespace
}  // namespace wellfed
