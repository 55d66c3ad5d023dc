// What the kernel's foundations cost on this machine: the best of five rounds a row.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <vector>

#include "crc32c.h"
#include "framing.h"
#include "permute.h"
#include "wire.h"

namespace {

using Bytes = std::vector<uint8_t>;

volatile uint64_t sink;  // Results go here, so that no work is left out.

// Seconds of processor time of one call, the best of five rounds of about 0.1 s.
double Seconds(const std::function<uint64_t()>& work) {
  const auto time = [&](long calls) {
    const std::clock_t start = std::clock();
    for (long i = 0; i < calls; ++i) sink = work();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  long calls = 1;
  while (time(calls) < 0.02) calls *= 4;
  calls *= 4;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) best = std::min(best, time(calls) / static_cast<double>(calls));
  return best;
}

Bytes Noise(size_t size) {
  Bytes bytes(size);
  uint64_t state = 1;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((state = state * 6364136223846793005u + 1) >> 56);
  return bytes;
}

Bytes Records(size_t payload, size_t total) {
  Bytes out;
  const Bytes content = Noise(payload);
  out.reserve(total + payload + 16);
  while (out.size() < total) wellfed::AppendFrame(content, &out);
  return out;
}

constexpr size_t kLarge = size_t{512} << 20;

void BenchCrc32c(const Bytes& large) {
  for (const auto& implementation : wellfed::Crc32cImplementations()) {
    if (!implementation.available()) continue;
    for (const size_t size : {8, 18, 46, 100, 200, 400, 850, 3072, 65536}) {
      const double seconds = Seconds([&] {
                               uint64_t sum = 0;
                               for (size_t i = 0; i < 64; ++i)
                                 sum += implementation.extend(0, large.data() + i * 7, size);
                               return sum;
                             }) /
                             64;
      std::printf("crc32c %-9s %7zu bytes in cache  %7.1f ns %6.2f GB/s\n", implementation.name, size,
                  seconds * 1e9, static_cast<double>(size) / seconds / 1e9);
    }
    const double seconds = Seconds([&] {
      uint64_t sum = 0;
      for (size_t at = 0; at + 3072 <= large.size(); at += 3072)
        sum += implementation.extend(0, &large[at], 3072);
      return sum;
    });
    std::printf("crc32c %-9s %7d bytes in memory %19.2f GB/s\n", implementation.name, 3072,
                static_cast<double>(large.size()) / seconds / 1e9);
  }
}

void BenchScan(size_t payload, size_t total, const char* where) {
  const Bytes block = Records(payload, total);
  std::vector<uint64_t> offsets;
  for (const bool check : {false, true}) {
    const double seconds = Seconds([&] {
      offsets.clear();
      return wellfed::ScanFrames(block, 0, UINT64_MAX, check, &offsets).position;
    });
    std::printf("scan_frames %5zu-byte records in %-6s %-7s %7.1f ns/record %7.2f GB/s\n", payload, where,
                check ? "checked" : "headers", seconds / static_cast<double>(offsets.size()) * 1e9,
                static_cast<double>(block.size()) / seconds / 1e9);
  }
}

void BenchFind(const char* name, const Bytes& block) {
  const double seconds = Seconds([&] { return wellfed::FindFrame(block, 0); });
  std::printf("find_frame %-28s %7.0f MB/s\n", name, static_cast<double>(block.size()) / seconds / 1e6);
}

void BenchFind(const Bytes& large) {
  const size_t size = size_t{64} << 20;
  BenchFind("in noise", Bytes(large.begin(), large.begin() + size));
  BenchFind("in zeros", Bytes(size));
  Bytes numbers(size);
  for (size_t i = 0; i < size; i += 8) numbers[i] = large[i];
  BenchFind("in small int64 numbers", numbers);
  Bytes pixels(large.begin(), large.begin() + size);
  for (size_t i = 0; i < size; ++i) pixels[i] = large[i / 24] & 1 ? pixels[i] : 0;
  BenchFind("in pixels, half of them zero", pixels);
  Bytes headers(size);
  for (size_t i = 0; i + 12 <= size; i += 12) {
    wellfed::StoreLE64(size / 4, &headers[i]);
    wellfed::StoreLE32(wellfed::MaskCrc(wellfed::Crc32cOfWord(size / 4)), &headers[i + 8]);
  }
  BenchFind("in false headers only", headers);
}

void BenchPermute() {
  std::vector<uint64_t> rows(1 << 20);
  for (const int bits : {5, 10, 16, 20, 24, 30, 40, 47}) {
    for (const uint64_t n : {uint64_t{1} << bits, (uint64_t{1} << bits) + 1, (uint64_t{3} << bits) / 2}) {
      const auto out = std::span(rows).first(std::min<uint64_t>(n, rows.size()));
      const wellfed::Permutation permutation(n, 1);
      const double seconds = Seconds([&] {
        permutation.Range(0, out);
        return rows[0];
      });
      std::printf("permute n = %-16llu %6.2f ns/row\n", static_cast<unsigned long long>(n),
                  seconds / static_cast<double>(out.size()) * 1e9);
    }
  }
}

}  // namespace

int main() {
  const Bytes large = Noise(kLarge);
  BenchCrc32c(large);
  BenchScan(30, size_t{1} << 18, "cache");
  BenchScan(46, size_t{1} << 28, "memory");
  BenchScan(3072, size_t{1} << 18, "cache");
  BenchScan(3072, kLarge, "memory");
  BenchFind(large);
  BenchPermute();
}
