#include "leases.h"

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "testing.h"

namespace wellfed {
namespace {

constexpr size_t kSize = 100'000;

std::shared_ptr<LeasePool> Pool(size_t max_free_bytes = 1 << 20) {
  return std::make_shared<LeasePool>(max_free_bytes);
}

TEST(AReturnedBlockIsTakenAgain) {
  const auto pool = Pool();
  LeasePool::Lease* const first = pool->Take(kSize);
  uint8_t* const data = first->data;
  LeasePool::Return(first);
  LeasePool::Lease* const second = pool->Take(kSize - 5);
  EXPECT_EQ(second->data, data);
  LeasePool::Return(second);
}

TEST(ABlockIsAlignedAndAllOfItMayBeWritten) {
  const auto pool = Pool();
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{4097}, size_t{6145}, kSize}) {
    LeasePool::Lease* const lease = pool->Take(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(lease->data) % 64, 0u);
    EXPECT_EQ(lease->capacity >= size, true);
    std::memset(lease->data, 7, lease->capacity);
    LeasePool::Return(lease);
  }
}

TEST(AtMostAThirdOfALargeBlockLiesIdle) {
  const auto pool = Pool();
  for (size_t size = 4096; size < (1 << 20); size += 997) {
    LeasePool::Lease* const lease = pool->Take(size);
    EXPECT_EQ(lease->capacity <= size + size / 2, true) << "size " << size;
    LeasePool::Return(lease);
  }
}

TEST(ABatchOfPicturesIsAlignedToHugePagesAndHasLittleThatLiesIdle) {
  const auto pool = Pool();
  for (size_t size = 4 << 20; size < (64 << 20); size += 1'234'567) {
    LeasePool::Lease* const lease = pool->Take(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(lease->data) % (2 << 20), 0u);
    EXPECT_EQ(lease->capacity >= size, true) << "size " << size;
    EXPECT_EQ(lease->capacity <= size + size / 8, true) << "size " << size;
    LeasePool::Return(lease);
  }
}

TEST(NoMoreIsKeptThanAllowed) {
  const auto pool = Pool(2 * kSize);
  std::vector<LeasePool::Lease*> leases;
  for (int i = 0; i < 10; ++i) leases.push_back(pool->Take(kSize));
  for (LeasePool::Lease* lease : leases) LeasePool::Return(lease);
  EXPECT_EQ(pool->free_bytes() <= 2 * kSize, true);
  EXPECT_EQ(pool->leased_bytes(), 0u);
}

TEST(ALeaseOutlivesItsPool) {
  auto pool = Pool();
  LeasePool::Lease* const lease = pool->Take(kSize);
  pool.reset();
  std::memset(lease->data, 1, kSize);
  LeasePool::Return(lease);
}

TEST(ThreadsNeverShareABlock) {
  const auto pool = Pool();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, &wrong, t] {
      for (int i = 0; i < 2000; ++i) {
        LeasePool::Lease* const lease = pool->Take(5000);
        std::memset(lease->data, t + 1, 5000);
        if (lease->data[4999] != t + 1 || lease->data[0] != t + 1) ++wrong[static_cast<size_t>(t)];
        LeasePool::Return(lease);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace wellfed
