// A hint to bring memory into the cache.
#ifndef WELLFED_PREFETCH_H_
#define WELLFED_PREFETCH_H_

#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace wellfed {

// `address` may point anywhere: where nothing is mapped, nothing happens.
inline void Prefetch(const void* address) {
#if !defined(_MSC_VER) || defined(__clang__)
  __builtin_prefetch(address);
  asm volatile("");  // GCC takes a function that only prefetches for one without effect, and drops its calls.
#elif defined(_M_ARM64)
  __prefetch(address);
#else
  _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
#endif
}

// Into a core's second cache only, where the first has no room for all that is asked for.
inline void PrefetchToSecond(const void* address) {
#if !defined(_MSC_VER) || defined(__clang__)
  __builtin_prefetch(address, 0, 2);
  asm volatile("");
#elif defined(_M_ARM64)
  __prefetch2(address, 2);  // PLDL2KEEP.
#else
  _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T1);
#endif
}

}  // namespace wellfed

#endif  // WELLFED_PREFETCH_H_
