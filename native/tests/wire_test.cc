#include "wire.h"

#include <string>
#include <vector>

#include "testing.h"

namespace wellfed {
namespace {

using Bytes = std::vector<uint8_t>;

// The first and the last value of every width.
std::vector<uint64_t> Edges() {
  std::vector<uint64_t> edges = {0, UINT64_MAX};
  for (int bits = 7; bits < 64; bits += 7) {
    edges.push_back((uint64_t{1} << bits) - 1);
    edges.push_back(uint64_t{1} << bits);
  }
  return edges;
}

Bytes Varint(uint64_t value) {
  Bytes bytes(kMaxVarintSize);
  bytes.resize(static_cast<size_t>(WriteVarint(value, bytes.data()) - bytes.data()));
  return bytes;
}

TEST(NumbersAreLittleEndian) {
  const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(LoadLE<uint16_t>(bytes), 0x0201u);
  EXPECT_EQ(LoadLE32(bytes), 0x04030201u);
  EXPECT_EQ(LoadLE64(bytes), 0x0807060504030201u);
}

TEST(AStoredNumberIsLoadedAgain) {
  uint8_t bytes[8];
  StoreLE64(0x0102030405060708u, bytes);
  EXPECT_EQ(bytes[0], 8);
  EXPECT_EQ(LoadLE64(bytes), 0x0102030405060708u);
  StoreLE32(0x01020304u, bytes);
  EXPECT_EQ(LoadLE32(bytes), 0x01020304u);
}

TEST(SwappedBytesComeInTheOtherOrder) {
  EXPECT_EQ(SwapBytes(uint16_t{0x0102}), 0x0201u);
  EXPECT_EQ(SwapBytes(uint32_t{0x01020304}), 0x04030201u);
  EXPECT_EQ(SwapBytes(uint64_t{0x0102030405060708}), 0x0807060504030201u);
}

TEST(AVarintOfEveryWidthIsReadAsItWasWritten) {
  for (const uint64_t value : Edges()) {
    const Bytes bytes = Varint(value);
    EXPECT_EQ(static_cast<int>(bytes.size()), VarintSize(value)) << value;
    Cursor cursor(bytes);
    uint64_t read = ~value;
    EXPECT(cursor.ReadVarint(&read)) << value;
    EXPECT_EQ(read, value);
    EXPECT(cursor.done()) << value;
  }
}

TEST(ACutVarintOfEveryWidthIsRefusedAndNothingEaten) {
  for (const uint64_t value : Edges()) {
    Bytes bytes = Varint(value);
    bytes.pop_back();
    Cursor cursor(bytes);
    uint64_t read = 42;
    EXPECT(!cursor.ReadVarint(&read)) << value;
    EXPECT_EQ(read, 42u);
    EXPECT_EQ(cursor.left(), bytes.size());
  }
}

TEST(AVarintOfElevenBytesIsRefused) {
  const Bytes bytes(11, 0x80);
  Cursor cursor(bytes);
  uint64_t read;
  EXPECT(!cursor.ReadVarint(&read));
  EXPECT_EQ(cursor.left(), 11u);
}

TEST(BitsBeyondThe64thOfAVarintAreDropped) {
  Bytes bytes(9, 0x80);
  bytes.push_back(0x7f);
  Cursor cursor(bytes);
  uint64_t read;
  EXPECT(cursor.ReadVarint(&read));
  EXPECT_EQ(read, uint64_t{1} << 63);
}

TEST(ATagHoldsFieldAndWireType) {
  const Bytes bytes = Varint(MakeTag(300, WireType::kFixed32));
  Cursor cursor(bytes);
  uint32_t tag = 0;
  EXPECT(cursor.ReadTag(&tag));
  EXPECT_EQ(TagField(tag), 300u);
  EXPECT_EQ(TagType(tag), WireType::kFixed32);
}

TEST(ATagOfFieldZeroOrAbove32BitsIsRefusedAndNothingEaten) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 32, UINT64_MAX}) {
    const Bytes bytes = Varint(value);
    Cursor cursor(bytes);
    uint32_t tag;
    EXPECT(!cursor.ReadTag(&tag)) << value;
    EXPECT_EQ(cursor.left(), bytes.size());
  }
}

TEST(BytesLongerThanWhatIsLeftAreRefusedAndNothingEaten) {
  for (const uint64_t length : {uint64_t{3}, uint64_t{1} << 32, UINT64_MAX}) {
    Bytes bytes = Varint(length);
    bytes.insert(bytes.end(), {1, 2});
    Cursor cursor(bytes);
    std::span<const uint8_t> read;
    EXPECT(!cursor.ReadBytes(&read)) << length;
    EXPECT_EQ(cursor.left(), bytes.size());
  }
}

TEST(AMessageIsReadUpToItsEndOnly) {
  const Bytes bytes = {2, 5, 6, 7};
  Cursor cursor(bytes), message;
  EXPECT(cursor.ReadMessage(&message));
  EXPECT_EQ(message.left(), 2u);
  EXPECT_EQ(cursor.left(), 1u);
  EXPECT_EQ(message.end(), cursor.at());
}

TEST(FixedNumbersAreRefusedWhereAByteIsMissing) {
  const Bytes bytes(8, 1);
  for (size_t size = 0; size <= 8; ++size) {
    uint32_t small;
    uint64_t large;
    EXPECT_EQ(Cursor(std::span(bytes).first(size)).ReadFixed32(&small), size >= 4) << size;
    EXPECT_EQ(Cursor(std::span(bytes).first(size)).ReadFixed64(&large), size >= 8) << size;
  }
}

TEST(AValueOfEveryWireTypeIsPassedOver) {
  const struct {
    WireType type;
    Bytes bytes;
  } values[] = {{WireType::kVarint, {0xff, 0x01}},
                {WireType::kFixed64, Bytes(8)},
                {WireType::kLength, {3, 1, 2, 3}},
                {WireType::kFixed32, Bytes(4)}};
  for (const auto& value : values) {
    Cursor cursor(value.bytes);
    EXPECT(cursor.SkipValue(MakeTag(1, value.type))) << value.type;
    EXPECT(cursor.done()) << value.type;
    Cursor cut(std::span(value.bytes).first(value.bytes.size() - 1));
    EXPECT(!cut.SkipValue(MakeTag(1, value.type))) << value.type;
  }
}

TEST(AnUnknownWireTypeAndAGroupsEndAreRefusedAndNothingEaten) {
  const Bytes bytes(16);
  for (const uint32_t type : {4u, 6u, 7u}) {
    Cursor cursor(bytes);
    EXPECT(!cursor.SkipValue(1 << 3 | type)) << type;
    EXPECT_EQ(cursor.left(), 16u);
  }
}

// What stands behind the tag of a group of field 1: `depth` more groups inside one another, and all their
// ends.
Bytes Groups(int depth) {
  Bytes bytes(static_cast<size_t>(depth), MakeTag(2, WireType::kGroupStart));
  bytes.insert(bytes.end(), {MakeTag(3, WireType::kVarint), 0x80, 0x01});
  bytes.insert(bytes.end(), static_cast<size_t>(depth), MakeTag(2, WireType::kGroupEnd));
  bytes.push_back(MakeTag(1, WireType::kGroupEnd));
  return bytes;
}

TEST(AGroupIsPassedOverWithAllThatIsInIt) {
  for (const int depth : {0, 1, 2, kMaxGroupDepth - 1}) {
    const Bytes bytes = Groups(depth);
    Cursor cursor(bytes);
    EXPECT(cursor.SkipValue(MakeTag(1, WireType::kGroupStart))) << depth;
    EXPECT(cursor.done()) << depth;
  }
}

TEST(GroupsDeeperThanProtobufsLimitAreRefused) {
  const Bytes bytes = Groups(kMaxGroupDepth);
  Cursor cursor(bytes);
  EXPECT(!cursor.SkipValue(MakeTag(1, WireType::kGroupStart)));
  EXPECT_EQ(cursor.left(), bytes.size());
}

TEST(ACutGroupAndOneThatEndsAsAnotherAreRefusedAndNothingEaten) {
  const Bytes whole = Groups(2);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto part = std::span(whole).first(size);
    Cursor cut(part);
    EXPECT(!cut.SkipValue(MakeTag(1, WireType::kGroupStart))) << size;
    EXPECT_EQ(cut.left(), size);
  }
  Cursor other(whole);
  EXPECT(!other.SkipValue(MakeTag(9, WireType::kGroupStart)));
  EXPECT_EQ(other.left(), whole.size());
}

TEST(ATagOfMoreThanFiveBytesIsRefused) {
  const Bytes bytes = {0x88, 0x80, 0x80, 0x80, 0x80, 0x00};  // 8, with zeros to spare.
  Cursor cursor(bytes);
  uint32_t tag = 0;
  EXPECT(!cursor.ReadTag(&tag));
  EXPECT_EQ(cursor.left(), bytes.size());
}

}  // namespace
}  // namespace wellfed
