// A slow reader of Examples, written from protobuf's encoding rules and nothing else: what the parsers are
// compared with. It copies everything, and throws where the bytes are no Example.
#ifndef WELLFED_FUZZ_EXAMPLE_REFERENCE_H_
#define WELLFED_FUZZ_EXAMPLE_REFERENCE_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace wellfed::reference {

using Bytes = std::vector<uint8_t>;

struct Malformed {};

struct Field {
  uint32_t number;
  uint32_t type;
  uint64_t value = 0;  // A varint, or the bits of a fixed number.
  Bytes bytes;
};

class Reader {
 public:
  explicit Reader(const Bytes& bytes) : bytes_(bytes) {}

  bool done() const { return at_ == bytes_.size(); }

  uint8_t Byte() {
    if (done()) throw Malformed();
    return bytes_[at_++];
  }

  uint64_t Varint(int most = 10) {
    uint64_t value = 0;
    for (int i = 0; i < most; ++i) {
      const uint8_t byte = Byte();
      value |= uint64_t{byte & 0x7fu} << 7 * i;
      if (byte < 0x80) return value;
    }
    throw Malformed();
  }

  uint64_t Fixed(int size) {
    uint64_t value = 0;
    for (int i = 0; i < size; ++i) value |= uint64_t{Byte()} << 8 * i;
    return value;
  }

  // The next field; a group is read to its end and has no content. `depth` counts the groups around it.
  Field Next(int depth = 0) {
    const uint64_t tag = Varint(5);
    Field field{static_cast<uint32_t>(tag >> 3), static_cast<uint32_t>(tag & 7), 0, {}};
    if (tag > UINT32_MAX || field.number == 0) throw Malformed();
    switch (field.type) {
      case 0:
        field.value = Varint();
        break;
      case 1:
        field.value = Fixed(8);
        break;
      case 2: {
        const uint64_t size = Varint();
        if (size > bytes_.size() - at_) throw Malformed();
        field.bytes.assign(bytes_.begin() + static_cast<std::ptrdiff_t>(at_),
                           bytes_.begin() + static_cast<std::ptrdiff_t>(at_ + size));
        at_ += size;
        break;
      }
      case 3:
        if (depth == 100) throw Malformed();
        while (Next(depth + 1).type != 4) {
        }
        if (last_end_ != field.number) throw Malformed();
        break;
      case 4:
        if (depth == 0) throw Malformed();
        last_end_ = field.number;
        break;
      case 5:
        field.value = Fixed(4);
        break;
      default:
        throw Malformed();
    }
    return field;
  }

 private:
  const Bytes& bytes_;
  size_t at_ = 0;
  uint32_t last_end_ = 0;
};

inline std::vector<Field> Fields(const Bytes& bytes) {
  std::vector<Field> fields;
  for (Reader reader(bytes); !reader.done();) fields.push_back(reader.Next());
  return fields;
}

inline bool IsUtf8(const Bytes& text) {
  for (size_t at = 0; at < text.size();) {
    const int size = text[at] < 0x80   ? 1
                     : text[at] < 0xc0 ? 0
                     : text[at] < 0xe0 ? 2
                     : text[at] < 0xf0 ? 3
                                       : 4;
    if (size == 0 || text[at] >= 0xf8 || text.size() - at < static_cast<size_t>(size)) return false;
    uint32_t code = size == 1 ? text[at] : text[at] & (0x7fu >> size);
    for (int i = 1; i < size; ++i) {
      if (text[at + static_cast<size_t>(i)] >> 6 != 2) return false;
      code = code << 6 | (text[at + static_cast<size_t>(i)] & 63u);
    }
    const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    at += static_cast<size_t>(size);
  }
  return true;
}

// A Feature's list: `kind` 0 where none is set. Each value is its bytes: 8 of an int64, 4 of a float, a
// string.
struct Feature {
  uint32_t kind = 0;
  std::vector<Bytes> values;
};

inline Bytes Little(uint64_t value, int size) {
  Bytes bytes;
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
  return bytes;
}

inline void ReadList(const Bytes& list, Feature* feature) {
  for (const Field& field : Fields(list)) {
    if (field.number != 1) continue;
    if (feature->kind == 1 && field.type == 2) feature->values.push_back(field.bytes);
    if (feature->kind == 2 && field.type == 5) feature->values.push_back(Little(field.value, 4));
    if (feature->kind == 3 && field.type == 0) feature->values.push_back(Little(field.value, 8));
    if (feature->kind == 1 || field.type != 2) continue;
    for (Reader packed(field.bytes); !packed.done();) {
      const bool real = feature->kind == 2;
      feature->values.push_back(real ? Little(packed.Fixed(4), 4) : Little(packed.Varint(), 8));
    }
  }
}

// `kind` 0 reads whatever kind there is; otherwise lists of other kinds are not looked into.
inline Feature ReadFeature(const std::vector<Bytes>& pieces, uint32_t kind) {
  Feature feature;
  if (kind == 0) kind = ReadFeature(pieces, 4).kind;
  for (const Bytes& piece : pieces) {
    for (const Field& field : Fields(piece)) {
      if (field.type != 2 || field.number > 3) continue;
      if (field.number != feature.kind) feature = {field.number, {}};
      if (field.number == kind) ReadList(field.bytes, &feature);
    }
  }
  return feature;
}

// Key to the pieces of its value, of the map message in field `owner`.
using Map = std::map<std::string, std::vector<Bytes>>;

inline Map ReadMap(const Bytes& record, uint32_t owner) {
  Map map;
  for (const Field& whole : Fields(record)) {
    if (whole.number != owner || whole.type != 2) continue;
    for (const Field& entry : Fields(whole.bytes)) {
      if (entry.number != 1 || entry.type != 2) continue;
      std::string key;
      std::vector<Bytes> values;
      for (const Field& part : Fields(entry.bytes)) {
        if (part.type != 2) continue;
        if (part.number == 1 && !IsUtf8(part.bytes)) throw Malformed();
        if (part.number == 1) key.assign(part.bytes.begin(), part.bytes.end());
        if (part.number == 2) values.push_back(part.bytes);
      }
      map[key] = std::move(values);
    }
  }
  return map;
}

}  // namespace wellfed::reference

#endif  // WELLFED_FUZZ_EXAMPLE_REFERENCE_H_
