#include "framing.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "record_bytes.h"
#include "reference.h"
#include "testing.h"

namespace wellfed {
namespace {

using testing::RecordBytes;
using Offsets = std::vector<uint64_t>;

struct Walk {
  FrameStatus status;
  uint64_t position;
  Offsets offsets;
};

Walk Scan(std::span<const uint8_t> block, uint64_t pos = 0, uint64_t max_records = UINT64_MAX,
          bool check = true) {
  Walk walk;
  const ScanResult result = ScanFrames(block, pos, max_records, check, &walk.offsets);
  walk.status = result.status;
  walk.position = result.position;
  return walk;
}

std::string Hex(std::span<const uint8_t> bytes) {
  std::string hex;
  for (const uint8_t byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

std::vector<uint8_t> Frame(std::string_view payload) {
  std::vector<uint8_t> out;
  AppendFrame({reinterpret_cast<const uint8_t*>(payload.data()), payload.size()}, &out);
  return out;
}

RecordBytes ThreeRecords() {
  RecordBytes file;
  file.Write("first").Write("").Write(std::string(500, 'x'));
  return file;
}

// --- Writing

TEST(FramesEqualTensorFlowsToTheByte) {
  EXPECT_EQ(Hex(Frame("")), "000000000000000029039807d8ea82a2");
  EXPECT_EQ(Hex(Frame("a")), "01000000000000000175de4161786ee428");
  EXPECT_EQ(Hex(Frame("abc")), "0300000000000000b099490e6162636e57f121");
  EXPECT_EQ(Hex(Frame("123456789")), "090000000000000037f97139313233343536373839e5b08ac7");
}

TEST(AppendingKeepsWhatIsThere) {
  std::vector<uint8_t> out = Frame("first");
  AppendFrame({}, &out);
  RecordBytes due;
  due.Write("first").Write("");
  EXPECT_EQ(Hex(out), Hex(due.span()));
}

TEST(SealingFramesAPayloadThatLiesInItsPlace) {
  for (const std::string_view payload : {"", "a", "123456789"}) {
    std::vector<uint8_t> frame(payload.size() + kFrameOverhead, 0x55);
    std::copy(payload.begin(), payload.end(), frame.begin() + kHeaderSize);
    SealFrame(payload.size(), frame.data());
    EXPECT_EQ(Hex(frame), Hex(Frame(payload)));
  }
}

// --- Reading

TEST(EveryRecordIsFoundInOrder) {
  const RecordBytes file = ThreeRecords();
  for (const bool check : {true, false}) {
    const Walk walk = Scan(file.span(), 0, UINT64_MAX, check);
    EXPECT_EQ(walk.status, FrameStatus::kEnd);
    EXPECT_EQ(walk.position, file.size());
    EXPECT_EQ(walk.offsets, file.headers());
  }
}

TEST(AnEmptyBlockEndsAtOnce) {
  const Walk walk = Scan({});
  EXPECT_EQ(walk.status, FrameStatus::kEnd);
  EXPECT_EQ(walk.position, 0u);
  EXPECT_EQ(walk.offsets, Offsets{});
}

TEST(AScanStopsAfterAsManyRecordsAsAsked) {
  const RecordBytes file = ThreeRecords();
  for (size_t count = 0; count <= 3; ++count) {
    const Walk walk = Scan(file.span(), 0, count);
    EXPECT_EQ(walk.status, FrameStatus::kOk) << count;
    EXPECT_EQ(walk.offsets.size(), count);
    EXPECT_EQ(walk.position, count < 3 ? file.Header(count) : file.size());
  }
}

TEST(AScanMayStartAtAnyRecord) {
  const RecordBytes file = ThreeRecords();
  const Walk walk = Scan(file.span(), file.Header(1));
  EXPECT_EQ(walk.offsets, (Offsets{file.Header(1), file.Header(2)}));
}

TEST(AReadFrameGivesThePayload) {
  const RecordBytes file = ThreeRecords();
  wellfed::Frame frame;
  EXPECT_EQ(ReadFrame(file.span(), 0, true, &frame), FrameStatus::kOk);
  EXPECT_EQ(frame.payload, file.span().data() + 12);
  EXPECT_EQ(frame.length, 5u);
  EXPECT_EQ(ReadFrame(file.span(), file.size(), true, &frame), FrameStatus::kEnd);
}

TEST(AReaderWithAnyImplementationReadsTheSameFrames) {
  const RecordBytes file = ThreeRecords();
  for (const Crc32cImplementation& implementation : Crc32cImplementations()) {
    if (!implementation.available()) continue;
    wellfed::Frame frame;
    EXPECT_EQ(FrameReader(implementation).Read(file.span(), file.Header(2), true, &frame), FrameStatus::kOk)
        << implementation.name;
    EXPECT_EQ(frame.length, 500u);
  }
}

// --- Damage

TEST(AFlippedBitIsNamedByTheFieldItHit) {
  for (size_t at = 0; at < 21; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      RecordBytes file = ThreeRecords();
      file.FlipBit(at, bit);
      const Walk walk = Scan(file.span());
      EXPECT_EQ(walk.status, at < 12 ? FrameStatus::kBadLengthCrc : FrameStatus::kBadPayloadCrc)
          << at << ", " << bit;
      EXPECT_EQ(walk.position, 0u);
      EXPECT_EQ(walk.offsets, Offsets{});
    }
  }
}

TEST(APayloadIsNotLookedAtWithoutCheck) {
  RecordBytes file = ThreeRecords();
  file.FlipBit(file.Payload(0), 3);
  EXPECT_EQ(Scan(file.span(), 0, UINT64_MAX, false).offsets, file.headers());
}

TEST(RecordsBeforeTheDamageAreGiven) {
  RecordBytes file = ThreeRecords();
  file.FlipBit(file.Payload(2) + 7, 0);
  const Walk walk = Scan(file.span());
  EXPECT_EQ(walk.offsets, (Offsets{file.Header(0), file.Header(1)}));
  EXPECT_EQ(walk.position, file.Header(2));
}

TEST(ABlockCutAnywhereIsTruncatedAtTheRecordItCuts) {
  const RecordBytes file = ThreeRecords();
  for (size_t size = 0; size < file.size(); ++size) {
    const Walk walk = Scan(file.span().first(size));
    const auto whole = static_cast<size_t>(std::count_if(file.headers().begin() + 1, file.headers().end(),
                                                         [size](uint64_t header) { return header <= size; }));
    const bool between = size == file.Header(whole);
    EXPECT_EQ(walk.status, between ? FrameStatus::kEnd : FrameStatus::kTruncated) << size << " bytes";
    EXPECT_EQ(walk.position, file.Header(whole)) << size << " bytes";
    EXPECT_EQ(walk.offsets.size(), whole) << size << " bytes";
  }
}

TEST(AHugeLengthThatItsSumVouchesForIsTruncated) {
  for (const uint64_t length :
       {uint64_t{550}, uint64_t{1} << 32, uint64_t{1} << 63, UINT64_MAX - 15, UINT64_MAX}) {
    RecordBytes file = ThreeRecords();
    file.SetLength(0, length).FixLengthSum(0);
    for (const bool check : {true, false}) {
      EXPECT_EQ(Scan(file.span(), 0, UINT64_MAX, check).status, FrameStatus::kTruncated) << length;
    }
  }
}

TEST(ABadLengthIsNamedAlsoWhereTheBlockEndsBehindTheHeader) {
  RecordBytes file = ThreeRecords();
  file.FlipBit(0, 0);
  for (size_t size = 12; size < 16; ++size) {
    EXPECT_EQ(Scan(file.span().first(size)).status, FrameStatus::kBadLengthCrc) << size << " bytes";
  }
}

TEST(AnyBytesMayBeAPayloadOnceTheSumIsMended) {
  RecordBytes file = ThreeRecords();
  file.FlipBit(file.Payload(0), 0).FixPayloadSum(0);
  EXPECT_EQ(Scan(file.span()).offsets, file.headers());
}

TEST(ATailOfZerosIsABadLength) {
  RecordBytes file = ThreeRecords();
  const size_t end = file.size();
  file.WriteRaw(std::string(64, '\0'));
  const Walk walk = Scan(file.span());
  EXPECT_EQ(walk.status, FrameStatus::kBadLengthCrc);
  EXPECT_EQ(walk.position, end);
}

// --- Searching

TEST(TheSearchFindsEveryRecordFromEveryPosition) {
  const RecordBytes file = ThreeRecords();
  for (uint64_t from = 0; from <= file.size(); ++from) {
    const auto due = std::lower_bound(file.headers().begin(), file.headers().end(), from);
    EXPECT_EQ(FindFrame(file.span(), from), due == file.headers().end() ? file.size() : *due)
        << "from " << from;
  }
}

TEST(TheSearchGoesOnBehindEveryKindOfDamage) {
  const struct {
    const char* name;
    void (*harm)(RecordBytes*);
  } kinds[] = {{"length", [](RecordBytes* file) { file->FlipBit(file->Header(0), 1); }},
               {"length sum", [](RecordBytes* file) { file->FlipBit(file->Header(0) + 9, 1); }},
               {"payload", [](RecordBytes* file) { file->FlipBit(file->Payload(0), 1); }},
               {"payload sum", [](RecordBytes* file) { file->FlipBit(file->Footer(0), 1); }},
               {"huge length", [](RecordBytes* file) { file->SetLength(0, UINT64_MAX).FixLengthSum(0); }},
               {"length too short", [](RecordBytes* file) { file->SetLength(0, 3).FixLengthSum(0); }},
               {"length too long", [](RecordBytes* file) { file->SetLength(0, 300).FixLengthSum(0); }}};
  for (const auto& kind : kinds) {
    RecordBytes file = ThreeRecords();
    kind.harm(&file);
    EXPECT_EQ(FindFrame(file.span(), 0), file.Header(1)) << kind.name;
  }
}

TEST(TheSearchFindsARecordRightBehindAFalseHeader) {
  for (const uint64_t length : {uint64_t{0}, uint64_t{10}, uint64_t{1} << 20, UINT64_MAX}) {
    RecordBytes file;
    file.Write("").SetLength(0, length).FixLengthSum(0).ShrinkBy(4).Write("true");
    EXPECT_EQ(FindFrame(file.span(), 0), 12u) << length;
  }
}

TEST(TheSearchFindsRecordsThatMovedByLostBytes) {
  RecordBytes file = ThreeRecords();
  file.Erase(3, 4);
  EXPECT_EQ(FindFrame(file.span(), 0), file.Header(1) - 4);
}

TEST(TheSearchTellsBlockSizeWhereThereIsNoRecord) {
  RecordBytes file;
  file.WriteRaw(std::string(100, '\0')).WriteRaw("no record here").WriteRaw(std::string(100, '\xff'));
  for (size_t size = 0; size <= file.size(); ++size) EXPECT_EQ(FindFrame(file.span().first(size), 0), size);
}

TEST(TheSearchTakesNoHeaderWithoutItsPayload) {
  RecordBytes file = ThreeRecords();
  file.ShrinkBy(1);
  EXPECT_EQ(FindFrame(file.span(), file.Header(2)), file.size());
}

TEST(ARecordInsideAPayloadIsFoundOnlyFromBehindItsOuterHeader) {
  const std::vector<uint8_t> inner = Frame("inner");
  RecordBytes file;
  file.Write({reinterpret_cast<const char*>(inner.data()), inner.size()});
  EXPECT_EQ(FindFrame(file.span(), 0), 0u);
  EXPECT_EQ(FindFrame(file.span(), 1), 12u);
}

// --- Streams

TEST(ASearchInAStreamGivesAWholeRecord) {
  const RecordBytes file = ThreeRecords();
  const FindResult found = FindFrameInStream(file.span(), 1, UINT64_MAX);
  EXPECT_EQ(found.status, FrameStatus::kOk);
  EXPECT_EQ(found.position, file.Header(1));
}

TEST(ASearchInAStreamWaitsAtARecordThatTheBlockCuts) {
  const RecordBytes file = ThreeRecords();
  for (size_t size = file.Header(2) + 12; size < file.size(); ++size) {
    const FindResult found = FindFrameInStream(file.span().first(size), file.Header(2), UINT64_MAX);
    EXPECT_EQ(found.status, FrameStatus::kTruncated) << size;
    EXPECT_EQ(found.position, file.Header(2)) << size;
  }
}

TEST(ASearchInAStreamKeepsWhatMayBeTheStartOfAHeader) {
  const RecordBytes file = ThreeRecords();
  for (size_t size = file.Header(2); size < file.Header(2) + 12; ++size) {
    const FindResult found = FindFrameInStream(file.span().first(size), file.Header(1) + 1, UINT64_MAX);
    EXPECT_EQ(found.status, FrameStatus::kEnd) << size;
    EXPECT(found.position <= file.Header(2)) << size;
    EXPECT(size - found.position <= 11) << size;
  }
}

TEST(ASearchInAStreamPassesOverLengthsAboveTheLimit) {
  RecordBytes file = ThreeRecords();
  const FindResult found = FindFrameInStream(file.span(), file.Header(2), 499);
  EXPECT_EQ(found.status, FrameStatus::kEnd);
}

}  // namespace
}  // namespace wellfed
