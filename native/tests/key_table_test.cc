#include "key_table.h"

#include <set>
#include <string>
#include <vector>

#include "growing_array.h"
#include "testing.h"
#include "utf8.h"

namespace wellfed {
namespace {

TEST(EveryKeyIsFoundAndNoOther) {
  std::vector<std::string> keys = {"", "a", "aa", std::string(300, 'a'), std::string("a\0", 2)};
  for (int i = 0; i < 500; ++i) keys.push_back("image/feature_" + std::to_string(i) + "_value");
  const KeyTable table(keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(table.Find(keys[i]), static_cast<int32_t>(i)) << keys[i];
    EXPECT_EQ(table.key(i), keys[i]);
    EXPECT_EQ(table.Find(keys[i] + "?"), -1) << keys[i];
  }
}

TEST(ATableWithoutKeysFindsNothing) { EXPECT_EQ(KeyTable({}).Find("a"), -1); }

TEST(APrefixIsHowAMapEntryWithTheKeyBegins) {
  const KeyTable table({std::string(200, 'k')});
  EXPECT_EQ(table.prefix(0), "\x0a\xc8\x01" + std::string(200, 'k') + "\x12");
}

TEST(AGrowingArrayKeepsWhatItHolds) {
  GrowingArray<int64_t> array;
  for (int64_t i = 0; i < 1000; ++i) array.Push(i);
  array.Truncate(500);
  *array.Grow(1) = -1;
  EXPECT_EQ(array.size(), 501u);
  for (size_t i = 0; i < 500; ++i) EXPECT_EQ(array[i], static_cast<int64_t>(i));
  EXPECT_EQ(array[500], -1);
  std::free(array.Release());
  EXPECT_EQ(array.size(), 0u);
}

TEST(AGrowingArrayRefusesWhatNoMemoryHolds) {
  GrowingArray<int64_t> array;
  bool threw = false;
  try {
    array.Reserve(SIZE_MAX / 8);
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  EXPECT(threw);
}

// The definition: every code point but surrogates, in its shortest form.
std::set<std::string> EveryCharacterNearTheEdges() {
  std::set<std::string> all;
  for (const uint32_t edge : {0u, 0x80u, 0x800u, 0xd800u, 0xe000u, 0x10000u, 0x110000u}) {
    for (uint32_t code = edge < 3 ? 0 : edge - 3; code < edge + 3; ++code) {
      if (code >= 0x110000 || (code >= 0xd800 && code < 0xe000)) continue;
      constexpr uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
      const int tail = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
      std::string text;
      text.push_back(static_cast<char>(kLead[tail] | code >> 6 * tail));
      for (int i = tail - 1; i >= 0; --i) text.push_back(static_cast<char>(0x80 | (code >> 6 * i & 63)));
      all.insert(text);
    }
  }
  return all;
}

bool IsUtf8(const std::string& text) {
  return wellfed::IsUtf8({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

TEST(EveryCharacterIsUtf8AndCutOrChangedItIsNot) {
  for (const std::string& text : EveryCharacterNearTheEdges()) {
    EXPECT(IsUtf8(text));
    EXPECT(IsUtf8(std::string("seven b").append(text).append("more than eight bytes")));
    if (text.size() > 1) EXPECT(!IsUtf8(text.substr(0, text.size() - 1)));
    if (text.size() > 1) EXPECT(!IsUtf8(text.substr(1)));
  }
}

TEST(OverlongFormsSurrogatesAndWhatIsBeyondUnicodeAreNoUtf8) {
  for (const char* text :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xff"}) {
    EXPECT(!IsUtf8(text));
  }
}

}  // namespace
}  // namespace wellfed
