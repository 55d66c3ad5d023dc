#include "mapped_file.h"

#ifndef _WIN32

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "mapping_guard.h"

namespace wellfed {

const uint8_t* MapFile(int descriptor, size_t size) {
  void* const begin = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (begin == MAP_FAILED) return nullptr;
  GuardMapping(begin, size);
  return static_cast<const uint8_t*>(begin);
}

void PopulateFile(const uint8_t* begin, size_t size) {
#ifdef MADV_POPULATE_READ
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t from = address - address % static_cast<uintptr_t>(getpagesize());
  madvise(reinterpret_cast<void*>(from), address + size - from, MADV_POPULATE_READ);
#else
  static_cast<void>(begin);
  static_cast<void>(size);
#endif
}

void ReleaseFile(const uint8_t* begin, size_t size) {
  const auto page = static_cast<uintptr_t>(getpagesize());
  const uintptr_t from = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
  const uintptr_t to = reinterpret_cast<uintptr_t>(begin + size) / page * page;
  if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

void UnmapFile(const uint8_t* begin, size_t size) {
  // In this order: another mapping may get the addresses as soon as they are free.
  UnguardMapping(begin);
  munmap(const_cast<uint8_t*>(begin), size);
}

}  // namespace wellfed

#endif  // _WIN32
