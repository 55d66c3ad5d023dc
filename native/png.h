// PNG's scanlines to samples: undoes the filters, the interlace and the packing of bits. The zlib stream
// around them is inflated before, and chunks are walked elsewhere.
//
//   scanline = filter type (1 byte) | samples, big-endian, packed to bytes
//
// Source: Portable Network Graphics Specification, W3C (third edition), sections 7.2, 8.2 and 9.
#ifndef WELLFED_PNG_H_
#define WELLFED_PNG_H_

#include <cstdint>
#include <span>

namespace wellfed {

struct PngShape {
  uint32_t height = 0, width = 0;
  int bit_depth = 8;  // 1, 2, 4, 8 or 16.
  int samples = 1;    // Of a pixel, 1 to 4; more than 1 only with 8 or 16 bits.
  bool interlaced = false;
};

enum class PngStatus : int { kOk = 0, kBadFilter = 1, kBadSize = 2 };

// The bits of as many pixels can be counted in a uint64.
inline constexpr uint64_t kMaxPngPixels = uint64_t{1} << 56;

// Whether the shape is one that a PNG can have, of at most kMaxPngPixels.
bool IsPngShape(const PngShape& shape);

// Bytes of all scanlines with their filter types. REQUIRES: IsPngShape(shape).
uint64_t PngScanlineBytes(const PngShape& shape);

// Writes height * width * samples values to `out`: uint8, or uint16 in the machine's order for 16 bits.
// Values of less than 8 bits stay as they are. `scanlines` is used as room and holds garbage afterwards.
// kBadSize: `scanlines` is not as long as the shape needs; kBadFilter: a filter type is above 4. Thread-safe.
// REQUIRES: IsPngShape(shape); `out` has room.
PngStatus UnfilterPng(std::span<uint8_t> scanlines, const PngShape& shape, void* out);

}  // namespace wellfed

#endif  // WELLFED_PNG_H_
