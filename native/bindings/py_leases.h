// What Python holds of a pool of leases, for the bindings that fill leases themselves.
#ifndef WELLFED_BINDINGS_PY_LEASES_H_
#define WELLFED_BINDINGS_PY_LEASES_H_

#include <cstddef>
#include <memory>

#include "arrays.h"
#include "leases.h"

namespace wellfed {

// nanobind's own holder would not share the pool with its leases.
struct PyLeasePool {
  explicit PyLeasePool(size_t max_free_bytes) : pool(std::make_shared<LeasePool>(max_free_bytes)) {}
  std::shared_ptr<LeasePool> pool;
};

// The first `size` bytes of a lease as an array that gives it back when the last array over it dies. Throws
// std::bad_alloc where the lease has no memory. Needs the GIL.
ArrayOut<uint8_t> ToArray(LeasePool::Lease* lease, size_t size);

}  // namespace wellfed

#endif  // WELLFED_BINDINGS_PY_LEASES_H_
