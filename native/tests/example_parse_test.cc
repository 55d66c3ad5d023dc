#include "example_parse.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "example_bytes.h"
#include "testing.h"

namespace wellfed {
namespace {

using namespace wellfed::testing;

FeatureSpec Spec(std::string key, Kind kind, Layout layout = Layout::kFixed, uint64_t count = 1) {
  return {std::move(key), kind, layout, count, false, {}, {}};
}

FeatureSpec WithDefault(FeatureSpec spec, Bytes dense, std::vector<std::string> strings = {}) {
  spec.has_default = true;
  spec.default_dense = std::move(dense);
  spec.default_bytes = std::move(strings);
  return spec;
}

// Parses rows into columns of its own. Each record lies in memory that ends where it ends, so that a
// sanitizer sees a read beyond.
class Table {
 public:
  explicit Table(std::vector<FeatureSpec> specs, uint64_t room = 16)
      : parser_(std::move(specs)), columns_(count()) {
    for (size_t f = 0; f < count(); ++f) {
      columns_[f].dense = dense_.emplace_back(room * parser_.specs()[f].row_size() + 1).data();
      columns_[f].present = present_.emplace_back(room, uint8_t{1}).data();
    }
    parser_.Start(room, columns_);
  }

  ParseStatus Add(const Bytes& record) {
    auto copy = std::make_unique<uint8_t[]>(record.size());
    std::copy(record.begin(), record.end(), copy.get());
    const ParseStatus status =
        parser_.Parse({copy.get(), record.size()}, rows, &scratch_, columns_.data(), &error);
    records_.push_back(std::move(copy));
    rows += status == ParseStatus::kOk;
    return status;
  }

  std::vector<int64_t> Ints(size_t f = 0) const { return Values<int64_t>(f); }
  std::vector<float> Floats(size_t f = 0) const { return Values<float>(f); }
  std::string Raw(size_t f = 0) const {
    return {columns_[f].dense, columns_[f].dense + rows * parser_.specs()[f].count};
  }
  std::vector<std::string> Strings(size_t f = 0) const {
    std::vector<std::string> strings;
    for (size_t i = 0; i < columns_[f].starts.size(); ++i) {
      const auto* start = reinterpret_cast<const char*>(columns_[f].starts[i]);
      strings.emplace_back(start, columns_[f].sizes[i]);
    }
    return strings;
  }
  std::vector<int64_t> Splits(size_t f = 0) const {
    const auto& splits = columns_[f].row_splits;
    return {splits.data(), splits.data() + splits.size()};
  }
  std::vector<int> Present(size_t f = 0) const { return {present_[f].data(), present_[f].data() + rows}; }

  uint64_t rows = 0;
  ParseError error;

 private:
  size_t count() const { return parser_.specs().size(); }

  template <typename T>
  std::vector<T> Values(size_t f) const {
    const bool dense = parser_.specs()[f].dense();
    std::vector<T> values(dense ? rows * parser_.specs()[f].count : columns_[f].values.size() / sizeof(T));
    if (!values.empty()) {
      std::memcpy(values.data(), dense ? columns_[f].dense : columns_[f].values.data(),
                  values.size() * sizeof(T));
    }
    return values;
  }

  ExampleParser parser_;
  ExampleParser::Scratch scratch_;
  std::vector<Column> columns_;
  std::vector<std::vector<uint8_t>> dense_, present_;
  std::vector<std::unique_ptr<uint8_t[]>> records_;
};

using Numbers = std::vector<int64_t>;
using Reals = std::vector<float>;
using Words = std::vector<std::string>;

// --- Values

TEST(AnInt64OfEveryWidthIsRead) {
  Table table({Spec("x", Kind::kInt64)}, 32);
  Numbers due = {0, -1, INT64_MIN, INT64_MAX};
  for (int bits = 7; bits < 63; bits += 7) {
    due.push_back((int64_t{1} << bits) - 1);
    due.push_back(int64_t{1} << bits);
  }
  for (const int64_t value : due)
    EXPECT_EQ(table.Add(Example({Entry("x", Ints({value}))})), ParseStatus::kOk) << value;
  EXPECT_EQ(table.Ints(), due);
}

TEST(PackedAndLooseIntsGiveTheSame) {
  const Numbers values = {1, 2, 3, 300, -1, 5, 6, 7, 8, 70000, 9, 10, 11, 12, 13, 14, 15, 16, 1 << 20};
  Table table(
      {Spec("x", Kind::kInt64, Layout::kFixed, values.size()), Spec("y", Kind::kInt64, Layout::kVar)});
  for (const Bytes& list : {PackedInts(values), LooseInts(values)}) {
    const Bytes feature = Feature(Kind::kInt64, list);
    EXPECT_EQ(table.Add(Example({Entry("x", feature), Entry("y", feature)})), ParseStatus::kOk);
  }
  Numbers twice = values;
  twice.insert(twice.end(), values.begin(), values.end());
  EXPECT_EQ(table.Ints(0), twice);
  EXPECT_EQ(table.Ints(1), twice);
}

// Blocks of 64 bytes, words of 2, 4 and 8 bytes, and numbers that lie across: every number of values of every
// width, and one of another width at every place among them.
TEST(PackedIntsOfEveryMixAreRead) {
  for (const int64_t most : {int64_t{1}, int64_t{300}, int64_t{70000}, int64_t{1} << 40, int64_t{-1}}) {
    for (const int64_t other : {int64_t{0}, int64_t{128}, int64_t{1} << 27, int64_t{1} << 55, INT64_MIN}) {
      for (const size_t count : {1, 2, 7, 8, 9, 10, 31, 33, 64, 65, 130}) {
        for (size_t at = 0; at < count; at += 1 + count / 12) {
          Numbers values(count, most);
          values[at] = other;
          Table table({Spec("x", Kind::kInt64, Layout::kFixed, count), Spec("y", Kind::kInt64, Layout::kVar)},
                      1);
          const Bytes feature = Feature(Kind::kInt64, PackedInts(values));
          EXPECT_EQ(table.Add(Example({Entry("x", feature), Entry("y", feature)})), ParseStatus::kOk);
          EXPECT_EQ(table.Ints(0), values) << most << ' ' << other << ' ' << at;
          EXPECT_EQ(table.Ints(1), values) << most << ' ' << other << ' ' << at;
        }
      }
    }
  }
}

// A dense row has no place for more, and the number of a wrong length is told.
TEST(PackedIntsOfAnotherNumberAreCounted) {
  for (const size_t count : {size_t{9}, size_t{11}, size_t{200}}) {
    Table table({Spec("x", Kind::kInt64, Layout::kFixed, 10)});
    EXPECT_EQ(table.Add(Example({Entry("x", Ints(Numbers(count, 300)))})), ParseStatus::kWrongLength);
    EXPECT_EQ(table.error.length, count);
  }
}

TEST(APackedIntOfMoreThanTenBytesIsMalformedAtItsFirst) {
  const Bytes fine(20, 5), endless(11, 0x80);
  const Bytes list = Field(1, Join({fine, endless, {1}}));
  for (const Layout layout : {Layout::kFixed, Layout::kVar}) {
    Table table({Spec("x", Kind::kInt64, layout, 21)});
    const Bytes record = Example({Entry("x", Feature(Kind::kInt64, list))});
    EXPECT_EQ(table.Add(record), ParseStatus::kMalformed);
    EXPECT_EQ(table.error.offset, record.size() - 12);
  }
}

// A Feature by itself, in memory that begins and ends where it does: a sanitizer sees a read before or
// beyond.
TEST(AFeatureByItselfIsReadWithoutAByteMore) {
  for (size_t size = 0; size < 24; ++size) {
    for (const uint8_t last : {uint8_t{0}, uint8_t{0x80}}) {
      Bytes chunk(size, 0x80);
      for (size_t i = 0; i < size; i += 3) chunk[i] = 7;
      if (!chunk.empty()) chunk.back() = last;
      for (const Bytes& inside : {chunk, Bytes(size, 0x80)}) {
        const Bytes feature = Feature(Kind::kInt64, Field(1, inside));
        const auto copy = std::make_unique<uint8_t[]>(feature.size());
        std::copy(feature.begin(), feature.end(), copy.get());
        const std::span<const uint8_t> piece(copy.get(), feature.size());
        Column column;
        const uint8_t* fault;
        ReadAnyKind({&piece, 1}, &column, &fault);
        EXPECT_EQ(fault == nullptr, inside.empty() || inside.back() < 0x80) << size;
      }
    }
  }
}

TEST(PackedAndLooseFloatsGiveTheSame) {
  const Reals values = {0, -1.5f, 3e38f};
  Table table({Spec("x", Kind::kFloat, Layout::kFixed, 3)});
  for (const Bytes& list : {PackedFloats(values), LooseFloats(values)}) {
    EXPECT_EQ(table.Add(Example({Entry("x", Feature(Kind::kFloat, list))})), ParseStatus::kOk);
  }
  EXPECT_EQ(table.Floats(), (Reals{0, -1.5f, 3e38f, 0, -1.5f, 3e38f}));
}

TEST(ChunksOfAListAreJoined) {
  Table table({Spec("x", Kind::kInt64, Layout::kFixed, 3), Spec("y", Kind::kFloat, Layout::kVar)});
  const Bytes ints = Join({PackedInts({1}), LooseInts({2}), PackedInts({}), PackedInts({3})});
  const Bytes floats = Join({LooseFloats({1}), PackedFloats({2, 3})});
  EXPECT_EQ(table.Add(Example(
                {Entry("x", Feature(Kind::kInt64, ints)), Entry("y", Feature(Kind::kFloat, floats))})),
            ParseStatus::kOk);
  EXPECT_EQ(table.Ints(0), (Numbers{1, 2, 3}));
  EXPECT_EQ(table.Floats(1), (Reals{1, 2, 3}));
}

TEST(ByteStringsKeepEveryByte) {
  Table table({Spec("x", Kind::kBytes, Layout::kFixed, 2), Spec("y", Kind::kBytes, Layout::kVar)});
  const Words words = {std::string("a\0", 2), ""};
  const Bytes feature = Feature(Kind::kBytes, Strings(words));
  EXPECT_EQ(table.Add(Example({Entry("x", feature), Entry("y", feature)})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({Entry("x", feature)})), ParseStatus::kOk);
  EXPECT_EQ(table.Strings(0), (Words{words[0], "", words[0], ""}));
  EXPECT_EQ(table.Strings(1), words);
  EXPECT_EQ(table.Splits(1), (Numbers{0, 2, 2}));
}

TEST(ARawStringIsCopiedIntoItsRow) {
  Table table({Spec("x", Kind::kBytes, Layout::kRaw, 3)});
  for (const char* word : {"abc", "def"}) {
    EXPECT_EQ(table.Add(Example({Entry("x", Feature(Kind::kBytes, Strings({word})))})), ParseStatus::kOk);
  }
  EXPECT_EQ(table.Raw(), "abcdef");
}

TEST(RowsOfAnyNumberOfValuesAreSplit) {
  Table table({Spec("x", Kind::kInt64, Layout::kVar)});
  EXPECT_EQ(table.Add(Example({Entry("x", Ints({1, 2}))})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({Entry("x", Feature(Kind::kInt64, {}))})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({Entry("x", Ints({3}))})), ParseStatus::kOk);
  EXPECT_EQ(table.Ints(), (Numbers{1, 2, 3}));
  EXPECT_EQ(table.Splits(), (Numbers{0, 2, 2, 2, 3}));
  EXPECT_EQ(table.Present(), (std::vector<int>{1, 0, 1, 1}));
}

// --- Keys

TEST(KeysInAnyOrderAndKeysOfNoSpecAreTakenRight) {
  Table table({Spec("x", Kind::kInt64), Spec("a longer key", Kind::kInt64)});
  const Bytes x = Entry("x", Ints({1})), y = Entry("a longer key", Ints({2})),
              other = Entry("other", Ints({3}));
  for (const auto& record : {Example({x, y}), Example({y, x}), Example({other, x, y}), Example({x, other, y}),
                             Example({x, y, other}), Example({y, x})}) {
    EXPECT_EQ(table.Add(record), ParseStatus::kOk);
  }
  EXPECT_EQ(table.Ints(0), Numbers(6, 1));
  EXPECT_EQ(table.Ints(1), Numbers(6, 2));
}

TEST(KeysOfEveryLengthAreToldApart) {
  for (size_t size = 0; size < 300; size += size < 40 ? 1 : 37) {
    const std::string key(size, 'k');
    std::string other = key;
    if (!other.empty()) other.back() = 'l';
    Table table({Spec(key, Kind::kInt64)});
    for (int i = 0; i < 3; ++i) {
      const Bytes wrong = other == key ? Bytes{} : Entry(other, Ints({7}));
      EXPECT_EQ(table.Add(Example({wrong, Entry(key, Ints({i}))})), ParseStatus::kOk) << size;
    }
    EXPECT_EQ(table.Ints(), (Numbers{0, 1, 2})) << size;
  }
}

TEST(TheLastOfEqualKeysCounts) {
  Table table({Spec("x", Kind::kInt64), Spec("y", Kind::kBytes, Layout::kVar),
               Spec("z", Kind::kInt64, Layout::kVar)});
  const Bytes first = Join({Entry("x", Ints({1})), Entry("y", Feature(Kind::kBytes, Strings({"a", "b"}))),
                            Entry("z", Ints({1, 2, 3}))});
  const Bytes second =
      Join({Entry("x", Ints({2})), Entry("y", Feature(Kind::kBytes, Strings({"c"}))), Entry("z", Ints({4}))});
  EXPECT_EQ(table.Add(Field(1, first)), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Field(1, Join({first, second}))), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Join({Field(1, first), Field(1, second)})), ParseStatus::kOk);
  EXPECT_EQ(table.Ints(0), (Numbers{1, 2, 2}));
  EXPECT_EQ(table.Strings(1), (Words{"a", "b", "c", "c"}));
  EXPECT_EQ(table.Ints(2), (Numbers{1, 2, 3, 4, 4}));
  EXPECT_EQ(table.Splits(2), (Numbers{0, 3, 4, 5}));
}

TEST(WhatIsWrongWithAnEarlierOneOfEqualKeysDoesNotCount) {
  Table table({Spec("x", Kind::kInt64)});
  const Bytes good = Entry("x", Ints({1}));
  EXPECT_EQ(table.Add(Example({Entry("x", Ints({1, 2})), good})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({Entry("x", Feature(Kind::kFloat, PackedFloats({1}))), good})),
            ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({good, Entry("x", {})})), ParseStatus::kMissing);
}

TEST(AKeyThatIsNoUtf8IsMalformed) {
  Table table({Spec("x", Kind::kInt64)});
  EXPECT_EQ(table.Add(Example({Entry("x", Ints({1})), Entry("\xff\xfe", Ints({1}))})),
            ParseStatus::kMalformed);
  EXPECT_EQ(table.error.offset, 2u + 12 + 2);
}

// --- Forms

TEST(EveryFormOfAMapEntryIsRead) {
  Table table({WithDefault(Spec("x", Kind::kInt64), {9, 0, 0, 0, 0, 0, 0, 0})});
  const Bytes key = Field(1, Text("x")), value = Field(2, Ints({1})), unknown = Field(3, Text("?"));
  const std::vector<std::pair<Bytes, int64_t>> forms = {
      {Join({key, value}), 1},
      {Join({value, key}), 1},
      {Join({key, unknown, value}), 1},
      {key, 9},                                             // No value: its kind is unset.
      {value, 9},                                           // No key: it is "".
      {Join({key, Field(2, Ints({7})), Field(2, {})}), 7},  // Values are merged.
      {Join({Field(1, Text("y")), key, value}), 1}};
  Numbers due;
  for (const auto& [inside, expected] : forms) {
    EXPECT_EQ(table.Add(Field(1, Field(1, inside))), ParseStatus::kOk);
    due.push_back(expected);
  }
  EXPECT_EQ(table.Ints(), due);
}

TEST(ListsOfOneFeatureAreMergedAndAnotherKindReplaces) {
  Table table({Spec("x", Kind::kInt64, Layout::kVar)});
  const Bytes floats = Feature(Kind::kFloat, PackedFloats({1}));
  EXPECT_EQ(table.Add(Example({Entry("x", Join({Ints({1}), Ints({2})}))})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({Entry("x", Join({Ints({3}), floats, Ints({4})}))})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({Entry("x", Join({Ints({3}), floats}))})), ParseStatus::kWrongKind);
  EXPECT_EQ(table.Ints(), (Numbers{1, 2, 4}));
}

TEST(UnknownFieldsAndGroupsArePassedAtEveryLevel) {
  const Bytes unknown =
      Join({Int64Field(9, 300), Field(10, Text("abc")), Varint(MakeTag(11, WireType::kFixed32)), Bytes(4),
            Varint(MakeTag(12, WireType::kFixed64)), Bytes(8), Varint(MakeTag(5, WireType::kGroupStart)),
            Int64Field(1, 1), Varint(MakeTag(5, WireType::kGroupEnd))});
  const auto with = [&](const Bytes& inside) { return Join({unknown, inside, unknown}); };
  Table table({Spec("x", Kind::kInt64, Layout::kFixed, 2)});
  const Bytes list = with(Join({PackedInts({1}), unknown, LooseInts({2})}));
  const Bytes entry = with(Join({Field(1, Text("x")), Field(2, with(Field(3, list)))}));
  EXPECT_EQ(table.Add(with(Field(1, with(Field(1, entry))))), ParseStatus::kOk);
  EXPECT_EQ(table.Ints(), (Numbers{1, 2}));
}

// --- What is missing or wrong

TEST(ADefaultFillsAnAbsentKeyAndAnUnsetKindButNoEmptyList) {
  Table table({WithDefault(Spec("x", Kind::kInt64), {5, 0, 0, 0, 0, 0, 0, 0}),
               WithDefault(Spec("y", Kind::kBytes, Layout::kFixed, 2), {}, {"p", "q"}),
               WithDefault(Spec("z", Kind::kBytes, Layout::kRaw, 2), {'r', 's'})});
  EXPECT_EQ(table.Add(Example({})), ParseStatus::kOk);
  EXPECT_EQ(table.Add({}), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({Entry("x", {}), Entry("y", {}), Entry("z", {})})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({Entry("x", Feature(Kind::kInt64, {}))})), ParseStatus::kWrongLength);
  EXPECT_EQ(table.Ints(0), (Numbers{5, 5, 5}));
  EXPECT_EQ(table.Strings(1), (Words{"p", "q", "p", "q", "p", "q"}));
  EXPECT_EQ(table.Raw(2), "rsrsrs");
  EXPECT_EQ(table.Present(0), (std::vector<int>{0, 0, 0}));
}

TEST(ErrorsNameTheFeatureAndWhatWasFound) {
  Table table({Spec("x", Kind::kInt64, Layout::kFixed, 2), Spec("y", Kind::kBytes, Layout::kRaw, 3)});
  const Bytes x = Entry("x", Ints({1, 2})), y = Entry("y", Feature(Kind::kBytes, Strings({"abc"})));
  EXPECT_EQ(table.Add(Example({y})), ParseStatus::kMissing);
  EXPECT_EQ(table.error.feature, 0);
  EXPECT_EQ(table.Add(Example({x, Entry("y", Ints({1}))})), ParseStatus::kWrongKind);
  EXPECT_EQ(table.error.feature, 1);
  EXPECT_EQ(table.error.found, Kind::kInt64);
  EXPECT_EQ(table.Add(Example({Entry("x", Ints({1, 2, 3})), y})), ParseStatus::kWrongLength);
  EXPECT_EQ(table.error.length, 3u);
  EXPECT_EQ(table.Add(Example({x, Entry("y", Feature(Kind::kBytes, Strings({"abcd"})))})),
            ParseStatus::kWrongSize);
  EXPECT_EQ(table.error.length, 4u);
  EXPECT_EQ(table.Add(Example({x, Entry("y", Feature(Kind::kBytes, Strings({"abc", "d"})))})),
            ParseStatus::kWrongLength);
  EXPECT_EQ(table.error.length, 2u);
}

TEST(TheFirstFeatureOfTheSpecsIsNamedOfSeveralThatAreWrong) {
  Table table({Spec("x", Kind::kInt64), Spec("y", Kind::kInt64)});
  EXPECT_EQ(table.Add(Example({Entry("y", Ints({})), Entry("x", Ints({}))})), ParseStatus::kWrongLength);
  EXPECT_EQ(table.error.feature, 0);
}

TEST(AFixedFeatureOfNoValuesMustStillBeThere) {
  Table table({Spec("x", Kind::kInt64, Layout::kFixed, 0)});
  EXPECT_EQ(table.Add(Example({Entry("x", Feature(Kind::kInt64, {}))})), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({})), ParseStatus::kMissing);
}

TEST(ARowThatFailedCanBeParsedAgain) {
  Table table({Spec("x", Kind::kInt64, Layout::kVar), Spec("s", Kind::kBytes), Spec("y", Kind::kInt64)});
  const Bytes x = Entry("x", Ints({1, 2})), s = Entry("s", Feature(Kind::kBytes, Strings({"a"})));
  const Bytes good = Example({x, s, Entry("y", Ints({1}))});
  EXPECT_EQ(table.Add(good), ParseStatus::kOk);
  EXPECT_EQ(table.Add(Example({x, s})), ParseStatus::kMissing);
  EXPECT_EQ(table.Add(Example({s, x, Entry("y", Ints({1, 2}))})), ParseStatus::kWrongLength);
  EXPECT_EQ(table.Add(good), ParseStatus::kOk);
  EXPECT_EQ(table.Splits(0), (Numbers{0, 2, 4}));
  EXPECT_EQ(table.Strings(1), (Words{"a", "a"}));
  EXPECT_EQ(table.Present(0), (std::vector<int>{1, 1}));
}

// --- Bytes that are no Example

TEST(ARecordCutAnywhereIsMalformedAndNothingBeyondIsRead) {
  const Bytes whole =
      Example({Entry("x", Ints({300})), Entry("s", Feature(Kind::kBytes, Strings({"abc"}))),
               Entry("f", Feature(Kind::kFloat, PackedFloats({1, 2}))), Entry("other", Ints({1}))});
  for (size_t size = 1; size < whole.size(); ++size) {
    Table table({Spec("x", Kind::kInt64), Spec("s", Kind::kBytes), Spec("f", Kind::kFloat, Layout::kVar)});
    EXPECT_EQ(table.Add(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
              ParseStatus::kMalformed)
        << size;
    EXPECT(table.error.offset <= size) << size;
  }
}

TEST(ListsThatCannotBeReadAreMalformedAtTheirByte) {
  const Bytes long_varint = Join({Bytes(10, 0xff), {1}}), cut_varint = {0x80};
  const std::vector<Bytes> lists = {Field(1, long_varint), Field(1, cut_varint),
                                    Join({Varint(8), cut_varint})};
  for (const Bytes& list : lists) {
    for (const Layout layout : {Layout::kFixed, Layout::kVar}) {
      Table table({Spec("x", Kind::kInt64, layout)});
      EXPECT_EQ(table.Add(Example({Entry("x", Feature(Kind::kInt64, list))})), ParseStatus::kMalformed);
    }
  }
  Table floats({Spec("x", Kind::kFloat)});
  EXPECT_EQ(floats.Add(Example({Entry("x", Feature(Kind::kFloat, Field(1, {1, 2, 3})))})),
            ParseStatus::kMalformed);
  EXPECT_EQ(floats.error.offset, 2u + 2 + 3 + 2 + 2);
}

TEST(ValuesOfFeaturesThatNoSpecNamesAreNotLookedAt) {
  Table table({Spec("x", Kind::kInt64)});
  EXPECT_EQ(table.Add(Example({Entry("x", Ints({1})), Entry("y", Bytes(3, 0xff))})), ParseStatus::kOk);
}

#ifndef _WIN32

// Two pages, the second of which becomes readable where it is first read; then all in front of it is zeros,
// as where a mapped file is written to while it is parsed.
struct ChangingPages {
  static inline uint8_t* second = nullptr;
  static inline size_t page = 0;

  static void OnFirstRead(int) {
    mprotect(second, page, PROT_READ | PROT_WRITE);
    std::fill(second - 16, second, uint8_t{0});
  }

  ChangingPages() {
    page = static_cast<size_t>(getpagesize());
    void* const both = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    second = static_cast<uint8_t*>(both) + page;
    mprotect(second, page, PROT_NONE);
    struct sigaction action = {};
    action.sa_handler = OnFirstRead;
    for (const int number : {SIGSEGV, SIGBUS})
      sigaction(number, &action, nullptr);  // macOS sends the latter.
  }
  ~ChangingPages() {
    for (const int number : {SIGSEGV, SIGBUS}) signal(number, SIG_DFL);
    munmap(second - page, 2 * page);
  }
};

TEST(NumbersThatBecomeMoreWhileTheyAreReadStayInTheirRow) {
  const ChangingPages pages;
  // Two numbers of 8 bytes in the first page and one in the second: three, and then 17.
  uint8_t* const chunk = ChangingPages::second - 16;
  std::fill_n(chunk, 16, uint8_t{0x80});
  chunk[7] = chunk[15] = 0;
  chunk[-2] = 0x0a;
  chunk[-1] = 17;
  const FeatureSpec spec = Spec("x", Kind::kInt64, Layout::kFixed, 3);
  Column column;
  Bytes row(17 * 8, 0xab);
  FeatureReader reader(spec, &column, row.data());

  EXPECT(!reader.ReadList(Cursor(chunk - 2, chunk + 17)));
  EXPECT_EQ(Bytes(row.begin() + 3 * 8, row.end()), Bytes(14 * 8, 0xab));
}

#endif

}  // namespace
}  // namespace wellfed
