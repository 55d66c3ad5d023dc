// CRC-32C by the SSE4.2 instruction of x86-64.
#include "crc32c_impl.h"

#ifdef WELLFED_CRC32C_SSE42

#if defined(_MSC_VER)
#include <intrin.h>
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#define WELLFED_CRC32C_TARGET  // MSVC allows every instruction everywhere.
#else
#define WELLFED_CRC32C_TARGET __attribute__((target("sse4.2")))
#endif

#include "crc32c_steps_x86.h"

namespace wellfed {
namespace {

bool Available() {
#if defined(_MSC_VER)
  int registers[4];
  __cpuid(registers, 1);
  return registers[2] >> 20 & 1;
#else
  return __builtin_cpu_supports("sse4.2");
#endif
}

}  // namespace
}  // namespace wellfed

#include "crc32c_streams.h"

namespace wellfed {

const Crc32cImplementation kCrc32cSse42 = {"sse4.2", Available, Extend, OfWord, FindSummedWord};

}  // namespace wellfed

#endif  // WELLFED_CRC32C_SSE42
