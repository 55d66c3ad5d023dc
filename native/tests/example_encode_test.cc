#include "example_encode.h"

#include <string>
#include <vector>

#include "example_bytes.h"
#include "framing.h"
#include "testing.h"

namespace wellfed {
namespace {

using namespace wellfed::testing;

// Columns that own what they point to.
struct Ints64 {
  std::vector<int64_t> values;
  SourceColumn column;

  Ints64(std::string key, std::vector<int64_t> given, uint64_t count = 1) : values(std::move(given)) {
    column.key = std::move(key);
    column.kind = Kind::kInt64;
    column.count = count;
    column.values = reinterpret_cast<const uint8_t*>(values.data());
  }
};

struct Encoded {
  GrowingArray<uint8_t> data;
  GrowingArray<int64_t> sizes;
  uint64_t done = 0;

  Bytes all() const { return Bytes(data.data(), data.data() + data.size()); }
};

Encoded Encode(std::vector<SourceColumn> columns, uint64_t begin, uint64_t end, bool framed = false) {
  Encoded result;
  result.done = ExampleEncoder(std::move(columns)).Encode(begin, end, framed, &result.data, &result.sizes);
  return result;
}

TEST(AnExampleIsWrittenAsByHand) {
  const Ints64 x("x", {300});
  EXPECT_EQ(Encode({x.column}, 0, 1).all(), Example({Entry("x", Ints({300}))}));
}

TEST(KeysAreSortedByTheirBytes) {
  const Ints64 b("b", {1}), a("a", {2}), ab("ab", {3}), high("\xc3\xa9", {4}), none("", {5});
  EXPECT_EQ(Encode({b.column, high.column, ab.column, none.column, a.column}, 0, 1).all(),
            Example({Entry("", Ints({5})), Entry("a", Ints({2})), Entry("ab", Ints({3})),
                     Entry("b", Ints({1})), Entry("\xc3\xa9", Ints({4}))}));
}

TEST(RowsAreCutFromTheirColumns) {
  const Ints64 pairs("p", {1, 2, 3, 4}, 2);
  Ints64 ragged("r", {5, 6, 7});
  const std::vector<int64_t> splits = {0, 3, 3};
  ragged.column.row_splits = splits.data();
  const Encoded encoded = Encode({pairs.column, ragged.column}, 0, 2);
  EXPECT_EQ(encoded.done, 2u);
  EXPECT_EQ(encoded.all(),
            Join({Example({Entry("p", Ints({1, 2})), Entry("r", Ints({5, 6, 7}))}),
                  Example({Entry("p", Ints({3, 4})), Entry("r", Feature(Kind::kInt64, {}))})}));
}

TEST(EveryKindHasItsForm) {
  const std::vector<float> reals = {1.5f, -2};
  const std::string text = "abc";
  const std::vector<int64_t> starts = {1, 0}, sizes = {2, 0};
  SourceColumn floats, strings, unset;
  floats.key = "f";
  floats.kind = Kind::kFloat;
  floats.count = 2;
  floats.values = reinterpret_cast<const uint8_t*>(reals.data());
  strings.key = "s";
  strings.kind = Kind::kBytes;
  strings.count = 2;
  strings.data = reinterpret_cast<const uint8_t*>(text.data());
  strings.starts = starts.data();
  strings.sizes = sizes.data();
  unset.key = "u";
  EXPECT_EQ(Encode({floats, strings, unset}, 0, 1).all(),
            Example({Entry("f", Feature(Kind::kFloat, PackedFloats(reals))),
                     Entry("s", Feature(Kind::kBytes, Strings({"bc", ""}))), Entry("u", {})}));
}

TEST(AnExampleWithoutFeaturesIsAnEmptyMessage) { EXPECT_EQ(Encode({}, 0, 1).all(), (Bytes{0x0a, 0})); }

TEST(AFramedRecordIsTheRecordInItsFrame) {
  const Ints64 x("x", {1, 2, 3});
  const Encoded plain = Encode({x.column}, 0, 3), framed = Encode({x.column}, 0, 3, true);
  Bytes due;
  size_t at = 0;
  for (size_t i = 0; i < plain.sizes.size(); ++i) {
    AppendFrame(std::span(plain.data.data() + at, static_cast<size_t>(plain.sizes[i])), &due);
    at += static_cast<size_t>(plain.sizes[i]);
  }
  EXPECT_EQ(framed.all(), due);
  EXPECT_EQ(framed.sizes[0], plain.sizes[0]);
}

TEST(AnExampleThatProtobufCouldNotReadIsRefusedBeforeItIsWritten) {
  const uint8_t nothing = 0;  // The strings' memory is not touched, so it need not be there.
  const std::vector<int64_t> starts = {0, 0}, sizes = {0, int64_t{1} << 31};
  SourceColumn strings;
  strings.key = "s";
  strings.kind = Kind::kBytes;
  strings.data = &nothing;
  strings.starts = starts.data();
  strings.sizes = sizes.data();
  const Encoded encoded = Encode({strings}, 0, 2);
  EXPECT_EQ(encoded.done, 1u);
  EXPECT_EQ(encoded.all(), Example({Entry("s", Feature(Kind::kBytes, Strings({""})))}));
}

TEST(AFeatureListHoldsAFeatureForEachRow) {
  const Ints64 x("x", {1, 300});
  GrowingArray<uint8_t> out;
  EXPECT_EQ(EncodeFeatureList(x.column, 2, &out), 2u);
  EXPECT_EQ(Bytes(out.data(), out.data() + out.size()), Join({Field(1, Ints({1})), Field(1, Ints({300}))}));
}

TEST(WhatIsEncodedIsParsedAgain) {
  const Ints64 x("x", {0, -1, INT64_MAX, INT64_MIN});
  const Encoded encoded = Encode({x.column}, 0, 4);
  const ExampleParser parser({{"x", Kind::kInt64, Layout::kFixed, 1, false, {}, {}}});
  std::vector<Column> columns(1);
  std::vector<int64_t> found(4);
  columns[0].dense = reinterpret_cast<uint8_t*>(found.data());
  ExampleParser::Scratch scratch;
  ParseError error;
  parser.Start(4, columns);
  const uint8_t* record = encoded.data.data();
  for (size_t row = 0; row < 4; ++row) {
    const auto size = static_cast<size_t>(encoded.sizes[row]);
    EXPECT_EQ(parser.Parse({record, size}, row, &scratch, columns.data(), &error), ParseStatus::kOk);
    record += size;
  }
  EXPECT_EQ(found, x.values);
}

}  // namespace
}  // namespace wellfed
