#include "feature_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "stream_copy.h"

namespace wellfed {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080u;
constexpr uint32_t kValues = MakeTag(1, WireType::kLength);  // A packed chunk, or a byte string.

// In the machine's own order.
void StoreValue(uint64_t value, uint8_t* out) { std::memcpy(out, &value, sizeof(value)); }

// The number in a varint that is all in `x`.
template <typename Word>
uint64_t Join(Word x) {
  x = (x & static_cast<Word>(0x007f007f007f007fu)) | (x & static_cast<Word>(0x7f007f007f007f00u)) >> 1;
  if constexpr (sizeof(Word) > 2) {
    x = (x & static_cast<Word>(0x00003fff00003fffu)) | (x & static_cast<Word>(0x3fff00003fff0000u)) >> 2;
  }
  if constexpr (sizeof(Word) > 4) x = (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
  return x;
}

// One bit for each byte of `x` that ends a varint; the first byte's is the lowest.
uint64_t EndsOf(uint64_t x) { return ((~x & kHighBits) >> 7) * 0x0102040810204080u >> 56; }

// The same for up to 64 bytes. REQUIRES: the 8 bytes before the end can be read.
uint64_t EndsOf(const uint8_t* bytes, size_t size) {
  uint64_t ends = EndsOf(LoadLE64(bytes + size - 8));
  if (size < 8) return ends >> (8 - size);
  ends <<= size - 8;
  for (size_t i = 0; i + 8 < size; i += 8) ends |= EndsOf(LoadLE64(bytes + i)) << i;
  return ends;
}

// Varints that end inside `chunk`.
uint64_t CountVarints(std::span<const uint8_t> chunk) {
  uint64_t count = 0;
  Cursor rest(chunk);
  while (rest.left() >= 8) {
    uint64_t sums = 0;  // Eight counts, a byte each.
    for (int words = 0; words < 255 && rest.left() >= 8; ++words, rest.Advance(8)) {
      sums += (~LoadLE64(rest.at()) & kHighBits) >> 7;
    }
    sums = (sums & 0x00ff00ff00ff00ffu) + (sums >> 8 & 0x00ff00ff00ff00ffu);
    count += sums * 0x0001000100010001u >> 48;
  }
  for (; !rest.done(); rest.Advance(1)) count += *rest.at() < 0x80;
  return count;
}

// Varints of one byte each. The compiler makes vectors of it.
const uint8_t* DecodeBytes(const uint8_t* bytes, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) StoreValue(bytes[i], out + 8 * i);
  return bytes + count;
}

// Decodes varints from `bytes` on that end where `ends` says, to `out` (8 bytes each, native order). Returns
// where the last one ends. No branch depends on what the numbers are, and no load waits for the one before.
// REQUIRES: each is of as many bytes as a Word at most; a Word before `bytes` can be read.
template <typename Word>
const uint8_t* DecodeEnds(const uint8_t* bytes, uint64_t ends, uint8_t* out) {
  const uint8_t* start = bytes;
  for (; ends != 0; ends &= ends - 1, out += 8) {
    const uint8_t* const stop = bytes + std::countr_zero(ends) + 1;
    const auto before =
        static_cast<int>(sizeof(Word)) - static_cast<int>(stop - start);  // Bytes of another number.
    StoreValue(Join(static_cast<Word>(LoadLE<Word>(stop - sizeof(Word)) >> 8 * before)), out);
    start = stop;
  }
  return start;
}

// Decodes the varints of `chunk` to `out`, where there is room for so many. Returns how many; where bytes are
// left in the chunk, the first of them cannot be read, or there are too many. REQUIRES: the 8 bytes before it
// can be read.
uint64_t DecodeVarints(Cursor* chunk, uint8_t* out, uint64_t room) {
  uint64_t count = 0;
  while (!chunk->done()) {
    const size_t size = std::min<size_t>(chunk->left(), 64);
    const uint64_t ends = EndsOf(chunk->at(), size);
    const uint64_t found = static_cast<uint64_t>(std::popcount(ends));
    if (found > room - count) return count;
    const uint64_t more = ends == 0 ? ~uint64_t{0} : ~ends & ~uint64_t{0} >> std::countl_zero(ends);
    const uint64_t two = more & more >> 1;  // Where so many in a row say that another follows.
    const uint64_t four = two & two >> 2;
    const uint8_t* const start = chunk->at();
    uint8_t* const place = out + 8 * count;
    if ((four & four >> 4) != 0) {  // A number of 9 bytes or 10, such as a negative one.
      do {
        uint64_t value;
        if (count == room || !chunk->ReadVarint(&value)) return count;
        StoreValue(value, out + 8 * count++);
      } while (!chunk->done() && chunk->at() < start + size);
      continue;
    }
    const uint8_t* const stop = more == 0   ? DecodeBytes(start, found, place)
                                : two == 0  ? DecodeEnds<uint16_t>(start, ends, place)
                                : four == 0 ? DecodeEnds<uint32_t>(start, ends, place)
                                            : DecodeEnds<uint64_t>(start, ends, place);
    chunk->Advance(static_cast<size_t>(stop - start));
    count += found;
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

bool ReadExactly(const FeatureSpec& spec, std::span<const uint8_t> chunk, uint8_t* dense, bool streams) {
  if (spec.kind == Kind::kInt64) {
    Cursor rest(chunk);
    return DecodeVarints(&rest, dense, spec.count) == spec.count && rest.done();
  }
  if (chunk.size() != spec.row_size()) return false;
  if (spec.kind == Kind::kFloat && std::endian::native != std::endian::little) {
    CopyFloats(chunk.data(), spec.count, dense);
  } else if (streams) {
    StreamCopy(dense, chunk.data(), chunk.size());
  } else if (!chunk.empty()) {
    std::memcpy(dense, chunk.data(), chunk.size());
  }
  return true;
}

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
  const uint64_t count = CountVarints(chunk);
  uint8_t* const place = Place(count, 8);
  count_ += count;
  Cursor rest(chunk);
  uint64_t value, decoded = 0;
  // Nothing is known about what lies before the chunk, so its first numbers are read one at a time. Never
  // more than were counted: a mapped file may be written to meanwhile.
  const auto is_first = [&] { return decoded < count && rest.at() - chunk.data() < 8; };
  while ((place == nullptr || is_first()) && rest.ReadVarint(&value)) {
    if (place != nullptr) StoreValue(value, place + 8 * decoded++);
  }
  if (place != nullptr && rest.at() - chunk.data() >= 8) {
    DecodeVarints(&rest, place + 8 * decoded, count - decoded);
  }
  return rest.done() || Fail(rest);
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
