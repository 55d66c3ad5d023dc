#include "mapping_guard.h"

#include <nanobind/nanobind.h>

#include "arrays.h"

namespace nb = nanobind;

void BindMappingGuard(nb::module_& m) {
  m.def(
      "mapping_was_cut",
      [](const wellfed::Buffer& buffer) { return wellfed::MappingWasCut(buffer.span().data()); },
      nb::arg("buffer"),
      "True where a page of `buffer`, the whole of what map_file gave, could not be read; it and all that "
      "follow\n"
      "are zeros since.");
}
