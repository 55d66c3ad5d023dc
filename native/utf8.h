// Is it UTF-8? (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.)
#ifndef WELLFED_UTF8_H_
#define WELLFED_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace wellfed {

// Bytes of the character at the start of `s`: 1 to 4, or 0 where it is no UTF-8. REQUIRES: !s.empty().
inline size_t Utf8CharacterSize(std::span<const uint8_t> s) {
  const uint8_t first = s[0];
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || s.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((s[i] & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && s[1] < 0xa0) return 0;  // Overlong.
  if (first == 0xed && s[1] > 0x9f) return 0;  // A surrogate.
  if (first == 0xf0 && s[1] < 0x90) return 0;  // Overlong.
  if (first == 0xf4 && s[1] > 0x8f) return 0;  // Above U+10FFFF.
  return size;
}

// Thread-safe.
inline bool IsUtf8(std::span<const uint8_t> s) {
  while (!s.empty()) {
    uint64_t eight;
    if (s.size() >= 8 && (std::memcpy(&eight, s.data(), 8), (eight & 0x8080808080808080u) == 0)) {
      s = s.subspan(8);
      continue;
    }
    const size_t size = Utf8CharacterSize(s);
    if (size == 0) return false;
    s = s.subspan(size);
  }
  return true;
}

}  // namespace wellfed

#endif  // WELLFED_UTF8_H_
