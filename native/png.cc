#include "png.h"

#include <cstdlib>
#include <cstring>

namespace wellfed {
namespace {

struct Pass {
  uint32_t top, left, down, across;  // First row and column, and the steps between them.
};

// Adam7 (section 8.2), and the one pass of a picture that is not interlaced.
constexpr Pass kInterlaced[] = {{0, 0, 8, 8}, {0, 4, 8, 8}, {4, 0, 8, 4}, {0, 2, 4, 4},
                                {2, 0, 4, 2}, {0, 1, 2, 2}, {1, 0, 2, 1}};
constexpr Pass kWhole[] = {{0, 0, 1, 1}};

std::span<const Pass> PassesOf(const PngShape& shape) {
  return shape.interlaced ? std::span<const Pass>(kInterlaced) : std::span<const Pass>(kWhole);
}

uint64_t Count(uint32_t size, uint32_t first, uint32_t step) {
  return size > first ? (uint64_t{size} - first + step - 1) / step : 0;
}

// Of a pixel.
uint64_t BitsOf(const PngShape& shape) {
  return static_cast<uint64_t>(shape.samples) * static_cast<uint64_t>(shape.bit_depth);
}

uint64_t RowBytes(const PngShape& shape, uint64_t width) { return (width * BitsOf(shape) + 7) / 8; }

uint8_t Paeth(int left, int above, int corner) {
  const int from_left = std::abs(above - corner), from_above = std::abs(left - corner);
  const int from_corner = std::abs(left + above - 2 * corner);
  if (from_left <= from_above && from_left <= from_corner) return static_cast<uint8_t>(left);
  return static_cast<uint8_t>(from_above <= from_corner ? above : corner);
}

uint8_t Sum(int a, int b) { return static_cast<uint8_t>(a + b); }

// Undoes one filter in place. `above` is the row before, or null for the first one, where it counts as zeros.
// `step` is the distance to the same byte of the pixel on the left, whose values before the row count as
// zeros.
bool UnfilterRow(int filter, uint8_t* row, const uint8_t* above, uint64_t count, uint64_t step) {
  const uint64_t head = count < step ? count : step;
  switch (filter) {
    case 0:
      return true;
    case 1:
      for (uint64_t i = step; i < count; ++i) row[i] = Sum(row[i], row[i - step]);
      return true;
    case 2:
      if (above == nullptr) return true;
      for (uint64_t i = 0; i < count; ++i) row[i] = Sum(row[i], above[i]);
      return true;
    case 3:
      if (above == nullptr) {
        for (uint64_t i = step; i < count; ++i) row[i] = Sum(row[i], row[i - step] / 2);
        return true;
      }
      for (uint64_t i = 0; i < head; ++i) row[i] = Sum(row[i], above[i] / 2);
      for (uint64_t i = step; i < count; ++i) row[i] = Sum(row[i], (row[i - step] + above[i]) / 2);
      return true;
    case 4:
      if (above == nullptr) return UnfilterRow(1, row, above, count, step);
      for (uint64_t i = 0; i < head; ++i) row[i] = Sum(row[i], above[i]);
      for (uint64_t i = step; i < count; ++i) {
        row[i] = Sum(row[i], Paeth(row[i - step], above[i], above[i - step]));
      }
      return true;
    default:
      return false;
  }
}

uint16_t BigEndian16(const uint8_t* bytes) { return static_cast<uint16_t>((bytes[0] << 8) | bytes[1]); }

// Puts the `width` pixels of a row to their places, `across` pixels apart.
void PlaceBytes(const PngShape& shape, const uint8_t* row, uint64_t width, uint32_t across, uint8_t* out) {
  const uint64_t samples = static_cast<uint64_t>(shape.samples);
  if (across == 1) {
    std::memcpy(out, row, width * samples);
    return;
  }
  for (uint64_t x = 0; x < width; ++x) std::memcpy(out + x * across * samples, row + x * samples, samples);
}

void PlaceWords(const PngShape& shape, const uint8_t* row, uint64_t width, uint32_t across, uint16_t* out) {
  const uint64_t samples = static_cast<uint64_t>(shape.samples);
  for (uint64_t x = 0; x < width; ++x) {
    for (uint64_t s = 0; s < samples; ++s) {
      out[x * across * samples + s] = BigEndian16(row + 2 * (x * samples + s));
    }
  }
}

// Leftmost pixel in the high bits (section 7.2).
void PlaceBits(const PngShape& shape, const uint8_t* row, uint64_t width, uint32_t across, uint8_t* out) {
  const uint64_t depth = static_cast<uint64_t>(shape.bit_depth);
  const uint32_t mask = (1u << depth) - 1;
  for (uint64_t x = 0; x < width; ++x) {
    const uint64_t bit = x * depth;
    out[x * across] = static_cast<uint8_t>((row[bit / 8] >> (8 - depth - bit % 8)) & mask);
  }
}

void PlaceRow(const PngShape& shape, const Pass& pass, uint64_t y, const uint8_t* row, uint64_t width,
              void* out) {
  const uint64_t pixel = (pass.top + y * pass.down) * shape.width + pass.left;
  const uint64_t at = pixel * static_cast<uint64_t>(shape.samples);
  if (shape.bit_depth == 16) {
    PlaceWords(shape, row, width, pass.across, static_cast<uint16_t*>(out) + at);
  } else if (shape.bit_depth == 8) {
    PlaceBytes(shape, row, width, pass.across, static_cast<uint8_t*>(out) + at);
  } else {
    PlaceBits(shape, row, width, pass.across, static_cast<uint8_t*>(out) + at);
  }
}

}  // namespace

bool IsPngShape(const PngShape& shape) {
  const int depth = shape.bit_depth;
  const bool packed = depth == 1 || depth == 2 || depth == 4;
  return shape.height > 0 && shape.width > 0 && shape.height <= 0x7fffffff && shape.width <= 0x7fffffff &&
         uint64_t{shape.height} * shape.width <= kMaxPngPixels && (packed || depth == 8 || depth == 16) &&
         shape.samples >= 1 && shape.samples <= (packed ? 1 : 4);
}

uint64_t PngScanlineBytes(const PngShape& shape) {
  uint64_t total = 0;
  for (const Pass& pass : PassesOf(shape)) {
    const uint64_t width = Count(shape.width, pass.left, pass.across);
    // A pass without columns has no rows either.
    if (width > 0) total += Count(shape.height, pass.top, pass.down) * (1 + RowBytes(shape, width));
  }
  return total;
}

PngStatus UnfilterPng(std::span<uint8_t> scanlines, const PngShape& shape, void* out) {
  if (scanlines.size() != PngScanlineBytes(shape)) return PngStatus::kBadSize;
  const uint64_t bits = BitsOf(shape);
  const uint64_t step = bits < 8 ? 1 : bits / 8;
  uint8_t* line = scanlines.data();  // Invariant: all passes and rows before end here.
  for (const Pass& pass : PassesOf(shape)) {
    const uint64_t width = Count(shape.width, pass.left, pass.across);
    if (width == 0) continue;
    const uint64_t count = RowBytes(shape, width);
    const uint64_t rows = Count(shape.height, pass.top, pass.down);
    const uint8_t* above = nullptr;
    for (uint64_t y = 0; y < rows; ++y, line += 1 + count) {
      if (!UnfilterRow(line[0], line + 1, above, count, step)) return PngStatus::kBadFilter;
      PlaceRow(shape, pass, y, line + 1, width, out);
      above = line + 1;
    }
  }
  return PngStatus::kOk;
}

}  // namespace wellfed
