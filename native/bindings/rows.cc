#include "rows.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.h"
#include "example_columns.h"
#include "py_leases.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using wellfed::ArrayIn;
using wellfed::Buffer;
using wellfed::Column;
using wellfed::ExampleParser;
using wellfed::RowError;
using wellfed::Shard;
using wellfed::ShardSet;

// A ShardSet with what it points into.
struct PyShardSet {
  PyShardSet() = default;
  PyShardSet(PyShardSet&&) = default;
  PyShardSet(const PyShardSet&) = delete;  // std::vector would promise a copy that Buffer has not.

  std::vector<Buffer> files;
  std::vector<ArrayIn<uint64_t>> offsets;
  std::optional<ShardSet> shards;
};

void MakeShardSet(PyShardSet* self, nb::list given) {
  PyShardSet made;
  std::vector<Shard> shards;
  for (nb::handle item : given) {
    const auto pair = nb::cast<nb::tuple>(item);
    Buffer file(nb::object(pair[0]).ptr());
    if (!file.held()) throw nb::python_error();
    auto offsets = nb::cast<ArrayIn<uint64_t>>(pair[1]);
    shards.push_back({file.span(), {offsets.data(), offsets.size()}});
    made.files.push_back(std::move(file));
    made.offsets.push_back(std::move(offsets));
  }
  made.shards.emplace(std::move(shards));
  new (self) PyShardSet(std::move(made));
}

void CheckRows(const PyShardSet& self, const ArrayIn<uint64_t>& rows) {
  const uint64_t count = self.shards->rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows.data()[i] >= count) {
      throw nb::index_error(
          ("row " + std::to_string(rows.data()[i]) + " of " + std::to_string(count)).c_str());
    }
  }
}

#ifndef _WIN32
void AskFor(const PyShardSet& self, ArrayIn<uint64_t> rows) {
  CheckRows(self, rows);
  nb::gil_scoped_release released;
  wellfed::AskForRows(*self.shards, {rows.data(), rows.size()});
}
#endif

nb::tuple Failure(const RowError& error) {
  return nb::make_tuple(static_cast<int>(error.frame), error.position, error.shard, error.record,
                        error.offset, wellfed::ToPython(error.parse, error.position));
}

nb::tuple Parse(const PyShardSet& self, ArrayIn<uint64_t> rows, const ExampleParser& parser, bool check,
                const wellfed::Outputs& out) {
  CheckRows(self, rows);
  std::vector<Column> columns = wellfed::MakeColumns(parser, rows.size(), out, {});
  std::vector<wellfed::Strings> placed(columns.size());
  RowError error;
  bool parsed;
  {
    nb::gil_scoped_release released;
    parsed =
        wellfed::ParseRows(*self.shards, {rows.data(), rows.size()}, check, parser, columns.data(), &error);
    for (size_t f = 0; parsed && f < columns.size(); ++f) {
      if (parser.specs()[f].strings()) placed[f] = wellfed::PlaceStrings({}, columns[f]);
    }
  }
  if (!parsed) return nb::make_tuple(nb::none(), Failure(error));
  return nb::make_tuple(wellfed::ToPython(parser.specs(), columns, placed), nb::none());
}

nb::tuple Read(const PyShardSet& self, ArrayIn<uint64_t> rows, bool check, const wellfed::PyLeasePool& pool) {
  CheckRows(self, rows);
  const size_t count = rows.size();
  wellfed::GrowingArray<int64_t> starts, sizes;
  RowError error;
  uint64_t total = 0;
  wellfed::LeasePool::Lease* lease = nullptr;
  bool read;
  {
    nb::gil_scoped_release released;
    std::vector<uint64_t> lengths(count);
    read = wellfed::MeasureRows(*self.shards, {rows.data(), count}, lengths.data(), &error);
    for (size_t i = 0; read && i < count; ++i) {
      starts.Push(static_cast<int64_t>(total));
      sizes.Push(static_cast<int64_t>(lengths[i]));
      total += lengths[i];
    }
    if (read) {
      lease = pool.pool->Take(total);
      read = lease->data != nullptr && wellfed::CopyRows(*self.shards, {rows.data(), count}, check,
                                                         lengths.data(), lease->data, &error);
    }
  }
  wellfed::ArrayOut<uint8_t> data;
  if (lease != nullptr) data = wellfed::ToArray(lease, total);
  if (!read) return nb::make_tuple(nb::none(), Failure(error));
  return nb::make_tuple(
      nb::make_tuple(data, wellfed::ToArray(std::move(starts)), wellfed::ToArray(std::move(sizes))),
      nb::none());
}

}  // namespace

void BindRows(nb::module_& m) {
  nb::class_<PyShardSet>(
      m, "ShardSet",
      "Records of many mapped files as rows that are read at random. Keeps the buffers given; "
      "immutable, so threads may share it.")
      .def("__init__", &MakeShardSet, "shards"_a,
           "`shards`: (the file's bytes, uint64 offsets of its records' headers) each.")
      .def_prop_ro(
          "rows", [](const PyShardSet& self) { return self.shards->rows(); }, "How many rows there are.")
#ifndef _WIN32
      .def("ask_for", &AskFor, "rows"_a.noconvert(),
           "Has the pages of `rows` (uint64) read that are not in memory, and no others; does not wait for "
           "them. Not on Windows.")
#endif
      .def("parse", &Parse, "rows"_a.noconvert(), "parser"_a, "check"_a, "out"_a,
           "Reads `rows` (uint64) in that order, proves their sums and parses them. Returns (columns, None) "
           "as\n"
           "`ExampleParser.parse` does, with strings copied, or (None, (frame status, position in `rows`, "
           "shard,\n"
           "record in the shard, offset, parse error)). `check` covers the payload's sum; the header's is "
           "always\n"
           "proved.")
      .def("read", &Read, "rows"_a.noconvert(), "check"_a, "pool"_a,
           "Reads `rows` (uint64) in that order: ((data, starts, sizes), None) with the payloads copied end "
           "to\n"
           "end into memory of the pool, or (None, error) as `parse`.");
}
