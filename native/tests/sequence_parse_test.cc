#include "sequence_parse.h"

#include <string>
#include <vector>

#include "example_bytes.h"
#include "testing.h"

namespace wellfed {
namespace {

using namespace wellfed::testing;

FeatureSpec Spec(std::string key, Kind kind, Layout layout, uint64_t count = 1, bool may_be_absent = true) {
  return {std::move(key), kind, layout, count, may_be_absent, {}, {}};
}

Bytes Sequence(std::initializer_list<Bytes> lists) { return Field(2, Join(lists)); }

Bytes Steps(std::initializer_list<Bytes> features) {
  Bytes inside;
  for (const Bytes& feature : features) inside = Join({inside, Field(1, feature)});
  return inside;
}

struct Table {
  SequenceParser parser;
  std::vector<SequenceColumn> columns;
  SequenceError error;

  explicit Table(FeatureSpec spec) : parser({std::move(spec)}), columns(1) { parser.Start(columns); }

  ParseStatus Add(const Bytes& record) { return parser.Parse(record, columns, &error); }

  std::vector<int64_t> Ints() const {
    std::vector<int64_t> ints(columns[0].steps.values.size() / 8);
    if (!ints.empty()) std::memcpy(ints.data(), columns[0].steps.values.data(), 8 * ints.size());
    return ints;
  }
  std::vector<int64_t> Splits() const { return All(columns[0].steps.row_splits); }
  std::vector<int64_t> StepSplits() const { return All(columns[0].step_splits); }

  static std::vector<int64_t> All(const GrowingArray<int64_t>& array) {
    return {array.data(), array.data() + array.size()};
  }
};

using Numbers = std::vector<int64_t>;

TEST(StepsOfAnyNumberOfValuesAreTwoLevelsOfRows) {
  Table table(Spec("x", Kind::kInt64, Layout::kVar));
  EXPECT_EQ(table.Add(Sequence({Entry("x", Steps({Ints({1, 2}), {}, Ints({3})}))})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Sequence({Entry("other", Steps({Ints({9})}))})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Sequence({Entry("x", Steps({Ints({4})}))})), ParseStatus::kOk);
  EXPECT_EQ(table.Ints(), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(table.Splits(), (Numbers{0, 2, 2, 3, 4}));
  EXPECT_EQ(table.StepSplits(), (Numbers{0, 3, 3, 4}));
}

TEST(StepsOfFixedCountAreChecked) {
  Table table(Spec("x", Kind::kInt64, Layout::kFixed, 2));
  EXPECT_EQ(table.Add(Sequence({Entry("x", Steps({Ints({1, 2}), Ints({3, 4})}))})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Sequence({Entry("x", Steps({Ints({5, 6}), Ints({7})}))})), ParseStatus::kWrongLength);
  EXPECT_EQ(table.error.step, 1u);
  EXPECT_EQ(table.error.length, 1u);
  EXPECT_EQ(table.Add(Sequence({Entry("x", Steps({{}}))})), ParseStatus::kWrongLength);
}

TEST(RawStepsLieEndToEnd) {
  Table table(Spec("x", Kind::kBytes, Layout::kRaw, 2));
  const auto step = [](const char* text) { return Feature(Kind::kBytes, Strings({text})); };
  EXPECT_EQ(table.Add(Sequence({Entry("x", Steps({step("ab"), step("cd")}))})), ParseStatus::kOk);
  const auto& values = table.columns[0].steps.values;
  EXPECT_EQ(std::string(values.data(), values.data() + values.size()), "abcd");
  EXPECT_EQ(table.Add(Sequence({Entry("x", Steps({step("abc")}))})), ParseStatus::kWrongSize);
  EXPECT_EQ(table.error.length, 3u);
}

TEST(AListThatMustBeThereIsMissed) {
  Table table(Spec("x", Kind::kInt64, Layout::kVar, 1, false));
  EXPECT_EQ(table.Add(Sequence({})), ParseStatus::kMissing);
  EXPECT_EQ(table.error.feature, 0);
}

TEST(AStepOfAnotherKindIsNamed) {
  Table table(Spec("x", Kind::kInt64, Layout::kVar));
  const Bytes floats = Feature(Kind::kFloat, PackedFloats({1}));
  EXPECT_EQ(table.Add(Sequence({Entry("x", Steps({Ints({1}), floats}))})), ParseStatus::kWrongKind);
  EXPECT_EQ(table.error.step, 1u);
  EXPECT_EQ(table.error.found, Kind::kFloat);
}

TEST(AnEmptyListOfAnotherKindIsOfAnotherKind) {
  Table table(Spec("x", Kind::kInt64, Layout::kVar));
  EXPECT_EQ(table.Add(Sequence({Entry("x", Steps({Feature(Kind::kFloat, {})}))})), ParseStatus::kWrongKind);
}

TEST(TheLastOfEqualKeysCountsAndListsOfOneEntryAreMerged) {
  Table table(Spec("x", Kind::kInt64, Layout::kVar));
  const Bytes twice = Join({Field(1, Text("x")), Field(2, Steps({Ints({1})})), Field(2, Steps({Ints({2})}))});
  EXPECT_EQ(table.Add(Sequence({Entry("x", Steps({Ints({9})})), Field(1, twice)})), ParseStatus::kOk);
  EXPECT_EQ(table.Ints(), (Numbers{1, 2}));
}

TEST(ASequenceCutAnywhereIsMalformed) {
  const Bytes whole = Sequence({Entry("x", Steps({Ints({1, 300})}))});
  for (size_t size = 1; size < whole.size(); ++size) {
    Table table(Spec("x", Kind::kInt64, Layout::kVar));
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(table.Add(cut), ParseStatus::kMalformed) << size;
    EXPECT(table.error.offset <= size) << size;
  }
}

}  // namespace
}  // namespace wellfed
