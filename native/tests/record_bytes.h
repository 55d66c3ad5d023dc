// Records and damage to them, as a small language.
//
//   RecordBytes file;
//   file.Write("one").Write("two").Write("three");
//   file.FlipBit(file.Header(1) + 2, 0);          // in the length of "two"
//   file.SetLength(1, 1u << 20).FixLengthSum(1);  // a length that its sum vouches for
#ifndef WELLFED_TESTS_RECORD_BYTES_H_
#define WELLFED_TESTS_RECORD_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference.h"

namespace wellfed::testing {

class RecordBytes {
 public:
  RecordBytes& Write(std::string_view payload) {
    headers_.push_back(bytes_.size());
    sizes_.push_back(payload.size());
    PutNumber(payload.size(), 8);
    PutNumber(reference::Masked(reference::Crc32c(span().last(8))), 4);
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    PutNumber(reference::Masked(reference::Crc32c(span().last(payload.size()))), 4);
    return *this;
  }

  // Bytes that are no record.
  RecordBytes& WriteRaw(std::string_view raw) {
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
    return *this;
  }

  RecordBytes& FlipBit(size_t at, int bit) {
    bytes_.at(at) ^= static_cast<uint8_t>(1 << bit);
    return *this;
  }

  RecordBytes& ShrinkBy(size_t count) {
    bytes_.resize(bytes_.size() - count);
    return *this;
  }

  RecordBytes& Erase(size_t at, size_t count) {
    const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(at);
    bytes_.erase(from, from + static_cast<std::ptrdiff_t>(count));
    return *this;
  }

  RecordBytes& SetLength(size_t record, uint64_t length) { return SetNumber(Header(record), length, 8); }

  RecordBytes& FixLengthSum(size_t record) {
    return SetNumber(Header(record) + 8,
                     reference::Masked(reference::Crc32c(span().subspan(Header(record), 8))), 4);
  }

  RecordBytes& FixPayloadSum(size_t record) {
    const auto payload = span().subspan(Payload(record), sizes_[record]);
    return SetNumber(Footer(record), reference::Masked(reference::Crc32c(payload)), 4);
  }

  // Where the parts of a record were written.
  size_t Header(size_t record) const { return headers_.at(record); }
  size_t Payload(size_t record) const { return Header(record) + 12; }
  size_t Footer(size_t record) const { return Payload(record) + sizes_.at(record); }

  const std::vector<uint64_t>& headers() const { return headers_; }
  size_t size() const { return bytes_.size(); }
  std::span<const uint8_t> span() const { return bytes_; }

 private:
  void PutNumber(uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }

  RecordBytes& SetNumber(size_t at, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; ++i) bytes_.at(at + i) = static_cast<uint8_t>(value >> (8 * i));
    return *this;
  }

  std::vector<uint8_t> bytes_;
  std::vector<uint64_t> headers_;
  std::vector<uint64_t> sizes_;
};

}  // namespace wellfed::testing

#endif  // WELLFED_TESTS_RECORD_BYTES_H_
