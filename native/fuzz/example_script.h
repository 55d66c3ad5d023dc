// Turns any bytes into an Example: blind mutation all but never keeps the lengths of nested messages, so half
// of the inputs are read as a script that says what to put together.
#ifndef WELLFED_FUZZ_EXAMPLE_SCRIPT_H_
#define WELLFED_FUZZ_EXAMPLE_SCRIPT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "wire.h"

namespace wellfed::fuzz {

using Bytes = std::vector<uint8_t>;

class Script {
 public:
  explicit Script(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool done() const { return at_ == bytes_.size(); }

  // A Features or FeatureLists field; `lists` says which.
  Bytes Message(bool lists) {
    Bytes inside;
    for (int i = Below(6); i > 0 && !done(); --i) Append(&inside, Entry(lists));
    if (Below(8) == 0) Append(&inside, Unknown());
    return Field(lists ? 2 : 1, inside);
  }

  // A whole record: mostly one Features, sometimes feature lists, more than one of each, or unknown fields.
  Bytes Record() {
    Bytes record;
    if (Below(8) == 0) Append(&record, Unknown());
    Append(&record, Message(false));
    while (!done() && Below(3) == 0) Append(&record, Message(Below(2) == 0));
    if (Below(16) == 0 && !record.empty()) record.resize(record.size() - 1 - record.size() / 8);
    return record;
  }

 private:
  uint8_t Next() { return done() ? 0 : bytes_[at_++]; }
  int Below(int count) { return Next() % count; }

  static void Append(Bytes* to, const Bytes& from) { to->insert(to->end(), from.begin(), from.end()); }

  static Bytes Varint(uint64_t value) {
    Bytes bytes(kMaxVarintSize);
    bytes.resize(static_cast<size_t>(WriteVarint(value, bytes.data()) - bytes.data()));
    return bytes;
  }

  static Bytes Field(uint32_t number, const Bytes& inside) {
    Bytes field = Varint(MakeTag(number, WireType::kLength));
    Append(&field, Varint(inside.size()));
    Append(&field, inside);
    return field;
  }

  Bytes Some(int most) {
    Bytes bytes;
    for (int i = Below(most); i > 0; --i) bytes.push_back(Next());
    return bytes;
  }

  uint64_t Number() {
    uint64_t value = Next();
    if (value >= 0xf0) return ~(value & 0xf);
    return value < 0x80 ? value : value << (value & 63);
  }

  Bytes Unknown() {
    switch (Below(6)) {
      case 0:
        return {0x48, Next()};
      case 1:
        return Field(static_cast<uint32_t>(1 + Below(12)), Some(8));
      case 2:
        return {0x4d, 1, 2, 3, 4};
      case 3:
        return {0x2b, 0x08, 1, 0x2c};
      case 4:
        return {0x08, Next()};
      default:
        return Some(4);
    }
  }

  Bytes List(int kind) {
    Bytes list;
    for (int chunks = 1 + Below(4) / 3; chunks > 0; --chunks) {
      const bool packed = Below(4) != 0;
      Bytes inside;
      for (int i = Below(12); i > 0; --i) {
        Bytes value = kind == 3 ? Varint(Number()) : kind == 2 ? Bytes{Next(), 0, Next(), 0x40} : Some(12);
        if (kind == 1) value = Field(1, value);
        if (kind != 1 && !packed) list.push_back(kind == 3 ? 0x08 : 0x0d);
        Append(kind != 1 && packed ? &inside : &list, value);
      }
      if (kind != 1 && packed) Append(&list, Field(1, inside));
      if (Below(16) == 0) Append(&list, Unknown());
    }
    return list;
  }

  Bytes Feature(int usual) {
    Bytes feature;
    const int form = Below(16);
    if (form == 0) return feature;
    const int kind = form == 1 ? 1 + Below(3) : usual;
    Append(&feature, Field(static_cast<uint32_t>(kind), List(kind)));
    if (form == 2) Append(&feature, Field(static_cast<uint32_t>(1 + Below(3)), List(usual)));
    if (form == 3) Append(&feature, Unknown());
    return feature;
  }

  Bytes Value(int usual, bool list) {
    if (!list) return Feature(usual);
    Bytes steps;
    for (int i = Below(4); i > 0; --i) Append(&steps, Field(1, Feature(usual)));
    return steps;
  }

  Bytes Entry(bool list) {
    static const char* const kKeys[] = {"i",     "f",     "s",     "raw",      "many",
                                        "reals", "words", "other", "\xc3\xa9", "\xff"};
    static const int kKinds[] = {3, 2, 1, 1, 3, 2, 1, 3, 2, 1};
    const int which = Below(32) < 30 ? Below(9) : 9;
    const std::string_view name = kKeys[which];
    const Bytes key = Field(1, Bytes(name.begin(), name.end()));
    const Bytes value = Field(2, Value(kKinds[which], list));
    Bytes inside;
    switch (Below(24)) {
      case 0:
        Append(&inside, value);
        Append(&inside, key);
        break;
      case 1:
        inside = key;
        break;
      case 2:
        inside = value;
        break;
      case 3:
        inside = key;
        Append(&inside, value);
        Append(&inside, Field(2, Value(kKinds[which], list)));
        break;
      case 4:
        inside = key;
        Append(&inside, Unknown());
        Append(&inside, value);
        break;
      default:
        inside = key;
        Append(&inside, value);
    }
    return Field(1, inside);
  }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace wellfed::fuzz

#endif  // WELLFED_FUZZ_EXAMPLE_SCRIPT_H_
