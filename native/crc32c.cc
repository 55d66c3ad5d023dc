#include "crc32c.h"

#include "crc32c_impl.h"

namespace wellfed {

std::span<const Crc32cImplementation> Crc32cImplementations() {
  static const Crc32cImplementation implementations[] = {
      kCrc32cPortable,
#ifdef WELLFED_CRC32C_SSE42
      kCrc32cSse42,
#endif
#ifdef WELLFED_CRC32C_VPCLMUL
      kCrc32cVpclmul,
#endif
#ifdef WELLFED_CRC32C_ARMV8
      kCrc32cArmv8,
#endif
  };
  return implementations;
}

const Crc32cImplementation& BestCrc32c() {
  static const Crc32cImplementation best = [] {
    Crc32cImplementation last = kCrc32cPortable;
    for (const Crc32cImplementation& candidate : Crc32cImplementations()) {
      if (candidate.available()) last = candidate;
    }
    return last;
  }();
  return best;
}

uint32_t Crc32c(const uint8_t* data, size_t size, uint32_t crc) {
  return BestCrc32c().extend(crc, data, size);
}

uint32_t Crc32cOfWord(uint64_t word) { return BestCrc32c().of_word(word); }

}  // namespace wellfed
