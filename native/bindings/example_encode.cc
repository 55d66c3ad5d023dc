#include "example_encode.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using wellfed::ArrayIn;
using wellfed::ArrayOut;
using wellfed::Buffer;
using wellfed::Kind;
using wellfed::SourceColumn;

// Columns, and what keeps their memory. A deque never moves what it holds.
struct Source {
  std::vector<SourceColumn> columns;
  std::deque<Buffer> buffers;
  std::deque<ArrayIn<int64_t>> arrays;
  std::deque<std::vector<uint8_t>> numbers;
  std::deque<std::vector<int64_t>> places;
  std::vector<nb::object> kept;
};

std::span<const int64_t> Hold(nb::handle array, Source* source) {
  const auto& held = source->arrays.emplace_back(nb::cast<ArrayIn<int64_t>>(array));
  return {held.data(), held.size()};
}

std::span<const uint8_t> HoldBytes(nb::handle object, Source* source) {
  const Buffer& held = source->buffers.emplace_back(object.ptr());
  if (!held.held()) throw nb::python_error();
  return held.span();
}

// Throws unless `rows` rows of the column end at its `total` values.
void CheckRows(const SourceColumn& column, std::span<const int64_t> splits, uint64_t rows, uint64_t total) {
  if (column.row_splits == nullptr) {
    if (column.count == 0 ? total != 0 : total % column.count != 0 || total / column.count != rows) {
      throw std::invalid_argument("a column must hold `count` values in each row");
    }
    return;
  }
  bool holds = splits.size() == rows + 1 && splits[0] == 0 && static_cast<uint64_t>(splits[rows]) == total;
  for (size_t i = 1; holds && i < splits.size(); ++i) holds = splits[i - 1] <= splits[i];
  if (!holds)
    throw std::invalid_argument("row_splits must begin with 0, never fall, and end with the values");
}

// (kind, values, row_splits or None, count): `values` is a bytes-like of numbers, or (data, starts, sizes),
// or None.
void AddColumn(std::string key, nb::tuple parts, uint64_t rows, Source* source) {
  SourceColumn column;
  column.key = std::move(key);
  column.kind = static_cast<Kind>(nb::cast<int>(parts[0]));
  column.count = nb::cast<uint64_t>(parts[3]);
  std::span<const int64_t> splits;
  if (!parts[2].is_none()) {
    splits = Hold(parts[2], source);
    column.row_splits = splits.data();
  }
  uint64_t total = 0;
  if (column.kind == Kind::kBytes) {
    const auto strings = nb::cast<nb::tuple>(parts[1]);
    const auto data = HoldBytes(strings[0], source);
    const auto starts = Hold(strings[1], source), sizes = Hold(strings[2], source);
    wellfed::CheckInside(data.size(), starts, sizes);
    column.data = data.data();
    column.starts = starts.data();
    column.sizes = sizes.data();
    total = starts.size();
  } else if (column.kind == Kind::kInt64 || column.kind == Kind::kFloat) {
    const auto values = HoldBytes(parts[1], source);
    column.values = values.data();
    total = values.size() / (column.kind == Kind::kInt64 ? 8 : 4);
  }
  CheckRows(column, splits, rows, total);
  source->columns.push_back(std::move(column));
}

std::string AsKey(nb::handle key) {
  Py_ssize_t size;
  const char* utf8 = PyUnicode_AsUTF8AndSize(key.ptr(), &size);
  if (utf8 == nullptr) throw nb::python_error();
  return {utf8, static_cast<size_t>(size)};
}

nb::tuple EncodeExamples(nb::dict columns, uint64_t rows, bool framed) {
  Source source;
  for (const auto& [key, parts] : columns) AddColumn(AsKey(key), nb::cast<nb::tuple>(parts), rows, &source);
  wellfed::GrowingArray<uint8_t> data;
  wellfed::GrowingArray<int64_t> sizes;
  uint64_t done;
  {
    nb::gil_scoped_release released;
    done = wellfed::ExampleEncoder(source.columns).Encode(0, rows, framed, &data, &sizes);
  }
  if (done < rows) return nb::make_tuple(nb::none(), done);
  return nb::make_tuple(wellfed::ToArray(std::move(data)), wellfed::ToArray(std::move(sizes)));
}

// Python's own numbers and strings. Each returns false, with no error set, for what it does not take: the
// caller then asks Python, which takes it or says what is wrong.
bool AsInt(PyObject* value, int64_t* number) {
  if (!PyLong_CheckExact(value) && !PyBool_Check(value)) return false;
  int overflow;
  *number = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

bool AsFloat(PyObject* value, float* number) {
  if (!PyFloat_CheckExact(value)) return false;
  const double exact = PyFloat_AS_DOUBLE(value);
  *number = static_cast<float>(exact);
  return !std::isinf(*number) || std::isinf(exact);
}

bool AsBytes(PyObject* value, std::span<const uint8_t>* bytes) {
  const char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_CheckExact(value)) {
    data = PyBytes_AS_STRING(value);
    size = PyBytes_GET_SIZE(value);
  } else if (PyUnicode_CheckExact(value)) {
    data = PyUnicode_AsUTF8AndSize(value, &size);  // Kept in the object, so it lives as long.
    if (data == nullptr) PyErr_Clear();
  }
  *bytes = {reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(size)};
  return data != nullptr;
}

template <typename T>
bool AddNumbers(std::span<PyObject* const> items, bool (*convert)(PyObject*, T*), Kind kind, Source* source,
                SourceColumn* column) {
  std::vector<uint8_t>& memory = source->numbers.emplace_back(items.size() * sizeof(T));
  for (size_t i = 0; i < items.size(); ++i) {
    T number;
    if (!convert(items[i], &number)) return false;
    std::memcpy(memory.data() + i * sizeof(T), &number, sizeof(T));
  }
  column->kind = kind;
  column->values = memory.data();
  column->count = items.size();
  return true;
}

// Strings lie anywhere: offsets are from the first one, whose address may be above theirs.
bool AddStrings(std::span<PyObject* const> items, Source* source, SourceColumn* column) {
  std::vector<int64_t>& places = source->places.emplace_back(2 * items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    std::span<const uint8_t> bytes;
    if (!AsBytes(items[i], &bytes)) return false;
    if (i == 0) column->data = bytes.data();
    places[i] = static_cast<int64_t>(reinterpret_cast<intptr_t>(bytes.data()) -
                                     reinterpret_cast<intptr_t>(column->data));
    places[items.size() + i] = static_cast<int64_t>(bytes.size());
  }
  column->kind = Kind::kBytes;
  column->starts = places.data();
  column->sizes = places.data() + items.size();
  column->count = items.size();
  return true;
}

// A NumPy array of int64 or float32, as it lies.
bool AddArray(PyObject* value, Source* source, SourceColumn* column) {
  if (std::strcmp(Py_TYPE(value)->tp_name, "numpy.ndarray") != 0) return false;
  Py_buffer view;
  if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return false;
  }
  const std::string_view format = view.format == nullptr ? "" : view.format;
  const bool ints = view.itemsize == 8 && (format == "l" || format == "q");
  const bool takes = ints || (view.itemsize == 4 && format == "f");
  if (takes) {
    column->kind = ints ? Kind::kInt64 : Kind::kFloat;
    column->values = static_cast<const uint8_t*>(view.buf);
    column->count = static_cast<uint64_t>(view.len / view.itemsize);
  }
  PyBuffer_Release(&view);
  if (takes) source->kept.push_back(nb::borrow(value));
  return takes;
}

// The commonest values without a step through Python; false for all others.
bool AddValue(PyObject* value, Source* source, SourceColumn* column) {
  std::span<PyObject* const> items(&value, 1);
  if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
    items = {PySequence_Fast_ITEMS(value), static_cast<size_t>(PySequence_Fast_GET_SIZE(value))};
    if (items.empty()) return false;
  }
  if (PyLong_Check(items[0])) return AddNumbers(items, &AsInt, Kind::kInt64, source, column);
  if (PyFloat_CheckExact(items[0])) return AddNumbers(items, &AsFloat, Kind::kFloat, source, column);
  return AddStrings(items, source, column) || AddArray(value, source, column);
}

nb::bytes EncodeExample(nb::dict features, nb::callable parts_of) {
  Source source;
  for (const auto& [key, value] : features) {
    SourceColumn column;
    if (PyUnicode_Check(key.ptr()) && AddValue(value.ptr(), &source, &column)) {
      column.key = AsKey(key);
      source.columns.push_back(std::move(column));
      continue;
    }
    source.kept.push_back(parts_of(key, value));  // Refuses keys that are no str.
    AddColumn(AsKey(key), nb::cast<nb::tuple>(source.kept.back()), 1, &source);
  }
  wellfed::GrowingArray<uint8_t> data;
  wellfed::GrowingArray<int64_t> sizes;
  if (wellfed::ExampleEncoder(std::move(source.columns)).Encode(0, 1, false, &data, &sizes) < 1) {
    throw std::length_error("the Example would be larger than 2 GiB - 1, which protobuf cannot read");
  }
  return nb::bytes(reinterpret_cast<const char*>(data.data()), data.size());
}

nb::bytes EncodeFeatureList(nb::tuple parts, uint64_t rows) {
  Source source;
  AddColumn("", parts, rows, &source);
  wellfed::GrowingArray<uint8_t> data;
  if (wellfed::EncodeFeatureList(source.columns[0], rows, &data) < rows) {
    throw std::length_error("the list would be larger than 2 GiB - 1, which protobuf cannot read");
  }
  return nb::bytes(reinterpret_cast<const char*>(data.data()), data.size());
}

}  // namespace

void BindExampleEncode(nb::module_& m) {
  m.def("encode_examples", &EncodeExamples, "columns"_a, "rows"_a, "framed"_a,
        "Encodes `rows` Examples. `columns`: key to (kind 1 bytes | 2 float | 3 int64 | 0 unset, values, "
        "row_splits\n"
        "or None, count a row); values are a buffer of numbers, or (data, starts, sizes). Returns (data, "
        "sizes of the\n"
        "payloads), or (None, the first row that is too large).");
  m.def("encode_example", &EncodeExample, "features"_a, "parts_of"_a,
        "Encodes one Example. `parts_of(key, value)` gives (kind, values, None, count) for values that are "
        "no int,\n"
        "float, bytes or str.");
  m.def("encode_feature_list", &EncodeFeatureList, "parts"_a, "rows"_a,
        "The inside of a FeatureList whose steps are the rows of one column.");
}
