// CRC-32C by the instructions of ARMv8's CRC extension.
#include "crc32c_impl.h"

#ifdef WELLFED_CRC32C_ARMV8

#if defined(_MSC_VER)
#include <intrin.h>
#include <windows.h>
#else
#include <arm_acle.h>
#endif
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

// Clang before 16 knows the instructions only where the whole file may use them: CMakeLists.txt allows it
// there.
#if (defined(_MSC_VER) && !defined(__clang__)) || defined(__ARM_FEATURE_CRC32)
#define WELLFED_CRC32C_TARGET
#elif defined(__clang__)
#define WELLFED_CRC32C_TARGET __attribute__((target("crc")))
#else
#define WELLFED_CRC32C_TARGET __attribute__((target("+crc")))
#endif

namespace wellfed {
namespace {

using Register = uint32_t;

WELLFED_CRC32C_TARGET inline uint32_t Step(uint32_t crc, uint64_t word) { return __crc32cd(crc, word); }
WELLFED_CRC32C_TARGET inline uint32_t Step(uint32_t crc, uint32_t word) { return __crc32cw(crc, word); }
WELLFED_CRC32C_TARGET inline uint32_t Step(uint32_t crc, uint16_t word) { return __crc32ch(crc, word); }
WELLFED_CRC32C_TARGET inline uint32_t Step(uint32_t crc, uint8_t word) { return __crc32cb(crc, word); }

bool Available() {
#if defined(__APPLE__)
  return true;  // Every Apple CPU that macOS 11 runs on has it.
#elif defined(_MSC_VER)
  return IsProcessorFeaturePresent(PF_ARM_V8_CRC32_INSTRUCTIONS_AVAILABLE);
#elif defined(__linux__)
  return getauxval(AT_HWCAP) & HWCAP_CRC32;
#else
  return false;
#endif
}

}  // namespace
}  // namespace wellfed

#include "crc32c_streams.h"

namespace wellfed {

const Crc32cImplementation kCrc32cArmv8 = {"armv8", Available, Extend, OfWord, FindSummedWord};

}  // namespace wellfed

#endif  // WELLFED_CRC32C_ARMV8
