#include "mapping_guard.h"

#include <nanobind/nanobind.h>

#include "arrays.h"

namespace nb = nanobind;

void BindMappingGuard(nb::module_& m) {
  using wellfed::Buffer;
  m.def(
      "guard_mapping",
      [](const Buffer& buffer) { wellfed::GuardMapping(buffer.span().data(), buffer.span().size()); },
      nb::arg("buffer"),
      "Keeps the process alive when the file behind `buffer`, a read-only mapping, is cut: its missing pages "
      "become\n"
      "zeros. Keeps no reference; call unguard_mapping before the mapping is closed. Does nothing on "
      "Windows.");
  m.def(
      "unguard_mapping", [](const Buffer& buffer) { wellfed::UnguardMapping(buffer.span().data()); },
      nb::arg("buffer"), "Ends the guard of `buffer`; does nothing where there is none.");
  m.def(
      "mapping_was_cut", [](const Buffer& buffer) { return wellfed::MappingWasCut(buffer.span().data()); },
      nb::arg("buffer"),
      "True where a page of the guarded `buffer` could not be read; it and all that follow are zeros since.");
}
