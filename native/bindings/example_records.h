// Records as the bindings that read Examples take them: a buffer with starts and sizes, or a list of
// bytes-likes.
#ifndef WELLFED_BINDINGS_EXAMPLE_RECORDS_H_
#define WELLFED_BINDINGS_EXAMPLE_RECORDS_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <vector>

#include "arrays.h"

namespace wellfed {

// Keeps every record alive and in place: another thread may change the list while the GIL is off. Made and
// destroyed with the GIL; read without.
class RecordList {
 public:
  explicit RecordList(nanobind::list records) {
    held_.reserve(records.size());
    for (nanobind::handle record : records) {
      held_.emplace_back(record.ptr());
      if (!held_.back().held()) throw nanobind::python_error();
    }
  }

  uint64_t size() const { return held_.size(); }
  std::span<const uint8_t> operator[](uint64_t row) const { return held_[row].span(); }
  std::span<const uint8_t> buffer() const { return {}; }  // No one buffer holds them all.

 private:
  std::vector<Buffer> held_;
};

class RecordBuffer {
 public:
  RecordBuffer(const Buffer& data, const ArrayIn<int64_t>& starts, const ArrayIn<int64_t>& sizes)
      : data_(data.span()), starts_(starts.data(), starts.size()), sizes_(sizes.data(), sizes.size()) {
    CheckInside(data_.size(), starts_, sizes_);
  }

  uint64_t size() const { return starts_.size(); }
  std::span<const uint8_t> operator[](uint64_t row) const {
    return data_.subspan(static_cast<size_t>(starts_[row]), static_cast<size_t>(sizes_[row]));
  }
  std::span<const uint8_t> buffer() const { return data_; }

 private:
  std::span<const uint8_t> data_;
  std::span<const int64_t> starts_, sizes_;
};

}  // namespace wellfed

#endif  // WELLFED_BINDINGS_EXAMPLE_RECORDS_H_
