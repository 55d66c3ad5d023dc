#include "records.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "record_bytes.h"
#include "testing.h"

namespace wellfed {
namespace {

using testing::RecordBytes;

struct Read {
  ReadResult result;
  std::vector<int64_t> sizes;
};

Read ReadAll(const RecordBytes& file, const std::vector<uint64_t>& offsets, bool check = true) {
  Read read{{}, std::vector<int64_t>(offsets.size(), -1)};
  read.result = ReadFrames(file.span(), offsets, check, read.sizes.data());
  return read;
}

TEST(RecordsAreProvedInAnyOrder) {
  RecordBytes file;
  file.Write("one").Write("").Write("three");

  const Read read = ReadAll(file, {file.Header(2), file.Header(0), file.Header(1), file.Header(2)});

  EXPECT_EQ(read.result.status, FrameStatus::kOk);
  EXPECT_EQ(read.result.count, 4u);
  EXPECT_EQ(read.sizes, (std::vector<int64_t>{5, 3, 0, 5}));
}

TEST(NoRecordsAreAllRight) {
  RecordBytes file;

  EXPECT_EQ(ReadAll(file, {}).result.status, FrameStatus::kOk);
}

TEST(AnOffsetThatHoldsNoRecordStopsThere) {
  RecordBytes file;
  file.Write("one").Write("two");
  const uint64_t size = file.span().size();

  for (const uint64_t offset : {uint64_t{1}, size - 11, size, size + 1, uint64_t{1} << 63, ~uint64_t{0}}) {
    const Read read = ReadAll(file, {file.Header(1), offset, file.Header(0)});

    EXPECT_EQ(read.result.count, 1u) << offset;
    EXPECT(read.result.status != FrameStatus::kOk) << offset;
    EXPECT_EQ(read.sizes, (std::vector<int64_t>{3, -1, -1})) << offset;
  }
}

TEST(ManyOffsetsBehindTheBlockAreNotTouchedAhead) {
  RecordBytes file;
  file.Write("one");
  std::vector<uint64_t> offsets(100, ~uint64_t{0} - 5);
  offsets[0] = 0;

  EXPECT_EQ(ReadAll(file, offsets).result.count, 1u);
}

TEST(PayloadsAreCheckedWhereAskedFor) {
  RecordBytes file;
  file.Write("one").Write("two").FlipBit(file.Header(1) + kHeaderSize, 0);
  const std::vector<uint64_t> offsets{file.Header(0), file.Header(1)};

  EXPECT_EQ(ReadAll(file, offsets, true).result.status, FrameStatus::kBadPayloadCrc);
  EXPECT_EQ(ReadAll(file, offsets, false).result.status, FrameStatus::kOk);
}

TEST(SpansAreCopiedToTheirPlaces) {
  const std::string data = "0123456789";
  const std::vector<int64_t> starts{8, 0, 5, 3}, sizes{2, 3, 0, 1}, places{0, 3, 6, 2};
  std::string out(6, '.');

  CopySpans(reinterpret_cast<const uint8_t*>(data.data()), starts, sizes, places,
            reinterpret_cast<uint8_t*>(out.data()));

  EXPECT_EQ(out, "893012");
}

}  // namespace
}  // namespace wellfed
