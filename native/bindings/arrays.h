// What the bindings share: bytes in from any buffer, vectors out as NumPy arrays, both without a copy.
#ifndef WELLFED_BINDINGS_ARRAYS_H_
#define WELLFED_BINDINGS_ARRAYS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "growing_array.h"

namespace wellfed {

// The bytes of a contiguous buffer (bytes, mmap, memoryview, array, ...), held while it lives. An argument of
// this type accepts any of them, read-only or not. Made and destroyed with the GIL; `span` may be read
// without.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(PyObject* owner) {
    if (PyObject_GetBuffer(owner, &view_, PyBUF_SIMPLE) != 0) view_ = {};
  }
  Buffer(Buffer&& other) noexcept : view_(std::exchange(other.view_, {})) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(view_, other.view_);
    return *this;
  }
  ~Buffer() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }

  bool held() const { return view_.obj != nullptr; }
  std::span<const uint8_t> span() const {
    return {static_cast<const uint8_t*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

template <typename T>
using ArrayOut = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;

template <typename T>
using ArrayIn = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// A writable array that owns the values.
template <typename T>
ArrayOut<T> ToArray(std::vector<T>&& values) {
  auto* const kept = new std::vector<T>(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return ArrayOut<T>(kept->data(), {kept->size()}, owner);
}

// Throws std::invalid_argument unless string i, `sizes[i]` bytes at `starts[i]`, lies inside `available`
// bytes.
inline void CheckInside(uint64_t available, std::span<const int64_t> starts, std::span<const int64_t> sizes) {
  if (starts.size() != sizes.size()) {
    throw std::invalid_argument("starts and sizes must be equally long, got " +
                                std::to_string(starts.size()) + " and " + std::to_string(sizes.size()));
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    // Negative numbers become huge ones, so one comparison each refuses them too.
    const auto start = static_cast<uint64_t>(starts[i]), size = static_cast<uint64_t>(sizes[i]);
    if (start > available || size > available - start) {
      throw std::invalid_argument("record " + std::to_string(i) + " must lie inside the " +
                                  std::to_string(available) + " bytes of data, got start " +
                                  std::to_string(starts[i]) + " and size " + std::to_string(sizes[i]));
    }
  }
}

template <typename T>
ArrayOut<T> ToArray(GrowingArray<T>&& values) {
  const size_t size = values.size();
  T* const kept = values.Release();
  nanobind::capsule owner(kept == nullptr ? std::malloc(1) : kept, [](void* p) noexcept { std::free(p); });
  return ArrayOut<T>(kept, {size}, owner);
}

}  // namespace wellfed

namespace nanobind::detail {

template <>
struct type_caster<wellfed::Buffer> {
  NB_TYPE_CASTER(wellfed::Buffer, const_name("typing_extensions.Buffer | numpy.ndarray"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    value = wellfed::Buffer(source.ptr());
    if (!value.held()) PyErr_Clear();
    return value.held();
  }
};

}  // namespace nanobind::detail

#endif  // WELLFED_BINDINGS_ARRAYS_H_
