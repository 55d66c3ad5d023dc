#include "feature_reader.h"

#include <bit>
#include <cstring>

namespace wellfed {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080u;
constexpr uint32_t kValues = MakeTag(1, WireType::kLength);  // A packed chunk, or a byte string.

// Varints that end inside `chunk`. The compiler makes vectors of it.
uint64_t CountVarints(std::span<const uint8_t> chunk) {
  uint64_t count = 0;
  for (const uint8_t byte : chunk) count += byte < 0x80;
  return count;
}

// The number in a varint of at most 8 bytes, all in `x`.
uint64_t Join(uint64_t x) {
  x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
  x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
  return (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
}

// Decodes up to `room` varints to `out` (8 bytes each, native order); returns how many. Eight bytes are
// looked at together: the branches then are on how many numbers they hold, not on the size of each.
uint64_t DecodeVarints(Cursor* chunk, uint8_t* out, uint64_t room) {
  uint64_t count = 0;
  const auto put = [&](uint64_t value) { std::memcpy(out + 8 * count++, &value, 8); };
  while (count < room && !chunk->done()) {
    uint64_t value;
    if (room - count < 8 || chunk->left() < 8) {
      if (!chunk->ReadVarint(&value)) break;
      put(value);
      continue;
    }
    uint64_t x = LoadLE64(chunk->at());
    uint64_t ends = ~x & kHighBits;  // The high bit of each byte that ends a varint.
    if (ends == kHighBits) {
      for (int i = 0; i < 8; ++i) put(x >> 8 * i & 0xff);
      chunk->Advance(8);
      continue;
    }
    if (ends == 0) {
      if (!chunk->ReadVarint(&value)) break;
      put(value);
      continue;
    }
    chunk->Advance(8 - static_cast<size_t>(std::countl_zero(ends)) / 8);
    do {
      const int bits = std::countr_zero(ends) + 1;  // Of the first varint: 8 to 64.
      put(Join(x & (~uint64_t{0} >> (64 - bits))));
      x = x >> (bits - 1) >> 1;
      ends = ends >> (bits - 1) >> 1;
    } while (ends != 0);
  }
  return count;
}

// Floats are little-endian on the wire.
void CopyFloats(const uint8_t* from, uint64_t count, uint8_t* to) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(to, from, count * 4);
  } else {
    for (uint64_t i = 0; i < 4 * count; ++i) to[i ^ 3] = from[i];
  }
}

}  // namespace

bool FeatureReader::Read(std::span<const uint8_t> feature) {
  Cursor fields(feature);
  while (!fields.done()) {
    const Cursor field = fields;
    uint32_t tag;
    if (!fields.ReadTag(&tag)) return Fail(field);
    if (TagType(tag) != WireType::kLength || tag >> 3 > 3) {
      if (!fields.SkipValue(tag)) return Fail(field);
      continue;
    }
    std::span<const uint8_t> list;
    if (!fields.ReadBytes(&list)) return Fail(field);
    const Kind kind = static_cast<Kind>(tag >> 3);
    if (kind != found_) Restart();
    found_ = kind;
    if (kind == spec_.kind && !ReadList(Cursor(list))) return false;
  }
  return true;
}

bool FeatureReader::ReadList(Cursor list) {
  found_ = spec_.kind;
  switch (spec_.kind) {
    case Kind::kBytes:
      return ReadStrings(list);
    case Kind::kFloat:
      return ReadFloats(list);
    case Kind::kInt64:
      return ReadInts(list);
    case Kind::kNone:
      break;
  }
  return Fail(list);
}

void FeatureReader::Restart() {
  count_ = 0;
  column_->values.Truncate(first_value_);
  column_->starts.Truncate(first_string_);
  column_->sizes.Truncate(first_string_);
}

// Room for `count` more values of the row, or nullptr where a dense row has no place for all of them.
uint8_t* FeatureReader::Place(uint64_t count, uint64_t value_size) {
  if (dense_ == nullptr) return column_->values.Grow(count * value_size);
  const bool fits = count_ <= spec_.count && count <= spec_.count - count_;
  return fits ? dense_ + count_ * value_size : nullptr;
}

bool FeatureReader::ReadStrings(Cursor list) {
  while (!list.done()) {
    const Cursor field = list;
    uint32_t tag;
    std::span<const uint8_t> string;
    if (!list.ReadTag(&tag)) return Fail(field);
    if (tag == kValues) {
      if (!list.ReadBytes(&string)) return Fail(field);
      PutString(string);
    } else if (!list.SkipValue(tag)) {
      return Fail(field);
    }
  }
  return true;
}

void FeatureReader::PutString(std::span<const uint8_t> string) {
  string_size_ = string.size();
  if (spec_.layout == Layout::kRaw) {
    if (string.size() == spec_.count) {
      uint8_t* place = dense_ != nullptr ? dense_ : column_->values.Grow(string.size());
      if (!string.empty()) std::memcpy(place, string.data(), string.size());
    }
  } else {
    column_->starts.Push(string.data());
    column_->sizes.Push(string.size());
  }
  ++count_;
}

bool FeatureReader::ReadFloats(Cursor list) {
  while (!list.done()) {
    const Cursor field = list;
    uint32_t tag;
    std::span<const uint8_t> chunk;
    if (!list.ReadTag(&tag)) return Fail(field);
    if (tag == kValues) {
      if (!list.ReadBytes(&chunk) || !PackedFloats(chunk)) return Fail(field);
    } else if (tag == MakeTag(1, WireType::kFixed32)) {
      if (list.left() < 4) return Fail(field);
      PackedFloats({list.at(), 4});
      list.Advance(4);
    } else if (!list.SkipValue(tag)) {
      return Fail(field);
    }
  }
  return true;
}

bool FeatureReader::PackedFloats(std::span<const uint8_t> chunk) {
  if (chunk.size() % 4 != 0) return false;
  const uint64_t count = chunk.size() / 4;
  uint8_t* place = Place(count, 4);
  if (place != nullptr && count > 0) CopyFloats(chunk.data(), count, place);
  count_ += count;
  return true;
}

bool FeatureReader::ReadInts(Cursor list) {
  while (!list.done()) {
    const Cursor field = list;
    uint32_t tag;
    uint64_t value;
    std::span<const uint8_t> chunk;
    if (!list.ReadTag(&tag)) return Fail(field);
    if (tag == kValues) {
      if (!list.ReadBytes(&chunk)) return Fail(field);
      if (!PackedInts(chunk)) return false;
    } else if (tag == MakeTag(1, WireType::kVarint)) {
      if (!list.ReadVarint(&value)) return Fail(field);
      if (uint8_t* place = Place(1, 8)) std::memcpy(place, &value, 8);
      ++count_;
    } else if (!list.SkipValue(tag)) {
      return Fail(field);
    }
  }
  return true;
}

bool FeatureReader::PackedInts(std::span<const uint8_t> chunk) {
  Cursor values(chunk);
  const uint64_t count = CountVarints(chunk);
  if (uint8_t* place = Place(count, 8)) {
    DecodeVarints(&values, place, count);
  } else {
    uint64_t value;
    while (values.ReadVarint(&value)) {
    }
  }
  count_ += count;
  return values.done() || Fail(values);
}

Kind ReadAnyKind(std::span<const std::span<const uint8_t>> pieces, Column* column, const uint8_t** fault) {
  // A reader skips what is not its kind, so the last kind must be known first.
  static const FeatureSpec kSpecs[] = {{"", Kind::kNone, Layout::kVar, 1, false, {}, {}},
                                       {"", Kind::kBytes, Layout::kVar, 1, false, {}, {}},
                                       {"", Kind::kFloat, Layout::kVar, 1, false, {}, {}},
                                       {"", Kind::kInt64, Layout::kVar, 1, false, {}, {}}};
  *fault = nullptr;
  Kind kind = Kind::kNone;
  for (const bool found : {false, true}) {
    FeatureReader reader(kSpecs[static_cast<size_t>(kind)], column, nullptr);
    for (const auto& piece : pieces) {
      if (reader.Read(piece)) continue;
      *fault = reader.fault();
      return Kind::kNone;
    }
    kind = reader.found();
    if (found) break;
  }
  return kind;
}

}  // namespace wellfed
