// Large memory in large pages: a page fault costs more than filling its 4 KiB.
#ifndef WELLFED_HUGE_PAGES_H_
#define WELLFED_HUGE_PAGES_H_

#include <cstddef>
#include <cstdint>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace wellfed {

constexpr size_t kHugePage = size_t{2} << 20;

// Asks for huge pages where a whole one fits. Only advice: nothing changes where it is not taken.
inline void AdviseHugePages(void* memory, size_t size) {
#ifdef MADV_HUGEPAGE
  if (size < kHugePage) return;
  const uintptr_t start = (reinterpret_cast<uintptr_t>(memory) + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t stop = (reinterpret_cast<uintptr_t>(memory) + size) / kHugePage * kHugePage;
  if (stop > start) static_cast<void>(madvise(reinterpret_cast<void*>(start), stop - start, MADV_HUGEPAGE));
#else
  static_cast<void>(memory);
  static_cast<void>(size);
#endif
}

}  // namespace wellfed

#endif  // WELLFED_HUGE_PAGES_H_
