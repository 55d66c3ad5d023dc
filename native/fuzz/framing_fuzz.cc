// Framing against its definition, on any bytes. Where they differ, the process aborts.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "../tests/reference.h"
#include "frame_search.h"
#include "framing.h"
#include "range_sums.h"
#include "require.h"
#include "wire.h"

using wellfed::FrameStatus;
using wellfed::reference::Judge;
using wellfed::reference::Verdict;
using Block = std::span<const uint8_t>;
using Offsets = std::vector<uint64_t>;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

FrameStatus StatusOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRecord:
      return FrameStatus::kOk;
    case Verdict::kEnd:
      return FrameStatus::kEnd;
    case Verdict::kTruncated:
      return FrameStatus::kTruncated;
    case Verdict::kBadLength:
      return FrameStatus::kBadLengthCrc;
    default:
      return FrameStatus::kBadPayloadCrc;
  }
}

// Every record that starts anywhere in the block.
Offsets AllRecords(Block block) {
  Offsets all;
  for (uint64_t at = 0; at + wellfed::kFrameOverhead <= block.size(); ++at) {
    const Block rest = block.subspan(at);
    // Most positions hold no length that could be one: they need no sum.
    if (wellfed::reference::Number(rest.first(8)) > rest.size() - wellfed::kFrameOverhead) continue;
    if (Judge(rest) == Verdict::kRecord) all.push_back(at);
  }
  return all;
}

// A walk ends where the definition says, for the reason it says; what it gave are records one behind the
// other.
void CheckScan(Block block) {
  Offsets offsets;
  const auto result = wellfed::ScanFrames(block, 0, UINT64_MAX, true, &offsets);
  REQUIRE(result.position <= block.size());
  REQUIRE(result.status == StatusOf(Judge(block.subspan(result.position))));
  uint64_t due = 0;
  for (const uint64_t offset : offsets) {
    REQUIRE(offset == due);
    REQUIRE(Judge(block.subspan(offset)) == Verdict::kRecord);
    due = offset + wellfed::kFrameOverhead + wellfed::LoadLE64(&block[offset]);
  }
  REQUIRE(result.position == due);
}

// Without the payloads' sums the walk gives at least the same, and stops only at what headers show.
void CheckHeadersOnly(Block block) {
  Offsets offsets, checked;
  wellfed::ScanFrames(block, 0, UINT64_MAX, true, &checked);
  const auto result = wellfed::ScanFrames(block, 0, UINT64_MAX, false, &offsets);
  REQUIRE(result.status != FrameStatus::kBadPayloadCrc && result.status != FrameStatus::kOk);
  REQUIRE(offsets.size() >= checked.size());
  REQUIRE(std::equal(checked.begin(), checked.end(), offsets.begin()));
  REQUIRE(std::is_sorted(offsets.begin(), offsets.end()));
}

// The search gives every record that there is, and nothing else.
void CheckFind(Block block, const Offsets& all) {
  Offsets found;
  for (uint64_t at = 0; (at = wellfed::FindFrame(block, at)) < block.size(); ++at) found.push_back(at);
  REQUIRE(found == all);
}

// A search in the first part of a block passes over no record of the whole.
void CheckFindInStream(Block block, const Offsets& all) {
  const size_t cut = block.size() - block.size() / 3;
  const Block part = block.first(cut);
  const auto found = wellfed::FindFrameInStream(part, 0, UINT64_MAX);
  REQUIRE(all.empty() || found.position <= all.front());
  if (found.status == FrameStatus::kOk) {
    REQUIRE(Judge(part.subspan(found.position)) == Verdict::kRecord);
  } else if (found.status == FrameStatus::kTruncated) {
    REQUIRE(Judge(part.subspan(found.position)) == Verdict::kTruncated);
    REQUIRE(cut - found.position >= wellfed::kHeaderSize);
  } else {
    REQUIRE(found.status == FrameStatus::kEnd);
    REQUIRE(cut - found.position < wellfed::kHeaderSize);
  }
}

// One search that goes over the block again and again, remembering its sums, gives the same.
void CheckSearch(Block block, const Offsets& all) {
  wellfed::FrameSearch search(block);
  Offsets found;
  for (uint64_t at = 0; (at = search.Find(at)) < block.size(); ++at) found.push_back(at);
  REQUIRE(found == all);
  for (uint64_t at = 0; at <= block.size(); at += 1 + at / 16) {
    Offsets due, scanned;
    const auto expected = wellfed::ScanFrames(block, at, UINT64_MAX, true, &due);
    const auto result = search.Scan(at, UINT64_MAX, &scanned);
    REQUIRE(scanned == due);
    REQUIRE(result.status == expected.status && result.position == expected.position);
  }
}

// The sum of any range is that of its bytes. The block is repeated, so that ranges are longer than marks are
// apart.
void CheckRangeSums(Block block) {
  if (block.size() < 8) return;
  std::vector<uint8_t> bytes;
  while (bytes.size() < 5000) bytes.insert(bytes.end(), block.begin(), block.end());
  wellfed::RangeSums sums(bytes);
  for (size_t at = 0; at + 8 <= std::min<size_t>(block.size(), 64); at += 8) {
    const uint64_t pos = wellfed::LoadLE<uint32_t>(&block[at]) % (bytes.size() + 1);
    const uint64_t length = wellfed::LoadLE<uint32_t>(&block[at + 4]) % (bytes.size() - pos + 1);
    REQUIRE(sums.Of(pos, length) == wellfed::Crc32c(bytes.data() + pos, length));
  }
}

// A reader that gets the block in small parts sees the same records as one that has it whole.
void CheckStream(Block block) {
  Offsets whole, parts;
  const auto due = wellfed::ScanFrames(block, 0, UINT64_MAX, true, &whole);
  const size_t step = block.empty() ? 1 : 1 + block.front() % 61;
  uint64_t position = 0;
  wellfed::ScanResult result = {FrameStatus::kEnd, 0};
  for (size_t size = 0;; size = std::min(block.size(), size + step)) {
    result = wellfed::ScanFrames(block.first(size), position, UINT64_MAX, true, &parts);
    position = result.position;
    const bool wants_more = result.status == FrameStatus::kTruncated || result.status == FrameStatus::kEnd;
    if (!wants_more || size == block.size()) break;
  }
  REQUIRE(parts == whole);
  REQUIRE(result.status == due.status && result.position == due.position);
}

// What is written is a record of the payload.
void CheckWrite(Block payload) {
  std::vector<uint8_t> out = {42};
  wellfed::AppendFrame(payload, &out);
  REQUIRE(out.size() == 1 + wellfed::kFrameOverhead + payload.size());
  REQUIRE(Judge(Block(out).subspan(1)) == Verdict::kRecord);
  REQUIRE(std::equal(payload.begin(), payload.end(), out.begin() + 1 + wellfed::kHeaderSize));
}

void MendSum(uint8_t* sum, Block bytes) {
  wellfed::StoreLE32(wellfed::reference::Masked(wellfed::reference::Crc32c(bytes)), sum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Block block(data, size);
  const Offsets all = AllRecords(block);
  CheckScan(block);
  CheckHeadersOnly(block);
  CheckFind(block, all);
  CheckFindInStream(block, all);
  CheckSearch(block, all);
  CheckRangeSums(block);
  CheckStream(block);
  CheckWrite(block);
  return 0;
}

// Blind mutation all but never hits a sum: this one mends the sums of most mutated inputs as far as they go.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  size_t at = seed % 5 == 0 ? seed / 5 % (size + 1) : 0;
  for (unsigned left = seed / 64 % 8; left > 0 && size - at >= wellfed::kFrameOverhead; --left) {
    MendSum(data + at + 8, {data + at, 8});
    const uint64_t length = wellfed::LoadLE64(data + at);
    if (length > size - at - wellfed::kFrameOverhead) break;
    if (left > 1)
      MendSum(data + at + wellfed::kHeaderSize + length, {data + at + wellfed::kHeaderSize, length});
    at += wellfed::kFrameOverhead + length;
  }
  return size;
}
