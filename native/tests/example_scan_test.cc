#include "example_scan.h"

#include <limits>
#include <string>
#include <vector>

#include "example_bytes.h"
#include "testing.h"

namespace wellfed {
namespace {

using namespace wellfed::testing;

Look LookOf(const std::string& text) { return wellfed::LookOf(Text(text)); }

bool Add(ExampleScanner* scanner, const Bytes& record, uint64_t* offset) {
  return scanner->Add(record, offset);
}

bool Add(ExampleScanner* scanner, const Bytes& record) {
  uint64_t offset = 0;
  return scanner->Add(record, &offset);
}

TEST(ByteStringsAreToldByWhatTheyLookLike) {
  EXPECT_EQ(LookOf(""), Look::kEmpty);
  EXPECT_EQ(LookOf("\xff\xd8\xff\xe0"), Look::kJpeg);
  EXPECT_EQ(LookOf("\x89PNG\r\n\x1a\n"), Look::kPng);
  EXPECT_EQ(LookOf("GIF89a"), Look::kGif);
  EXPECT_EQ(LookOf("RIFF....WEBP"), Look::kWebp);
  EXPECT_EQ(LookOf("RIFF....WAVE"), Look::kText);
  EXPECT_EQ(LookOf("\xff\xd8"), Look::kBinary);
}

TEST(TextIsUtf8WithoutControlCharactersButLineEndsAndTabs) {
  EXPECT_EQ(LookOf("a line\r\n\tand another, long enough for two steps of eight"), Look::kText);
  EXPECT_EQ(LookOf("gr\xc3\xbc\xc3\x9f"
                   "e"),
            Look::kText);
  for (size_t at = 0; at < 20; ++at) {
    for (const char bad : {'\0', '\x1f', '\xff'}) {
      std::string text(20, 'a');
      text[at] = bad;
      EXPECT_EQ(LookOf(text), Look::kBinary) << at;
    }
  }
}

TEST(FactsCountRecordsKindsAndRanges) {
  ExampleScanner scanner;
  EXPECT(Add(&scanner,
             Example({Entry("x", Ints({1, -5})), Entry("s", Feature(Kind::kBytes, Strings({"ab", ""})))})));
  EXPECT(Add(&scanner,
             Example({Entry("x", Feature(Kind::kFloat,
                                         PackedFloats({0.5f, std::numeric_limits<float>::infinity()})))})));
  EXPECT(Add(&scanner, Example({Entry("x", {})})));
  EXPECT_EQ(scanner.records(), 3u);
  const FeatureFacts& x = scanner.features()[0];
  EXPECT_EQ(x.key, "x");
  EXPECT_EQ(x.present, 3u);
  EXPECT_EQ(std::vector<uint64_t>(x.kinds.begin(), x.kinds.end()), (std::vector<uint64_t>{1, 0, 1, 1}));
  EXPECT_EQ(x.first[2], 1u);
  EXPECT_EQ(x.ints.min, -5);
  EXPECT_EQ(x.ints.max, 1);
  EXPECT_EQ(x.floats.max, 0.5f);
  EXPECT_EQ(x.nonfinite, 1u);
  EXPECT_EQ(x.counts.min, 0u);
  EXPECT_EQ(x.counts.max, 2u);
  const FeatureFacts& s = scanner.features()[1];
  EXPECT_EQ(s.sizes.max, 2u);
  EXPECT_EQ(s.looks[static_cast<size_t>(Look::kText)], 1u);
  EXPECT_EQ(s.looks[static_cast<size_t>(Look::kEmpty)], 1u);
}

TEST(TheLastOfEqualKeysIsCounted) {
  ExampleScanner scanner;
  EXPECT(Add(&scanner, Example({Entry("x", Ints({1, 2})), Entry("x", Ints({7}))})));
  EXPECT_EQ(scanner.features()[0].present, 1u);
  EXPECT_EQ(scanner.features()[0].ints.min, 7);
  EXPECT_EQ(scanner.features()[0].counts.max, 1u);
}

TEST(ListsOfASequenceExampleAreCountedByStep) {
  ExampleScanner scanner;
  const Bytes list = Join({Field(1, Ints({1})), Field(1, Ints({2, 3})), Field(1, {})});
  EXPECT(Add(&scanner, Join({Example({Entry("c", Ints({1}))}), Field(2, Entry("l", list))})));
  EXPECT_EQ(scanner.features().size(), 1u);
  const FeatureFacts& facts = scanner.sequences()[0];
  EXPECT_EQ(facts.present, 1u);
  EXPECT_EQ(facts.steps.max, 3u);
  EXPECT_EQ(facts.kinds[3], 2u);
  EXPECT_EQ(facts.kinds[0], 1u);
  EXPECT_EQ(facts.counts.max, 2u);
}

TEST(ManyKeysInChangingOrderAreToldApart) {
  ExampleScanner scanner;
  for (int round = 0; round < 4; ++round) {
    Bytes entries;
    for (int i = 0; i < 20; ++i) {
      const int key = round % 2 == 0 ? i : 19 - i;
      entries = Join({entries, Entry("key " + std::to_string(key), Ints({key}))});
    }
    EXPECT(Add(&scanner, Field(1, entries)));
  }
  EXPECT_EQ(scanner.features().size(), 20u);
  for (const FeatureFacts& facts : scanner.features()) {
    EXPECT_EQ(facts.present, 4u);
    EXPECT_EQ(facts.key, "key " + std::to_string(facts.ints.min));
    EXPECT_EQ(facts.ints.min, facts.ints.max);
  }
}

TEST(ARecordThatIsNoExampleIsNamedByItsByte) {
  ExampleScanner scanner;
  uint64_t offset = 0;
  EXPECT(!Add(&scanner, {0x0a, 5, 1}, &offset));
  EXPECT_EQ(offset, 0u);
  EXPECT(!Add(&scanner, Example({Entry("x", Feature(Kind::kInt64, Field(1, {0x80})))}), &offset));
  EXPECT_EQ(offset, 2u + 2 + 3 + 2 + 2 + 2);
}

TEST(ARecordThatIsNoExampleLeavesNothingForTheNext) {
  ExampleScanner scanner;
  const Bytes bad = Example({Entry("x", Feature(Kind::kInt64, Field(1, {0x80}))), Entry("y", Ints({1}))});
  for (const Bytes& record : {bad, Join({Example({Entry("z", Ints({1}))}), {0x0a, 9}})}) {
    EXPECT(!Add(&scanner, Bytes(record)));
  }
  EXPECT(Add(&scanner, Example({Entry("w", Ints({1}))})));
  for (const FeatureFacts& facts : scanner.features()) {
    EXPECT_EQ(facts.present, facts.key == "w" || facts.key == "x" ? 1u : 0u) << facts.key;
  }
}

}  // namespace
}  // namespace wellfed
