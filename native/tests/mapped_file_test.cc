#include "mapped_file.h"

#include "testing.h"

#ifdef _WIN32

TEST(NothingIsMappedOnWindows) { EXPECT(true); }

#else

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mapping_guard.h"

namespace wellfed {
namespace {

// A file of `size` bytes 'x' that has no name any more.
int Unnamed(size_t size) {
  char name[] = "/tmp/wellfed_mapped_XXXXXX";
  const int descriptor = mkstemp(name);
  unlink(name);
  const std::vector<char> bytes(size, 'x');
  if (write(descriptor, bytes.data(), size) != static_cast<ssize_t>(size)) abort();
  return descriptor;
}

TEST(AMappingOutlivesItsDescriptor) {
  const int descriptor = Unnamed(10'000);
  const uint8_t* const begin = MapFile(descriptor, 10'000);
  close(descriptor);

  EXPECT(begin != nullptr);
  EXPECT_EQ(begin[0], 'x');
  EXPECT_EQ(begin[9'999], 'x');
  EXPECT(!MappingWasCut(begin));
  UnmapFile(begin, 10'000);
}

TEST(ACutMappingReadsAsZerosAndSaysSo) {
  const int descriptor = Unnamed(100'000);
  const uint8_t* const begin = MapFile(descriptor, 100'000);
  EXPECT_EQ(ftruncate(descriptor, 10), 0);
  close(descriptor);

  EXPECT_EQ(static_cast<const volatile uint8_t*>(begin)[50'000], 0);
  EXPECT(MappingWasCut(begin));
  UnmapFile(begin, 100'000);
}

TEST(RangesOfAFileMayBeAskedForInAnyOrderAndOutsideIt) {
  const int descriptor = Unnamed(100'000);
  const uint8_t* const begin = MapFile(descriptor, 100'000);
  close(descriptor);
  ReadAtRandom(begin, 100'000);
  const std::vector<int64_t> starts{90'000, 0, 90'000, -1, 100'000, INT64_MAX, 5, 7};
  const std::vector<int64_t> sizes{INT64_MAX, 10, 10, 10, 10, INT64_MAX, -5, 0};
  AskForRanges({begin, 100'000}, starts, sizes);

  EXPECT_EQ(begin[0], 'x');
  EXPECT_EQ(begin[99'999], 'x');
  UnmapFile(begin, 100'000);
}

TEST(WhatIsAskedForInACutFileReadsAsZeros) {
  const int descriptor = Unnamed(100'000);
  const uint8_t* const begin = MapFile(descriptor, 100'000);
  EXPECT_EQ(ftruncate(descriptor, 10), 0);
  close(descriptor);
  AskForFile(begin + 50'000, 10'000);

  EXPECT_EQ(static_cast<const volatile uint8_t*>(begin)[50'000], 0);
  UnmapFile(begin, 100'000);
}

TEST(ABadDescriptorIsAnError) { EXPECT(MapFile(-1, 10) == nullptr); }

}  // namespace
}  // namespace wellfed

#endif  // _WIN32
