#include "frame_search.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "crc32c.h"
#include "range_sums.h"
#include "record_bytes.h"
#include "testing.h"

namespace wellfed {
namespace {

using testing::RecordBytes;
using Bytes = std::vector<uint8_t>;

Bytes Noise(size_t size) {
  Bytes bytes(size);
  uint64_t state = 7;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((state = state * 6364136223846793005u + 1) >> 56);
  return bytes;
}

void PutHeader(uint64_t length, Bytes* block) {
  const size_t at = block->size();
  block->resize(at + kHeaderSize);
  StoreLE64(length, block->data() + at);
  StoreLE32(MaskCrc(Crc32cOfWord(length)), block->data() + at + 8);
}

// Headers that stand, one behind the other, each of which claims half of the block.
Bytes Headers(size_t count) {
  Bytes block;
  for (size_t i = 0; i < count; ++i) PutHeader(count * kHeaderSize / 2, &block);
  return block;
}

// The same with a true record of no bytes behind each.
Bytes HeadersAndRecords(size_t count) {
  Bytes block;
  const uint64_t size = count * (kHeaderSize + kFrameOverhead);
  for (size_t i = 0; i < count; ++i) {
    PutHeader(size / 2, &block);
    AppendFrame({}, &block);
  }
  return block;
}

// Walks over all damage as a reader that skips it does, and gives how many records it met.
size_t WalkOver(FrameSearch* search, size_t size) {
  std::vector<uint64_t> offsets;
  for (uint64_t pos = 0; pos < size;) {
    const ScanResult scan = search->Scan(pos, UINT64_MAX, &offsets);
    pos = scan.position < size ? search->Find(scan.position + 1) : size;
  }
  return offsets.size();
}

// --- Sums of ranges

TEST(ASumOfAnyRangeIsTheOneOfItsBytes) {
  const Bytes block = Noise(5000);
  for (const uint64_t pos : {0, 1, 700, 768, 769, 3000}) {
    RangeSums sums(block);
    for (const uint64_t length : {0, 1, 767, 1536, 1537, 1999, 2000}) {
      EXPECT_EQ(sums.Of(pos, length), Crc32c(block.data() + pos, length)) << pos << ", " << length;
    }
  }
}

TEST(SumsMayBeAskedForInAnyOrder) {
  const Bytes block = Noise(9000);
  RangeSums sums(block);
  uint64_t state = 1;
  for (int i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005u + 1;
    const uint64_t pos = (state >> 33) % 9001, length = (state >> 13) % (9001 - pos);
    EXPECT_EQ(sums.Of(pos, length), Crc32c(block.data() + pos, length)) << pos << ", " << length;
  }
}

TEST(ARangeThatWasCoveredIsNotSummedAgain) {
  const Bytes block = Noise(1 << 20);
  RangeSums sums(block);
  sums.Of(0, block.size());
  const uint64_t once = sums.summed();
  sums.Of(5000, block.size() - 9000);
  EXPECT(once <= block.size() + 1536) << once;
  EXPECT(sums.summed() - once <= 1536) << sums.summed() - once;
}

// --- Searches

TEST(ASearchGivesWhatTheFunctionsGive) {
  RecordBytes file;
  file.Write("first").Write("").Write(std::string(5000, 'x')).Write("last");
  file.FlipBit(file.Payload(2) + 4000, 1);
  FrameSearch search(file.span());
  for (uint64_t from = 0; from <= file.size(); ++from) {
    std::vector<uint64_t> due, found;
    const ScanResult scan = ScanFrames(file.span(), from, UINT64_MAX, true, &due);
    const ScanResult again = search.Scan(from, UINT64_MAX, &found);
    EXPECT_EQ(again.status, scan.status) << from;
    EXPECT_EQ(again.position, scan.position) << from;
    EXPECT_EQ(found, due) << from;
    EXPECT_EQ(search.Find(from), FindFrame(file.span(), from)) << from;
  }
}

TEST(ASearchScansAsManyRecordsAsAsked) {
  RecordBytes file;
  file.Write("one").Write("two");
  std::vector<uint64_t> offsets;
  const ScanResult scan = FrameSearch(file.span()).Scan(0, 1, &offsets);
  EXPECT_EQ(scan.status, FrameStatus::kOk);
  EXPECT_EQ(scan.position, file.Header(1));
  EXPECT_EQ(offsets, (std::vector<uint64_t>{0}));
}

// Each of n headers may cost what a few ranges of 768 bytes take, never what it claims.
constexpr uint64_t kMostPerHeader = 2 * 1536;

TEST(ASearchAmongHeadersThatClaimOneAnothersBytesIsLinear) {
  for (const size_t count : {size_t{1} << 10, size_t{1} << 14, size_t{1} << 17}) {
    const Bytes block = Headers(count);
    FrameSearch search(block);
    EXPECT_EQ(search.Find(0), block.size());
    EXPECT(search.summed() <= block.size() + count * kMostPerHeader) << count << ": " << search.summed();
  }
}

TEST(AWalkFromOneFalseHeaderToTheNextIsLinear) {
  for (const size_t count : {size_t{1} << 10, size_t{1} << 16}) {
    const Bytes block = HeadersAndRecords(count);
    FrameSearch search(block);
    EXPECT_EQ(WalkOver(&search, block.size()), count);
    EXPECT(search.summed() <= block.size() + 2 * count * kMostPerHeader) << count << ": " << search.summed();
  }
}

TEST(TrueRecordsAreSummedOnce) {
  RecordBytes file;
  for (int i = 0; i < 50; ++i) file.Write(std::string(9000 + i, 'x'));
  FrameSearch search(file.span());
  EXPECT_EQ(WalkOver(&search, file.size()), 50u);
  EXPECT(search.summed() <= file.size() + 50 * 768) << search.summed();
}

}  // namespace
}  // namespace wellfed
