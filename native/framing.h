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

// Reads the record whose header starts at `pos`. Touches no byte outside `block`; trusts the length only once
// its checksum holds. `check` covers the payload's sum; the header's is always proved. REQUIRES: pos <=
// block.size(). Thread-safe.
FrameStatus ReadFrame(std::span<const uint8_t> block, uint64_t pos, bool check, Frame* frame);

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
// none. REQUIRES: pos <= block.size(). Thread-safe.
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

// Appends one framed record. `out` grows by payload.size() + kFrameOverhead.
void AppendFrame(std::span<const uint8_t> payload, std::vector<uint8_t>* out);

}  // namespace wellfed

#endif  // WELLFED_FRAMING_H_
