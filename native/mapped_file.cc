#include "mapped_file.h"

#ifndef _WIN32

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

#include "mapping_guard.h"

namespace wellfed {
namespace {

// Between two ranges that are asked for one by one; reading what lies between takes less than another
// request.
constexpr ptrdiff_t kLeastGap = 32 << 10;

}  // namespace

const uint8_t* MapFile(int descriptor, size_t size) {
  void* const begin = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (begin == MAP_FAILED) return nullptr;
  GuardMapping(begin, size);
  return static_cast<const uint8_t*>(begin);
}

void PopulateFile(const uint8_t* begin, size_t size) {
  // A fault maps what is in memory of the pages around it, 64 KiB by default. MADV_POPULATE_READ comes to the
  // same page by page, for half as much again.
  constexpr uintptr_t kAround = 64 << 10;
  const auto from = reinterpret_cast<uintptr_t>(begin);
  for (uintptr_t at = from; at < from + size; at = (at / kAround + 1) * kAround) {
    static_cast<void>(*reinterpret_cast<const volatile uint8_t*>(at));
  }
}

void AskForFile(const uint8_t* begin, size_t size) {
  if (size == 0) return;
  const auto page = static_cast<uintptr_t>(getpagesize());
  const uintptr_t from = reinterpret_cast<uintptr_t>(begin) / page * page;
  const auto to = reinterpret_cast<uintptr_t>(begin + size);
  madvise(reinterpret_cast<void*>(from), to - from, MADV_WILLNEED);
}

void RangesAsked::Add(std::span<const uint8_t> range) {
  if (begin_ == nullptr || range.data() < begin_ || range.data() > end_ + kLeastGap) {
    Flush();
    begin_ = end_ = range.data();
  }
  end_ = std::max(end_, range.data() + range.size());
}

void RangesAsked::Flush() {
  AskForFile(begin_, static_cast<size_t>(end_ - begin_));
  begin_ = end_ = nullptr;
}

void AskForRanges(std::span<const uint8_t> file, std::span<const int64_t> starts,
                  std::span<const int64_t> sizes) {
  std::vector<size_t> order(starts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return starts[a] < starts[b]; });
  RangesAsked asked;
  for (const size_t i : order) {
    if (starts[i] < 0 || sizes[i] < 0 || static_cast<uint64_t>(starts[i]) >= file.size()) continue;
    const auto start = static_cast<size_t>(starts[i]);
    asked.Add(file.subspan(start, std::min(static_cast<size_t>(sizes[i]), file.size() - start)));
  }
  asked.Flush();
}

void ReadWhole(const uint8_t* begin, size_t size) {
#ifdef MADV_HUGEPAGE
  madvise(const_cast<uint8_t*>(begin), size, MADV_HUGEPAGE);
#endif
}

void ReadAtRandom(const uint8_t* begin, size_t size) {
  ReleaseFile(begin, size);
#ifdef MADV_NOHUGEPAGE
  madvise(const_cast<uint8_t*>(begin), size, MADV_NOHUGEPAGE);
#endif
  madvise(const_cast<uint8_t*>(begin), size, MADV_RANDOM);
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
  const auto unmap = [=] { munmap(const_cast<uint8_t*>(begin), size); };
  // A page takes 0.1 to 0.2 us, and who drops the last reference is often a consumer between two batches.
  constexpr size_t kAtOnce = 16 << 20;
  if (size <= kAtOnce) return unmap();
  try {
    std::thread(unmap).detach();
  } catch (const std::system_error&) {  // No more threads.
    unmap();
  }
}

}  // namespace wellfed

#endif  // _WIN32
