#include "png.h"

#include <vector>

#include "testing.h"

namespace wellfed {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes Unfiltered(Bytes scanlines, const PngShape& shape) {
  Bytes out(size_t{shape.height} * shape.width * static_cast<size_t>(shape.samples));
  EXPECT(UnfilterPng(scanlines, shape, out.data()) == PngStatus::kOk);
  return out;
}

TEST(EachFilterAddsWhatItsDefinitionSays) {
  const PngShape shape = {2, 3, 8, 1, false};
  EXPECT_EQ(Unfiltered({0, 1, 2, 3, 0, 4, 5, 6}, shape), (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Unfiltered({1, 1, 2, 3, 1, 4, 255, 6}, shape), (Bytes{1, 3, 6, 4, 3, 9}));
  EXPECT_EQ(Unfiltered({2, 1, 2, 3, 2, 4, 5, 6}, shape), (Bytes{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(Unfiltered({3, 10, 2, 3, 3, 4, 5, 6}, shape), (Bytes{10, 7, 6, 9, 13, 15}));
  EXPECT_EQ(Unfiltered({4, 10, 2, 3, 4, 4, 5, 6}, shape), (Bytes{10, 12, 15, 14, 19, 25}));
}

TEST(TheLeftNeighbourIsAWholePixelAway) {
  EXPECT_EQ(Unfiltered({1, 1, 2, 3, 1, 1, 1}, {1, 2, 8, 3, false}), (Bytes{1, 2, 3, 2, 3, 4}));
}

TEST(SmallSamplesStandInTheHighBitsFirst) {
  EXPECT_EQ(Unfiltered({0, 0b10110000}, {1, 3, 1, 1, false}), (Bytes{1, 0, 1}));
  EXPECT_EQ(Unfiltered({0, 0b11100100, 0b01000000}, {1, 5, 2, 1, false}), (Bytes{3, 2, 1, 0, 1}));
  EXPECT_EQ(Unfiltered({0, 0xa5}, {1, 2, 4, 1, false}), (Bytes{10, 5}));
}

TEST(SixteenBitsAreBigEndianInTheFile) {
  Bytes lines = {0, 0x12, 0x34, 0xff, 0x00};
  uint16_t out[2];
  EXPECT(UnfilterPng(lines, {1, 2, 16, 1, false}, out) == PngStatus::kOk);
  EXPECT_EQ(out[0], 0x1234);
  EXPECT_EQ(out[1], 0xff00);
}

TEST(InterlacedPixelsComeToTheirPlaces) {
  // 3 x 3: pass 1 has (0, 0), pass 5 row 2 columns 0 and 2, pass 4 column 2 of row 0, pass 6 column 1, pass 7
  // row 1.
  const Bytes lines = {0, 1, 0, 3, 0, 7, 9, 0, 2, 0, 8, 0, 4, 5, 6};
  EXPECT_EQ(PngScanlineBytes({3, 3, 8, 1, true}), lines.size());
  EXPECT_EQ(Unfiltered(lines, {3, 3, 8, 1, true}), (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(EveryShapeReadsAndWritesExactlyItsMemory) {
  int shapes = 0;
  for (uint32_t height = 1; height <= 9; ++height) {
    for (uint32_t width = 1; width <= 9; ++width) {
      for (const int depth : {1, 2, 4, 8, 16}) {
        for (int samples = 1; samples <= (depth < 8 ? 1 : 4); ++samples) {
          for (const bool interlaced : {false, true}) {
            const PngShape shape = {height, width, depth, samples, interlaced};
            EXPECT(IsPngShape(shape));
            Bytes lines(PngScanlineBytes(shape), 4);  // Filter 4 wherever a filter stands.
            std::vector<uint16_t> out(size_t{height} * width * static_cast<size_t>(samples));
            EXPECT(UnfilterPng(lines, shape, out.data()) == PngStatus::kOk);
            ++shapes;
          }
        }
      }
    }
  }
  EXPECT_EQ(shapes, 81 * 11 * 2);
}

TEST(AnUnknownFilterIsTold) {
  Bytes lines = {5, 1};
  uint8_t out;
  EXPECT(UnfilterPng(lines, {1, 1, 8, 1, false}, &out) == PngStatus::kBadFilter);
}

TEST(ScanlinesOfAnotherLengthAreTold) {
  Bytes lines(3);
  uint8_t out;
  EXPECT(UnfilterPng(lines, {1, 1, 8, 1, false}, &out) == PngStatus::kBadSize);
}

TEST(AShapeWhoseBytesWouldWrapIsNone) {
  EXPECT(!IsPngShape({0x7fffffff, 0x7fffffff, 16, 4, false}));
  const PngShape large = {0x7fffffff, 1 << 25, 16, 4, false};
  EXPECT(IsPngShape(large));
  EXPECT_EQ(PngScanlineBytes(large) / 0x7fffffff, 1 + (uint64_t{8} << 25));
}

TEST(ShapesThatNoPngHasAreTold) {
  EXPECT(!IsPngShape({0, 1, 8, 1, false}));
  EXPECT(!IsPngShape({1, 0x80000000u, 8, 1, false}));
  EXPECT(!IsPngShape({1, 1, 3, 1, false}));
  EXPECT(!IsPngShape({1, 1, 4, 3, false}));
  EXPECT(!IsPngShape({1, 1, 8, 5, false}));
}

}  // namespace
}  // namespace wellfed
