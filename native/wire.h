// Protocol buffers on the wire: a cursor that never leaves its span.
//
//   field = tag value;  tag = varint of (field number << 3 | wire type)
//   wire type 0: varint;  1: 8 bytes;  2: varint length, then bytes;  3 and 4: a group's begin and end;  5: 4
//   bytes
#ifndef WELLFED_WIRE_H_
#define WELLFED_WIRE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace wellfed {

// --- Little-endian numbers at any address. REQUIRES: the bytes are there.

inline uint32_t SwapBytes(uint32_t v) {
  return (v >> 24) | ((v >> 8) & 0xff00u) | ((v << 8) & 0xff0000u) | (v << 24);
}

inline uint64_t SwapBytes(uint64_t v) {
  return (uint64_t{SwapBytes(static_cast<uint32_t>(v))} << 32) | SwapBytes(static_cast<uint32_t>(v >> 32));
}

template <typename T>
T LoadLE(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof(value));
  if constexpr (std::endian::native == std::endian::big) value = SwapBytes(value);
  return value;
}

template <typename T>
void StoreLE(T value, uint8_t* p) {
  if constexpr (std::endian::native == std::endian::big) value = SwapBytes(value);
  std::memcpy(p, &value, sizeof(value));
}

inline uint32_t LoadLE32(const uint8_t* p) { return LoadLE<uint32_t>(p); }
inline uint64_t LoadLE64(const uint8_t* p) { return LoadLE<uint64_t>(p); }
inline void StoreLE32(uint32_t value, uint8_t* p) { StoreLE(value, p); }
inline void StoreLE64(uint64_t value, uint8_t* p) { StoreLE(value, p); }

// --- Wire format.

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kGroup = 3, kEndGroup = 4, kFixed32 = 5 };

constexpr uint32_t MakeTag(uint32_t field, WireType type) { return field << 3 | type; }

// Reads fields one after another. Each reading function returns false, and does not move, where the bytes do
// not hold what it reads; `position` then tells where. Copyable; a copy reads on by itself.
class Cursor {
 public:
  Cursor(const uint8_t* begin, const uint8_t* end) : p_(begin), end_(end) {}
  explicit Cursor(std::span<const uint8_t> bytes) : Cursor(bytes.data(), bytes.data() + bytes.size()) {}

  const uint8_t* position() const { return p_; }
  const uint8_t* end() const { return end_; }
  size_t left() const { return static_cast<size_t>(end_ - p_); }
  bool done() const { return p_ == end_; }

  // A varint of at most 10 bytes. Bits beyond the 64th are dropped, as protobuf does.
  bool Varint(uint64_t* value) {
    if (p_ < end_ && *p_ < 0x80) [[likely]] {
      *value = *p_++;
      return true;
    }
    return LongVarint(value);
  }

  // The tag of a field: at most 5 bytes and 32 bits, its field number not 0.
  bool Tag(uint32_t* tag) {
    const uint8_t* start = p_;
    uint64_t value;
    if (Varint(&value) && p_ - start <= 5 && value <= UINT32_MAX && value >> 3 != 0) [[likely]] {
      *tag = static_cast<uint32_t>(value);
      return true;
    }
    p_ = start;
    return false;
  }

  // A length and so many bytes, as a view.
  bool Bytes(std::span<const uint8_t>* bytes) {
    const uint8_t* start = p_;
    uint64_t size;
    if (Varint(&size) && size <= left()) [[likely]] {  // Compared with what is left: a sum might wrap.
      *bytes = {p_, static_cast<size_t>(size)};
      p_ += size;
      return true;
    }
    p_ = start;
    return false;
  }

  // REQUIRES: count <= left().
  void Advance(size_t count) { p_ += count; }

  // Passes the value of a field whose tag was read, whatever it is; a group with all that is in it.
  bool Skip(uint32_t tag);

 private:
  bool LongVarint(uint64_t* value) {
    uint64_t sum = 0;
    const size_t most = left() < 10 ? left() : 10;
    for (size_t i = 0; i < most; ++i) {
      sum |= static_cast<uint64_t>(p_[i] & 0x7f) << 7 * i;
      if (p_[i] < 0x80) {
        *value = sum;
        p_ += i + 1;
        return true;
      }
    }
    return false;
  }

  bool SkipGroup(uint32_t field);
  bool SkipScalar(uint32_t tag);

  const uint8_t* p_;  // Invariant: p_ <= end_.
  const uint8_t* end_;
};

inline bool Cursor::SkipScalar(uint32_t tag) {
  uint64_t value;
  std::span<const uint8_t> bytes;
  switch (tag & 7) {
    case kVarint:
      return Varint(&value);
    case kLength:
      return Bytes(&bytes);
    case kFixed64:
    case kFixed32: {
      const size_t size = (tag & 7) == kFixed64 ? 8 : 4;
      if (left() < size) return false;
      p_ += size;
      return true;
    }
    default:
      return false;
  }
}

inline bool Cursor::SkipGroup(uint32_t field) {
  constexpr int kMaxDepth = 100;  // protobuf's own limit.
  uint32_t open[kMaxDepth] = {field};
  int depth = 1;
  while (depth > 0) {
    uint32_t tag;
    if (!Tag(&tag)) return false;
    if ((tag & 7) == kGroup) {
      if (depth == kMaxDepth) return false;
      open[depth++] = tag >> 3;
    } else if ((tag & 7) == kEndGroup) {
      if (open[--depth] != tag >> 3) return false;
    } else if (!SkipScalar(tag)) {
      return false;
    }
  }
  return true;
}

inline bool Cursor::Skip(uint32_t tag) {
  const uint8_t* start = p_;
  if ((tag & 7) == kGroup ? SkipGroup(tag >> 3) : SkipScalar(tag)) return true;
  p_ = start;
  return false;
}

// Bytes that a varint takes: 1 to 10.
constexpr size_t VarintSize(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) * 9 + 64) / 64;
}

// Writes a varint; returns the byte after it. REQUIRES: VarintSize(value) bytes of room at `out`.
inline uint8_t* PutVarint(uint64_t value, uint8_t* out) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

}  // namespace wellfed

#endif  // WELLFED_WIRE_H_
