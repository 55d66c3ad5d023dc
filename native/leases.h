// Memory for batches that goes back to a pool when the last array over it dies.
//
// A lease is one block. Its owner (a Python capsule, in the bindings) gives it back on destruction, from
// whatever thread that happens in. The pool outlives its leases: each holds a reference to it.
#ifndef WELLFED_LEASES_H_
#define WELLFED_LEASES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace wellfed {

// Thread-safe; in a fork's child, a pool made before the fork keeps and gives nothing. Blocks are aligned to
// 64 bytes. A block is reused only for requests of its own size class (powers of two and their halves), so at
// most a third of it lies idle.
class LeasePool : public std::enable_shared_from_this<LeasePool> {
 public:
  // Keeps at most `max_free_bytes` of returned blocks; what is beyond goes back to the system.
  explicit LeasePool(size_t max_free_bytes);
  ~LeasePool();

  LeasePool(const LeasePool&) = delete;
  LeasePool& operator=(const LeasePool&) = delete;

  struct Lease {
    std::shared_ptr<LeasePool> pool;
    uint8_t* data;
    size_t capacity;
  };

  // A block of at least `size` bytes, uninitialised; nullptr data where memory is out. Never waits for a
  // return.
  Lease* Take(size_t size);

  // Ends a lease. Safe from any thread and at any time, also inside Take of another thread.
  static void Return(Lease* lease);

  size_t leased_bytes() const;
  size_t free_bytes() const;

 private:
  struct Block {
    uint8_t* data;
    size_t capacity;
  };

  // Whether this is the process that made the pool: in a fork's child the mutex may be held for ever.
  bool at_home() const;

  const size_t max_free_bytes_;
  const int64_t process_;
  mutable std::mutex mutex_;  // Guards what follows; nothing in Python runs while it is held.
  std::vector<Block> free_;
  size_t free_bytes_ = 0;
  size_t leased_bytes_ = 0;
};

}  // namespace wellfed

#endif  // WELLFED_LEASES_H_
