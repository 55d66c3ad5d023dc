// Serialized Examples by hand, one protobuf field at a time.
#ifndef WELLFED_TESTS_EXAMPLE_BYTES_H_
#define WELLFED_TESTS_EXAMPLE_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "example_parse.h"
#include "wire.h"

namespace wellfed::testing {

using Bytes = std::vector<uint8_t>;

inline Bytes Join(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline Bytes Text(const std::string& text) { return Bytes(text.begin(), text.end()); }

inline Bytes Varint(uint64_t value) {
  Bytes bytes(kMaxVarintSize);
  bytes.resize(static_cast<size_t>(WriteVarint(value, bytes.data()) - bytes.data()));
  return bytes;
}

// A length-delimited field.
inline Bytes Field(uint32_t number, const Bytes& inside) {
  return Join({Varint(MakeTag(number, WireType::kLength)), Varint(inside.size()), inside});
}

inline Bytes Int64Field(uint32_t number, uint64_t value) {
  return Join({Varint(MakeTag(number, WireType::kVarint)), Varint(value)});
}

inline Bytes FloatBytes(float value) {
  Bytes bytes(4);
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  StoreLE32(bits, bytes.data());
  return bytes;
}

// The insides of lists.
inline Bytes PackedInts(const std::vector<int64_t>& values) {
  Bytes inside;
  for (const int64_t value : values) inside = Join({inside, Varint(static_cast<uint64_t>(value))});
  return Field(1, inside);
}

inline Bytes LooseInts(const std::vector<int64_t>& values) {
  Bytes inside;
  for (const int64_t value : values) inside = Join({inside, Int64Field(1, static_cast<uint64_t>(value))});
  return inside;
}

inline Bytes PackedFloats(const std::vector<float>& values) {
  Bytes inside;
  for (const float value : values) inside = Join({inside, FloatBytes(value)});
  return Field(1, inside);
}

inline Bytes LooseFloats(const std::vector<float>& values) {
  Bytes inside;
  for (const float value : values)
    inside = Join({inside, Varint(MakeTag(1, WireType::kFixed32)), FloatBytes(value)});
  return inside;
}

inline Bytes Strings(const std::vector<std::string>& strings) {
  Bytes inside;
  for (const std::string& string : strings) inside = Join({inside, Field(1, Text(string))});
  return inside;
}

// A Feature that holds one list.
inline Bytes Feature(Kind kind, const Bytes& list) { return Field(static_cast<uint32_t>(kind), list); }
inline Bytes Ints(const std::vector<int64_t>& values) { return Feature(Kind::kInt64, PackedInts(values)); }

// A map entry, as a field of its map.
inline Bytes Entry(const std::string& key, const Bytes& value) {
  return Field(1, Join({Field(1, Text(key)), Field(2, value)}));
}

inline Bytes Example(std::initializer_list<Bytes> entries) { return Field(1, Join(entries)); }

}  // namespace wellfed::testing

#endif  // WELLFED_TESTS_EXAMPLE_BYTES_H_
