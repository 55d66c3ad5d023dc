// TFRecord framing: finds, checks and appends records.
//
//   uint64 length (LE) | uint32 masked CRC-32C of the 8 length bytes | payload | uint32 masked CRC-32C of
//   payload
#ifndef WELLFED_FRAMING_H_
#define WELLFED_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "crc32c.h"
#include "wire.h"

namespace wellfed {

inline constexpr uint64_t kHeaderSize = 12;
inline constexpr uint64_t kFooterSize = 4;
inline constexpr uint64_t kFrameOverhead = kHeaderSize + kFooterSize;

enum class FrameStatus : int {
  kOk = 0,            // A whole record, or `max_records` of them.
  kEnd = 1,           // No byte is left.
  kTruncated = 2,     // The block ends inside the record at `position`.
  kBadLengthCrc = 3,  // The record at `position` has a length that its checksum denies.
  kBadPayloadCrc = 4,
};

struct Frame {
  const uint8_t* payload;
  uint64_t length;
};

// Reads frames with a checksum that is looked up once: what a loop over records holds. Thread-safe; copyable.
class FrameReader {
 public:
  explicit FrameReader(const Crc32cImplementation& crc = BestCrc32c())
      : of_word_(crc.of_word), extend_(crc.extend) {}

  // The length of the record at `pos`, once its sum holds and the record can be inside the block.
  // REQUIRES: pos <= block.size().
  FrameStatus ReadLength(std::span<const uint8_t> block, uint64_t pos, uint64_t* length) const {
    const uint64_t left = block.size() - pos;
    if (left < kHeaderSize) return left == 0 ? FrameStatus::kEnd : FrameStatus::kTruncated;
    const uint8_t* const header = block.data() + pos;
    const uint64_t found = LoadLE64(header);
    // A flipped bit in the length would lead to a false record far down the block.
    if (MaskCrc(of_word_(found)) != LoadLE32(header + 8)) return FrameStatus::kBadLengthCrc;
    // Subtract, never add: `found` comes from the file and may be near 2^64.
    if (left < kFrameOverhead || found > left - kFrameOverhead) return FrameStatus::kTruncated;
    *length = found;
    return FrameStatus::kOk;
  }

  // Reads the record whose header starts at `pos`. Touches no byte outside `block`; trusts the length only
  // once its checksum holds. `check` covers the payload's sum; the header's is always proved. REQUIRES: pos
  // <= block.size().
  FrameStatus Read(std::span<const uint8_t> block, uint64_t pos, bool check, Frame* frame) const {
    uint64_t length;
    const FrameStatus status = ReadLength(block, pos, &length);
    if (status != FrameStatus::kOk) return status;
    const uint8_t* const payload = block.data() + pos + kHeaderSize;
    if (check && MaskCrc(extend_(0, payload, length)) != LoadLE32(payload + length)) {
      return FrameStatus::kBadPayloadCrc;
    }
    *frame = {payload, length};
    return FrameStatus::kOk;
  }

 private:
  uint32_t (*of_word_)(uint64_t word);
  uint32_t (*extend_)(uint32_t crc, const uint8_t* data, size_t size);
};

// One frame, as FrameReader::Read.
inline FrameStatus ReadFrame(std::span<const uint8_t> block, uint64_t pos, bool check, Frame* frame) {
  return FrameReader().Read(block, pos, check, frame);
}

struct ScanResult {
  FrameStatus status;
  uint64_t position;  // Header of the first record that was not scanned.
};

// Walks up to `max_records` records from `pos` on and appends the offset of each header to `offsets`. With
// `check` false only headers are touched. A block may end anywhere: after kTruncated a reader of a stream
// keeps the bytes from `position` on and adds more. Where 12 bytes or more are left there, the length they
// hold is proved. REQUIRES: pos <= block.size(). Thread-safe.
ScanResult ScanFrames(std::span<const uint8_t> block, uint64_t pos, uint64_t max_records, bool check,
                      std::vector<uint64_t>* offsets);

// The first position >= pos where a whole record stands whose two sums hold, or block.size() where there is
// none. Takes time in proportion to the block, also where many headers claim the same bytes; FrameSearch
// does for many searches in one block. REQUIRES: pos <= block.size(). Thread-safe.
uint64_t FindFrame(std::span<const uint8_t> block, uint64_t pos);

struct FindResult {
  FrameStatus status;
  uint64_t position;
};

// As FindFrame, for a block after which more bytes may come.
//   kOk: a whole record stands at `position`.
//   kTruncated: a header whose sum holds stands at `position`, its payload has at most `max_length` bytes,
//   and the
//     block ends inside it. The reader keeps the bytes from there on and adds more, or searches from the next
//     byte.
//   kEnd: no record starts in front of `position`; the at most 11 bytes from there on may be the start of
//   one.
// REQUIRES: pos <= block.size(). Thread-safe.
FindResult FindFrameInStream(std::span<const uint8_t> block, uint64_t pos, uint64_t max_length);

// Writes one framed record. REQUIRES: room for payload.size() + kFrameOverhead bytes at `out`, which the
// payload does not overlap.
void WriteFrame(std::span<const uint8_t> payload, uint8_t* out);

// Writes the header and the footer around a payload that lies at `frame` + kHeaderSize already.
// REQUIRES: length + kFrameOverhead bytes at `frame`.
void SealFrame(uint64_t length, uint8_t* frame);

// Appends one framed record. `out` grows by payload.size() + kFrameOverhead.
void AppendFrame(std::span<const uint8_t> payload, std::vector<uint8_t>* out);

}  // namespace wellfed

#endif  // WELLFED_FRAMING_H_
