#include "leases.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <new>

#include "py_leases.h"

namespace nb = nanobind;

using wellfed::PyLeasePool;

namespace wellfed {

ArrayOut<uint8_t> ToArray(LeasePool::Lease* lease, size_t size) {
  // NumPy's views all hold the capsule, also views of views, so it dies with the last of them.
  nb::capsule owner(lease, [](void* p) noexcept { LeasePool::Return(static_cast<LeasePool::Lease*>(p)); });
  if (lease->data == nullptr) throw std::bad_alloc();
  return ArrayOut<uint8_t>(lease->data, {size}, owner);
}

}  // namespace wellfed

namespace {

wellfed::ArrayOut<uint8_t> Take(PyLeasePool& self, size_t size) {
  return wellfed::ToArray(self.pool->Take(size), size);
}

}  // namespace

void BindLeases(nb::module_& m) {
  nb::class_<PyLeasePool>(m, "LeasePool",
                          "Memory for batches that comes back when the last array over it dies; it outlives "
                          "the pool. At most `max_free_bytes` of returned memory are kept.")
      .def(nb::init<size_t>(), nb::arg("max_free_bytes"))
      .def("take", &Take, nb::arg("size"),
           "A writable array of `size` uninitialised bytes, aligned to 64. Never waits.")
      .def_prop_ro(
          "leased_bytes", [](const PyLeasePool& self) { return self.pool->leased_bytes(); },
          "Bytes of memory that arrays hold now.")
      .def_prop_ro(
          "free_bytes", [](const PyLeasePool& self) { return self.pool->free_bytes(); },
          "Bytes of returned memory that wait for use.");
}
