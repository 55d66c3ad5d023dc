// The slow and obvious: what the kernel is compared with. Shares no code with it.
#ifndef WELLFED_TESTS_REFERENCE_H_
#define WELLFED_TESTS_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace wellfed::reference {

// CRC-32C, bit by bit, from its definition (RFC 3720 appendix B.4).
inline uint32_t Crc32c(std::span<const uint8_t> bytes, uint32_t crc = 0) {
  crc = ~crc;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
  }
  return ~crc;
}

inline uint32_t Masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

inline uint64_t Number(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) value = value << 8 | bytes[i - 1];
  return value;
}

enum class Verdict { kRecord, kEnd, kTruncated, kBadLength, kBadPayload };

// What stands at the start of `bytes`.
inline Verdict Judge(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return Verdict::kEnd;
  if (bytes.size() < 12) return Verdict::kTruncated;
  if (Masked(Crc32c(bytes.first(8))) != Number(bytes.subspan(8, 4))) return Verdict::kBadLength;
  const uint64_t length = Number(bytes.first(8));
  if (bytes.size() < 16 || length > bytes.size() - 16) return Verdict::kTruncated;
  const auto payload = bytes.subspan(12, length);
  if (Masked(Crc32c(payload)) != Number(bytes.subspan(12 + length, 4))) return Verdict::kBadPayload;
  return Verdict::kRecord;
}

}  // namespace wellfed::reference

#endif  // WELLFED_TESTS_REFERENCE_H_
