// An array that grows without touching what it has not been given, and whose memory can be handed on.
#ifndef WELLFED_GROWING_ARRAY_H_
#define WELLFED_GROWING_ARRAY_H_

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "huge_pages.h"

namespace wellfed {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// std::vector would write zeros before each append, and cannot give its memory to NumPy.
// Throws std::bad_alloc where memory ends.
template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  size_t size() const { return size_; }
  const T* data() const { return data_.get(); }
  T* data() { return data_.get(); }
  const T& operator[](size_t i) const { return data_[i]; }

  void Push(T value) {
    if (size_ == capacity_) Reserve(size_ + 1);
    data_[size_++] = value;
  }

  // Appends `count` values that the caller writes next; returns where.
  T* Grow(size_t count) {
    if (count > capacity_ - size_) Reserve(size_ + count);
    T* place = data_.get() + size_;
    size_ += count;
    return place;
  }

  // REQUIRES: size <= size().
  void Truncate(size_t size) { size_ = size; }

  // Makes room for `size` values in all; at least doubles, so that appending stays linear.
  void Reserve(size_t size) {
    if (size <= capacity_) return;
    if (size > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    const size_t capacity = size > 2 * capacity_ ? size : 2 * capacity_;
    void* memory = std::realloc(data_.get(), capacity * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    static_cast<void>(data_.release());  // realloc took it.
    AdviseHugePages(memory, capacity * sizeof(T));
    data_.reset(static_cast<T*>(memory));
    capacity_ = capacity;
  }

  // Gives the memory away (free it with std::free); the array is empty then.
  T* Release() {
    size_ = capacity_ = 0;
    return data_.release();
  }

 private:
  std::unique_ptr<T[], Free> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace wellfed

#endif  // WELLFED_GROWING_ARRAY_H_
