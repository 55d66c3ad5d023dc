#include "leases.h"

#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace wellfed {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kSmallest = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

// Large blocks lie on huge pages where the system has them: filling a fresh one takes one page fault, not
// 512.
std::align_val_t AlignmentOf(size_t capacity) {
  return capacity >= kHugePage ? std::align_val_t{kHugePage} : kAlignment;
}

uint8_t* Allocate(size_t capacity) {
  void* const data = ::operator new(capacity, AlignmentOf(capacity), std::nothrow);
#if defined(__linux__)
  if (data != nullptr && capacity >= kHugePage) madvise(data, capacity, MADV_HUGEPAGE);
#endif
  return static_cast<uint8_t*>(data);
}

void Free(uint8_t* data, size_t capacity) { ::operator delete(data, AlignmentOf(capacity)); }

int64_t ProcessId() {
#if defined(_WIN32)
  return 0;  // Nothing forks there.
#else
  return getpid();
#endif
}

// The next of 4096, 6144, 8192, 12288, 16384, ... at or above `size`.
size_t ClassOf(size_t size) {
  size_t power = kSmallest;
  while (power < size) {
    if (power + power / 2 >= size) return power + power / 2;
    if (power > SIZE_MAX / 2) return size;
    power *= 2;
  }
  return power;
}

}  // namespace

LeasePool::LeasePool(size_t max_free_bytes) : max_free_bytes_(max_free_bytes), process_(ProcessId()) {}

bool LeasePool::at_home() const { return process_ == ProcessId(); }

LeasePool::~LeasePool() {
  for (const Block& block : free_) Free(block.data, block.capacity);
}

LeasePool::Lease* LeasePool::Take(size_t size) {
  const size_t capacity = ClassOf(size);
  uint8_t* data = nullptr;
  if (at_home()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    leased_bytes_ += capacity;
    // The most recently returned first: it is the likeliest to be in the cache still.
    for (size_t i = free_.size(); i-- > 0;) {
      if (free_[i].capacity != capacity) continue;
      data = free_[i].data;
      free_[i] = free_.back();
      free_.pop_back();
      free_bytes_ -= capacity;
      break;
    }
  }
  if (data == nullptr) data = Allocate(capacity);
  return new Lease{shared_from_this(), data, capacity};
}

void LeasePool::Return(Lease* lease) {
  LeasePool& pool = *lease->pool;
  uint8_t* excess = lease->data;
  if (pool.at_home()) {
    const std::lock_guard<std::mutex> lock(pool.mutex_);
    pool.leased_bytes_ -= lease->capacity;
    if (lease->data != nullptr && pool.free_bytes_ + lease->capacity <= pool.max_free_bytes_) {
      pool.free_.push_back({lease->data, lease->capacity});
      pool.free_bytes_ += lease->capacity;
      excess = nullptr;
    }
  }
  Free(excess, lease->capacity);
  delete lease;
}

size_t LeasePool::leased_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return leased_bytes_;
}

size_t LeasePool::free_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return free_bytes_;
}

}  // namespace wellfed
