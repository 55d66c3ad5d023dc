#include "records.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"

namespace nb = nanobind;

namespace {

using wellfed::ArrayIn;
using wellfed::ArrayOut;
using wellfed::Buffer;

std::tuple<ArrayOut<int64_t>, uint64_t, int> ReadFrames(const Buffer& block, ArrayIn<uint64_t> offsets,
                                                        bool check) {
  std::vector<int64_t> sizes(offsets.size());
  wellfed::ReadResult result;
  {
    nb::gil_scoped_release released;
    result = wellfed::ReadFrames(block.span(), {offsets.data(), offsets.size()}, check, sizes.data());
  }
  sizes.resize(result.count);
  return {wellfed::ToArray(std::move(sizes)), result.count, static_cast<int>(result.status)};
}

// Throws where a span is not inside the `available` bytes.
void CheckSpans(const char* what, uint64_t available, ArrayIn<int64_t> starts, ArrayIn<int64_t> sizes) {
  if (starts.size() != sizes.size()) throw std::invalid_argument("arrays of one length are due");
  for (size_t i = 0; i < starts.size(); ++i) {
    // Negative numbers become huge ones, so one comparison each refuses them too.
    const auto start = static_cast<uint64_t>(starts.data()[i]), size = static_cast<uint64_t>(sizes.data()[i]);
    if (start > available || size > available - start) {
      throw std::invalid_argument("span " + std::to_string(i) + " must lie inside the " +
                                  std::to_string(available) + " bytes of " + what + ", got start " +
                                  std::to_string(starts.data()[i]) + " and size " +
                                  std::to_string(sizes.data()[i]));
    }
  }
}

using BytesInOut = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void CopySpans(const Buffer& data, ArrayIn<int64_t> starts, ArrayIn<int64_t> sizes, BytesInOut out,
               ArrayIn<int64_t> places) {
  CheckSpans("data", data.span().size(), starts, sizes);
  CheckSpans("out", out.size(), places, sizes);
  nb::gil_scoped_release released;
  wellfed::CopySpans(data.span().data(), {starts.data(), starts.size()}, {sizes.data(), sizes.size()},
                     {places.data(), places.size()}, out.data());
}

nb::list CutRecords(const Buffer& block, ArrayIn<uint64_t> offsets) {
  const auto bytes = block.span();
  nb::list records;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const uint64_t start = offsets.data()[i], end = offsets.data()[i + 1];
    if (end > bytes.size() || start > end || end - start < wellfed::kFrameOverhead) {
      throw std::invalid_argument("offsets must rise by 16 at least inside the block, got " +
                                  std::to_string(start) + " and " + std::to_string(end));
    }
    records.append(nb::bytes(bytes.data() + start + wellfed::kHeaderSize,
                             static_cast<size_t>(end - start - wellfed::kFrameOverhead)));
  }
  return records;
}

}  // namespace

void BindRecords(nb::module_& m) {
  m.def("read_frames", &ReadFrames, nb::arg("block"), nb::arg("offsets").noconvert(), nb::arg("check") = true,
        "Proves the records whose headers stand at `offsets` of a block. Returns (size of each payload in "
        "front of the\n"
        "first bad one, how many those are, the bad one's FRAME_* status or FRAME_OK).");
  m.def("copy_spans", &CopySpans, nb::arg("data"), nb::arg("starts").noconvert(),
        nb::arg("sizes").noconvert(), nb::arg("out").noconvert(), nb::arg("places").noconvert(),
        "Copies sizes[i] bytes from data[starts[i]] to out[places[i]], for each i.");
  m.def(
      "cut_records", &CutRecords, nb::arg("block"), nb::arg("offsets").noconvert(),
      "The payloads of records that were proved to lie end to end: `offsets` holds each header and then the "
      "end.");
}
