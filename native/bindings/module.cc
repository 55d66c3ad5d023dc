// The Python module `wellfed._native`. Each file in this folder binds one part of the kernel; nothing outside
// this folder knows Python.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void BindCrc32c(nb::module_& m);
void BindFraming(nb::module_& m);
void BindPermute(nb::module_& m);
void BindMappingGuard(nb::module_& m);
void BindMappedFile(nb::module_& m);
void BindRecords(nb::module_& m);
void BindExample(nb::module_& m);
void BindExampleEncode(nb::module_& m);
void BindExampleScan(nb::module_& m);
void BindSequence(nb::module_& m);
void BindRows(nb::module_& m);
void BindReadFiles(nb::module_& m);
void BindPixels(nb::module_& m);
void BindPng(nb::module_& m);
void BindLeases(nb::module_& m);

NB_MODULE(_native, m) {
  m.doc() = "wellfed's kernel: checksums, framing, parsing, encoding, permutation and pixels.";
  BindCrc32c(m);
  BindFraming(m);
  BindPermute(m);
  BindMappingGuard(m);
  BindMappedFile(m);
  BindRecords(m);
  BindExample(m);
  BindPixels(m);
  BindLeases(m);
  BindRows(m);
  BindReadFiles(m);
  BindExampleEncode(m);
  BindExampleScan(m);
  BindSequence(m);
  BindPng(m);
}
