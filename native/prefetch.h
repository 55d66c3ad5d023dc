// Asks for memory ahead of its use.
#ifndef WELLFED_PREFETCH_H_
#define WELLFED_PREFETCH_H_

#if defined(_MSC_VER) && !defined(__clang__) && defined(_M_X64)
#include <intrin.h>
#endif

namespace wellfed {

// Any address may be given, also one that is not mapped.
inline void Prefetch(const void* address) {
#if defined(_MSC_VER) && !defined(__clang__)
#if defined(_M_X64)
  _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
#else
  __prefetch(address);
#endif
#else
  __builtin_prefetch(address);
#endif
}

}  // namespace wellfed

#endif  // WELLFED_PREFETCH_H_
