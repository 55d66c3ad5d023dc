// What parsing, encoding and scanning Examples cost on this machine: the best of several rounds, one thread,
// from cache. A row is a kind of record: its size, then ns a record, million records a second and GB/s.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "example_encode.h"
#include "example_parse.h"
#include "example_scan.h"

namespace {

using wellfed::Column;
using wellfed::ExampleParser;
using wellfed::FeatureSpec;
using wellfed::GrowingArray;
using wellfed::Kind;
using wellfed::Layout;
using wellfed::SourceColumn;

volatile uint64_t sink;  // Results go here, so that no work is left out.

double Seconds(const std::function<uint64_t()>& work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int round = 0; round < 40; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < 8; ++i) sink = work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / 8);
  }
  return best;
}

// Columns of `rows` rows in memory of their own.
struct Table {
  explicit Table(size_t count) : rows(count) {}

  size_t rows;
  std::vector<SourceColumn> columns;
  std::vector<FeatureSpec> specs;
  std::vector<std::vector<uint8_t>> memory;
  std::vector<std::vector<int64_t>> places;

  void Ints(std::string key, uint64_t count, uint64_t below, Layout layout = Layout::kFixed) {
    std::vector<uint8_t>& values = memory.emplace_back(rows * count * 8);
    uint64_t state = 1;
    for (size_t i = 0; i < rows * count; ++i) {
      state = state * 6364136223846793005u + 1;
      const uint64_t value = (state >> 11) % below;
      std::copy_n(reinterpret_cast<const uint8_t*>(&value), 8, values.data() + 8 * i);
    }
    Add(std::move(key), Kind::kInt64, count, layout);
  }

  void Floats(std::string key, uint64_t count) {
    memory.emplace_back(rows * count * 4);
    Add(std::move(key), Kind::kFloat, count, Layout::kFixed);
  }

  void Raw(std::string key, uint64_t size) {
    memory.emplace_back(rows * size);
    places.emplace_back(rows);
    for (size_t i = 0; i < rows; ++i) places.back()[i] = static_cast<int64_t>(i * size);
    Add(std::move(key), Kind::kBytes, size, Layout::kRaw);
    columns.back().starts = places.back().data();
    columns.back().sizes = places.emplace_back(rows, static_cast<int64_t>(size)).data();
    columns.back().count = 1;
  }

  void Add(std::string key, Kind kind, uint64_t count, Layout layout) {
    SourceColumn& column = columns.emplace_back();
    column.key = key;
    column.kind = kind;
    column.count = count;
    column.values = column.data = memory.back().data();
    specs.push_back({std::move(key), kind, layout, count, false, {}, {}});
  }
};

void Report(const char* name, const char* what, size_t rows, uint64_t bytes, double seconds) {
  const double record = seconds / static_cast<double>(rows);
  std::printf("%-34s %-13s %5zu B %8.1f ns %7.2f M/s %6.2f GB/s\n", name, what,
              static_cast<size_t>(bytes) / rows, record * 1e9, 1e-6 / record,
              static_cast<double>(bytes) / seconds * 1e-9);
}

void BenchScan(const char* name, size_t rows, const GrowingArray<uint8_t>& data,
               const GrowingArray<int64_t>& sizes) {
  const double scan = Seconds([&] {
    wellfed::ExampleScanner scanner;
    uint64_t offset = 0;
    const uint8_t* record = data.data();
    for (size_t row = 0; row < rows; ++row) {
      scanner.Add({record, static_cast<size_t>(sizes[row])}, &offset);
      record += sizes[row];
    }
    return scanner.records();
  });
  Report(name, "scan", rows, data.size(), scan);
}

void Bench(const char* name, const Table& table) {
  GrowingArray<uint8_t> data;
  GrowingArray<int64_t> sizes;
  for (const bool framed : {true, false}) {
    const double seconds = Seconds([&] {
      data.Truncate(0);
      sizes.Truncate(0);
      return wellfed::ExampleEncoder(table.columns).Encode(0, table.rows, framed, &data, &sizes);
    });
    Report(name, framed ? "encode framed" : "encode", table.rows, data.size(), seconds);
  }
  const ExampleParser parser(table.specs);
  std::vector<Column> columns(table.specs.size());
  std::vector<std::vector<uint8_t>> dense;
  for (size_t f = 0; f < columns.size(); ++f) {
    columns[f].dense = dense.emplace_back(table.rows * table.specs[f].row_size()).data();
  }
  const double parse = Seconds([&] {
    ExampleParser::Scratch scratch;
    wellfed::ParseError error;
    parser.Start(table.rows, columns);
    const uint8_t* record = data.data();
    for (size_t row = 0; row < table.rows; ++row) {
      parser.Parse({record, static_cast<size_t>(sizes[row])}, row, &scratch, columns.data(), &error);
      record += sizes[row];
    }
    return static_cast<uint64_t>(error.status);
  });
  Report(name, "parse", table.rows, data.size(), parse);
  BenchScan(name, table.rows, data, sizes);
}

}  // namespace

int main() {
  Table pairs(2048);
  pairs.Ints("x", 1, 1'000'000);
  pairs.Ints("y", 1, 1'000'000);
  Bench("two int64", pairs);
  Table varlen(2048);
  varlen.Ints("x", 1, 1'000'000, Layout::kVar);
  varlen.Ints("y", 1, 1'000'000, Layout::kVar);
  Bench("two int64, any number", varlen);
  Table mnist(512);
  mnist.Raw("image", 784);
  mnist.Ints("label", 10, 2);
  Bench("784 bytes and 10 int64", mnist);
  Table cifar(128);
  cifar.Raw("image", 3072);
  cifar.Ints("label", 1, 10);
  Bench("3,072 bytes and a label", cifar);
  Table floats(256);
  floats.Floats("x", 256);
  floats.Ints("label", 1, 10);
  Bench("256 floats and a label", floats);
  Table tokens(256);
  tokens.Ints("tokens", 256, 50'000);
  Bench("256 int64 below 50,000", tokens);
}
