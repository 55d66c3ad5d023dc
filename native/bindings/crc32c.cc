#include "crc32c.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrays.h"

namespace nb = nanobind;

namespace {

using wellfed::Buffer;

// Giving the GIL away costs more than the sum of less than this, and may cost a turn of 5 ms to get it back.
constexpr size_t kReleaseFrom = 4096;

uint32_t Extend(const wellfed::Crc32cImplementation& implementation, const Buffer& data, uint32_t crc) {
  const auto bytes = data.span();
  std::optional<nb::gil_scoped_release> released;
  if (bytes.size() >= kReleaseFrom) released.emplace();
  return implementation.extend(crc, bytes.data(), bytes.size());
}

std::vector<std::string> AvailableNames() {
  std::vector<std::string> names;
  for (const auto& implementation : wellfed::Crc32cImplementations()) {
    if (implementation.available()) names.emplace_back(implementation.name);
  }
  return names;
}

uint32_t ExtendWith(const std::string& name, const Buffer& data, uint32_t crc) {
  for (const auto& implementation : wellfed::Crc32cImplementations()) {
    if (name == implementation.name && implementation.available()) return Extend(implementation, data, crc);
  }
  std::string message = "CRC-32C implementation must be one of";
  for (const std::string& known : AvailableNames()) message += " \"" + known + '"';
  throw std::invalid_argument(message + ", got \"" + name + '"');
}

}  // namespace

void BindCrc32c(nb::module_& m) {
  m.def(
      "crc32c", [](const Buffer& data, uint32_t crc) { return Extend(wellfed::BestCrc32c(), data, crc); },
      nb::arg("data"), nb::arg("crc") = 0,
      "CRC-32C of the bytes; `crc` is the sum of the bytes before them.");
  m.def(
      "masked_crc32c",
      [](const Buffer& data) { return wellfed::MaskCrc(Extend(wellfed::BestCrc32c(), data, 0)); },
      nb::arg("data"), "CRC-32C of the bytes in the masked form that TFRecord stores.");
  m.def("crc32c_implementations", &AvailableNames,
        "Names of the implementations that this CPU can run, slowest first; the last one is used.");
  m.def("crc32c_with", &ExtendWith, nb::arg("name"), nb::arg("data"), nb::arg("crc") = 0,
        "As crc32c, by the implementation of that name. Raises ValueError where this CPU has none of that "
        "name.");
}
