// Bytes as numbers: little-endian loads and stores, and protobuf's wire format behind a bounds-checked
// cursor.
//
//   field  = tag, value            tag    = varint of (field number << 3 | wire type)
//   varint = 1 to 10 bytes, 7 bits each, lowest first, top bit set on all but the last
//
// Source: protobuf.dev/programming-guides/encoding.
#ifndef WELLFED_WIRE_H_
#define WELLFED_WIRE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace wellfed {

// --- Little-endian numbers at any address. REQUIRES: the bytes are there.

inline uint16_t SwapBytes(uint16_t v) { return static_cast<uint16_t>(v >> 8 | v << 8); }

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

enum class WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLength = 2,
  kGroupStart = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};

inline constexpr int kMaxVarintSize = 10;
inline constexpr int kMaxGroupDepth = 100;  // protobuf's own limit.

constexpr uint32_t MakeTag(uint32_t field, WireType type) { return field << 3 | static_cast<uint32_t>(type); }
constexpr uint32_t TagField(uint32_t tag) { return tag >> 3; }
constexpr WireType TagType(uint32_t tag) { return static_cast<WireType>(tag & 7); }

// Bytes that `value` takes as a varint: 1 to 10.
constexpr int VarintSize(uint64_t value) { return (static_cast<int>(std::bit_width(value | 1)) + 6) / 7; }

// Writes `value` and returns the byte after it. REQUIRES: VarintSize(value) bytes of room.
inline uint8_t* WriteVarint(uint64_t value, uint8_t* out) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Eats a span of bytes from the front. Every read is checked against the end: on false nothing was eaten and
// the result is untouched. A copy is a bookmark. Not thread-safe; the bytes must outlive it.
class Cursor {
 public:
  Cursor() = default;
  Cursor(const uint8_t* begin, const uint8_t* end) : at_(begin), end_(end) {}
  explicit Cursor(std::span<const uint8_t> bytes) : Cursor(bytes.data(), bytes.data() + bytes.size()) {}

  bool done() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  const uint8_t* at() const { return at_; }
  const uint8_t* end() const { return end_; }

  // A varint of up to 10 bytes. As in protobuf, bits beyond the 64th are dropped.
  bool ReadVarint(uint64_t* value) {
    if (at_ != end_ && *at_ < 0x80) {
      *value = *at_++;
      return true;
    }
    return ReadLongVarint(value);
  }

  // A tag: a varint of at most 5 bytes, below 2^32, whose field number is not 0.
  bool ReadTag(uint32_t* tag) {
    uint64_t value;
    const uint8_t* const start = at_;
    if (!ReadVarint(&value)) return false;
    if (at_ - start > 5 || value > UINT32_MAX || value < 8) {
      at_ = start;
      return false;
    }
    *tag = static_cast<uint32_t>(value);
    return true;
  }

  bool ReadFixed32(uint32_t* value) {
    if (left() < 4) return false;
    *value = LoadLE32(at_);
    at_ += 4;
    return true;
  }

  bool ReadFixed64(uint64_t* value) {
    if (left() < 8) return false;
    *value = LoadLE64(at_);
    at_ += 8;
    return true;
  }

  // A varint length and that many bytes.
  bool ReadBytes(std::span<const uint8_t>* bytes) {
    const uint8_t* const start = at_;
    uint64_t size;
    if (!ReadVarint(&size)) return false;
    if (size > left()) {
      at_ = start;
      return false;
    }
    *bytes = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }

  // REQUIRES: size <= left().
  void Advance(size_t size) { at_ += size; }

  // A nested message: as ReadBytes.
  bool ReadMessage(Cursor* message) {
    std::span<const uint8_t> bytes;
    if (!ReadBytes(&bytes)) return false;
    *message = Cursor(bytes);
    return true;
  }

  // Passes over the value of a field whose tag was just read; a group with all that is in it, as protobuf
  // does. False also for unknown wire types and for a group's end without its start.
  bool SkipValue(uint32_t tag) {
    if (TagType(tag) != WireType::kGroupStart) return SkipScalar(tag);
    const uint8_t* const start = at_;
    if (SkipGroup(TagField(tag))) return true;
    at_ = start;
    return false;
  }

 private:
  bool SkipScalar(uint32_t tag) {
    uint64_t number;
    std::span<const uint8_t> bytes;
    switch (TagType(tag)) {
      case WireType::kVarint:
        return ReadVarint(&number);
      case WireType::kFixed64:
        return ReadFixed64(&number);
      case WireType::kLength:
        return ReadBytes(&bytes);
      case WireType::kFixed32:
        if (left() < 4) return false;
        at_ += 4;
        return true;
      default:
        return false;
    }
  }

  bool SkipGroup(uint32_t field) {
    uint32_t open[kMaxGroupDepth] = {field};
    int depth = 1;
    while (depth > 0) {
      uint32_t tag;
      if (!ReadTag(&tag)) return false;
      if (TagType(tag) == WireType::kGroupStart) {
        if (depth == kMaxGroupDepth) return false;
        open[depth++] = TagField(tag);
      } else if (TagType(tag) == WireType::kGroupEnd) {
        if (open[--depth] != TagField(tag)) return false;
      } else if (!SkipScalar(tag)) {
        return false;
      }
    }
    return true;
  }

  bool ReadLongVarint(uint64_t* value) {
    uint64_t result = 0;
    const uint8_t* at = at_;
    for (int shift = 0; shift < 7 * kMaxVarintSize && at != end_; shift += 7) {
      const uint64_t byte = *at++;
      result |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        at_ = at;
        *value = result;
        return true;
      }
    }
    return false;
  }

  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
};

}  // namespace wellfed

#endif  // WELLFED_WIRE_H_
