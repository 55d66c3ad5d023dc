#include "example_encode.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "example_walk.h"
#include "framing.h"
#include "wire.h"

namespace wellfed {
namespace {

// Bytes of a field of one tag byte with `size` bytes in it.
uint64_t FieldSize(uint64_t size) { return 1 + static_cast<uint64_t>(VarintSize(size)) + size; }

uint8_t* WriteHead(uint8_t tag, uint64_t size, uint8_t* out) {
  *out++ = tag;
  return WriteVarint(size, out);
}

uint8_t* WriteBytes(const void* from, uint64_t size, uint8_t* out) {
  if (size > 0) std::memcpy(out, from, size);
  return out + size;
}

uint64_t Int64At(const uint8_t* values, uint64_t i) {
  uint64_t value;
  std::memcpy(&value, values + 8 * i, 8);
  return value;
}

// Bytes of the values inside their list: packed numbers without tag and length, or the strings' fields.
uint64_t PackedSize(const SourceColumn& column, uint64_t first, uint64_t last) {
  uint64_t size = 0;
  switch (column.kind) {
    case Kind::kInt64:
      for (uint64_t i = first; i < last; ++i)
        size += static_cast<uint64_t>(VarintSize(Int64At(column.values, i)));
      return size;
    case Kind::kFloat:
      return 4 * (last - first);
    case Kind::kBytes:
      for (uint64_t i = first; i < last; ++i) size += FieldSize(static_cast<uint64_t>(column.sizes[i]));
      return size;
    case Kind::kNone:
      break;
  }
  return 0;
}

uint8_t* WriteValues(const SourceColumn& column, uint64_t first, uint64_t last, uint8_t* out) {
  switch (column.kind) {
    case Kind::kInt64:
      for (uint64_t i = first; i < last; ++i) out = WriteVarint(Int64At(column.values, i), out);
      break;
    case Kind::kFloat:
      if constexpr (std::endian::native == std::endian::little) {
        out = WriteBytes(column.values + 4 * first, 4 * (last - first), out);
      } else {
        for (uint64_t i = 4 * first; i < 4 * last; ++i) *out++ = column.values[i ^ 3];
      }
      break;
    case Kind::kBytes:
      for (uint64_t i = first; i < last; ++i) {
        out = WriteHead(kField1, static_cast<uint64_t>(column.sizes[i]), out);
        out = WriteBytes(column.data + column.starts[i], static_cast<uint64_t>(column.sizes[i]), out);
      }
      break;
    case Kind::kNone:
      break;
  }
  return out;
}

FeatureSizes MeasureFeature(const SourceColumn& column, uint64_t row) {
  FeatureSizes size;
  size.packed = PackedSize(column, column.First(row), column.First(row + 1));
  // An empty list has no packed field, and a list of strings has one field per string.
  size.list = column.kind == Kind::kBytes || size.packed == 0 ? size.packed : FieldSize(size.packed);
  size.feature = column.kind == Kind::kNone ? 0 : FieldSize(size.list);
  size.entry = FieldSize(column.key.size()) + FieldSize(size.feature);
  return size;
}

uint8_t* WriteFeature(const SourceColumn& column, uint64_t row, const FeatureSizes& size, uint8_t* out) {
  if (column.kind == Kind::kNone) return out;
  out = WriteHead(KindTag(column.kind), size.list, out);
  if (column.kind != Kind::kBytes && size.packed > 0) out = WriteHead(kField1, size.packed, out);
  return WriteValues(column, column.First(row), column.First(row + 1), out);
}

}  // namespace

ExampleEncoder::ExampleEncoder(std::vector<SourceColumn> columns) : columns_(std::move(columns)) {
  std::sort(columns_.begin(), columns_.end(), [](const SourceColumn& a, const SourceColumn& b) {
    return a.key < b.key;
  });  // As unsigned bytes.
}

// Bytes of all map entries, and in `sizes` those of what is inside them.
uint64_t ExampleEncoder::Measure(uint64_t row, std::vector<FeatureSizes>* sizes) const {
  uint64_t features = 0;
  for (size_t f = 0; f < columns_.size(); ++f) {
    (*sizes)[f] = MeasureFeature(columns_[f], row);
    features += FieldSize((*sizes)[f].entry);
  }
  return features;
}

uint8_t* ExampleEncoder::Write(uint64_t row, const std::vector<FeatureSizes>& sizes, uint8_t* out) const {
  for (size_t f = 0; f < columns_.size(); ++f) {
    const SourceColumn& column = columns_[f];
    out = WriteHead(kField1, sizes[f].entry, out);
    out = WriteHead(kField1, column.key.size(), out);
    out = WriteBytes(column.key.data(), column.key.size(), out);
    out = WriteHead(kField2, sizes[f].feature, out);
    out = WriteFeature(column, row, sizes[f], out);
  }
  return out;
}

uint64_t ExampleEncoder::Encode(uint64_t begin, uint64_t end, bool framed, GrowingArray<uint8_t>* out,
                                GrowingArray<int64_t>* sizes) const {
  std::vector<FeatureSizes> parts(columns_.size());
  const uint64_t before = framed ? kHeaderSize : 0, around = framed ? kFrameOverhead : 0;
  for (uint64_t row = begin; row < end; ++row) {
    const uint64_t features = Measure(row, &parts);
    const uint64_t size = FieldSize(features);
    if (size > kMaxExampleSize) return row;
    // The first record tells about how much memory all take. What is not touched costs nothing, and a larger
    // array need not be moved again and again.
    if (row == begin) out->Reserve(out->size() + (size + around) * (end - begin) / 16 * 17);
    uint8_t* record = out->Grow(size + around);
    Write(row, parts, WriteHead(kField1, features, record + before));
    if (framed) SealFrame(size, record);
    sizes->Push(static_cast<int64_t>(size));
  }
  return end;
}

uint64_t EncodeFeatureList(const SourceColumn& column, uint64_t rows, GrowingArray<uint8_t>* out) {
  for (uint64_t row = 0; row < rows; ++row) {
    const FeatureSizes size = MeasureFeature(column, row);
    if (FieldSize(size.feature) > kMaxExampleSize - std::min<uint64_t>(kMaxExampleSize, out->size()))
      return row;
    uint8_t* step = out->Grow(FieldSize(size.feature));
    WriteFeature(column, row, size, WriteHead(kField1, size.feature, step));
  }
  return rows;
}

}  // namespace wellfed
