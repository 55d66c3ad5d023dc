#include "framing.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "frame_search.h"

namespace nb = nanobind;

namespace {

using wellfed::ArrayIn;
using wellfed::ArrayOut;
using wellfed::Buffer;

void CheckStart(std::span<const uint8_t> block, uint64_t start) {
  if (start > block.size()) {
    throw std::invalid_argument("start must be at most the block's " + std::to_string(block.size()) +
                                " bytes, got " + std::to_string(start));
  }
}

using Scanned = std::tuple<ArrayOut<uint64_t>, uint64_t, int>;

Scanned ToPython(std::vector<uint64_t> offsets, const wellfed::ScanResult& result) {
  return {wellfed::ToArray(std::move(offsets)), result.position, static_cast<int>(result.status)};
}

Scanned ScanFrames(const Buffer& block, uint64_t start, uint64_t max_records, bool check) {
  const auto bytes = block.span();
  CheckStart(bytes, start);
  std::vector<uint64_t> offsets;
  wellfed::ScanResult result;
  {
    nb::gil_scoped_release released;
    result = wellfed::ScanFrames(bytes, start, max_records, check, &offsets);
  }
  return ToPython(std::move(offsets), result);
}

uint64_t FindFrame(const Buffer& block, uint64_t start) {
  CheckStart(block.span(), start);
  nb::gil_scoped_release released;
  return wellfed::FindFrame(block.span(), start);
}

std::pair<uint64_t, int> FindFrameInStream(const Buffer& block, uint64_t start, uint64_t max_length) {
  CheckStart(block.span(), start);
  nb::gil_scoped_release released;
  const auto found = wellfed::FindFrameInStream(block.span(), start, max_length);
  return {found.position, static_cast<int>(found.status)};
}

// A FrameSearch with the block that it goes over. Threads that share one wait for each other.
class PyFrameSearch {
 public:
  explicit PyFrameSearch(Buffer given) : block_(std::move(given)), search_(block_.span()) {}

  // What `use(FrameSearch&)` gives, without the GIL. `start` is checked.
  template <typename Use>
  auto At(uint64_t start, Use use) {
    CheckStart(block_.span(), start);
    nb::gil_scoped_release released;
    const std::lock_guard<std::mutex> lock(mutex_);
    return use(search_);
  }

  uint64_t size() const { return block_.span().size(); }

 private:
  Buffer block_;
  wellfed::FrameSearch search_;
  std::mutex mutex_;
};

Scanned SearchScan(PyFrameSearch& self, uint64_t start, uint64_t max_records) {
  std::vector<uint64_t> offsets;
  const auto result =
      self.At(start, [&](wellfed::FrameSearch& search) { return search.Scan(start, max_records, &offsets); });
  return ToPython(std::move(offsets), result);
}

std::pair<uint64_t, int> SearchFindInStream(PyFrameSearch& self, uint64_t start, uint64_t max_length) {
  const auto found =
      self.At(start, [&](wellfed::FrameSearch& search) { return search.FindInStream(start, max_length); });
  return {found.position, static_cast<int>(found.status)};
}

uint64_t SearchFind(PyFrameSearch& self, uint64_t start) {
  return self.At(start, [&](wellfed::FrameSearch& search) { return search.Find(start); });
}

uint32_t SearchMaskedSum(PyFrameSearch& self, uint64_t start, uint64_t length) {
  if (start <= self.size() && length > self.size() - start) {
    throw std::invalid_argument("length must be at most the " + std::to_string(self.size() - start) +
                                " bytes from " + std::to_string(start) + " on, got " +
                                std::to_string(length));
  }
  return self.At(start, [&](wellfed::FrameSearch& search) { return search.MaskedSum(start, length); });
}

void MakeFrameSearch(PyFrameSearch* self, nb::handle block) {
  Buffer held(block.ptr());
  if (!held.held()) throw nb::python_error();
  new (self) PyFrameSearch(std::move(held));
}

nb::bytes FrameRecords(const Buffer& data, ArrayIn<int64_t> starts, ArrayIn<int64_t> sizes) {
  const auto bytes = data.span();
  const std::span<const int64_t> from(starts.data(), starts.size()), count(sizes.data(), sizes.size());
  wellfed::CheckInside(bytes.size(), from, count);
  uint64_t total = 0;
  for (const int64_t size : count) total += wellfed::kFrameOverhead + static_cast<uint64_t>(size);
  nb::bytes framed = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(total)));
  if (!framed.is_valid()) throw nb::python_error();
  auto* out = reinterpret_cast<uint8_t*>(PyBytes_AS_STRING(framed.ptr()));
  nb::gil_scoped_release released;
  for (size_t i = 0; i < from.size(); ++i) {
    const auto payload = bytes.subspan(static_cast<size_t>(from[i]), static_cast<size_t>(count[i]));
    wellfed::WriteFrame(payload, out);
    out += wellfed::kFrameOverhead + payload.size();
  }
  return framed;
}

}  // namespace

void BindFraming(nb::module_& m) {
  m.attr("FRAME_OK") = static_cast<int>(wellfed::FrameStatus::kOk);
  m.attr("FRAME_END") = static_cast<int>(wellfed::FrameStatus::kEnd);
  m.attr("FRAME_TRUNCATED") = static_cast<int>(wellfed::FrameStatus::kTruncated);
  m.attr("FRAME_BAD_LENGTH_CRC") = static_cast<int>(wellfed::FrameStatus::kBadLengthCrc);
  m.attr("FRAME_BAD_PAYLOAD_CRC") = static_cast<int>(wellfed::FrameStatus::kBadPayloadCrc);
  m.def("scan_frames", &ScanFrames, nb::arg("block"), nb::arg("start") = 0,
        nb::arg("max_records") = UINT64_MAX, nb::arg("check") = true,
        "Walks records from byte `start` on. Returns (offset of each header, header of the first record that "
        "was not\n"
        "scanned, a FRAME_* status that says why the walk ended there).");
  m.def("find_frame", &FindFrame, nb::arg("block"), nb::arg("start") = 0,
        "The first position from `start` on where a whole record stands whose two sums hold, or len(block).");
  m.def("find_frame_in_stream", &FindFrameInStream, nb::arg("block"), nb::arg("start") = 0,
        nb::arg("max_length") = UINT64_MAX,
        "As find_frame, for a block after which more bytes may come. Returns (position, status): FRAME_OK, a "
        "whole\n"
        "record; FRAME_TRUNCATED, a true header of at most `max_length` bytes of payload that the block ends "
        "inside;\n"
        "FRAME_END, none starts in front of `position`.");
  nb::class_<PyFrameSearch>(
      m, "FrameSearch",
      "Goes over one block whose records are damaged, in time proportional to it whatever its bytes claim.\n"
      "Keeps the buffer given; threads that share one wait for each other.")
      .def("__init__", &MakeFrameSearch, nb::arg("block"))
      .def("scan", &SearchScan, nb::arg("start") = 0, nb::arg("max_records") = UINT64_MAX,
           "As scan_frames with `check`.")
      .def("find_in_stream", &SearchFindInStream, nb::arg("start") = 0, nb::arg("max_length") = UINT64_MAX,
           "As find_frame_in_stream.")
      .def("find", &SearchFind, nb::arg("start") = 0, "As find_frame.")
      .def("masked_crc32c", &SearchMaskedSum, nb::arg("start"), nb::arg("length"),
           "The masked CRC-32C of `length` bytes from `start` on.");
  m.def("frame_records", &FrameRecords, nb::arg("data"), nb::arg("starts").noconvert(),
        nb::arg("sizes").noconvert(),
        "Frames record i, the `sizes[i]` bytes of `data` at `starts[i]`, for each i. Returns the framed "
        "bytes.");
}
