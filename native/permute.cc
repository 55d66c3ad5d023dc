#include "permute.h"

#include <algorithm>
#include <bit>

namespace wellfed {
namespace {

constexpr size_t kBlock = 512;  // Its halves, 4 KB, stay in the first-level cache.

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// to[k] ^= a function of from[k], `bits` wide, that `key` picks. In 32 bits, so that four or more run at
// once.
void Round(const uint32_t* from, uint32_t* to, size_t count, uint32_t key, int bits) {
  for (size_t k = 0; k < count; ++k) {
    uint32_t hash = (from[k] ^ key) * 0x7feb352du;
    hash = (hash ^ (hash >> 15)) * 0x846ca68bu;
    to[k] ^= hash >> (32 - bits);
  }
}

}  // namespace

Permutation::Permutation(uint64_t n, uint64_t key) : n_(n) {
  const int bits = std::max(2, static_cast<int>(std::bit_width(n - (n > 0))));
  high_bits_ = bits / 2;
  low_bits_ = bits - high_bits_;
  // Mixed before it is stepped: keys that differ by the step must not share round keys.
  const uint64_t state = Mix(key ^ 0x77656c6c66656421u);
  for (int i = 0; i < rounds(); ++i) {
    keys_[i] = static_cast<uint32_t>(Mix(state + static_cast<uint64_t>(i + 1) * 0x9e3779b97f4a7c15u) >> 32);
  }
}

void Permutation::Pass(std::span<uint32_t> high, std::span<uint32_t> low) const {
  for (int round = 0; round < rounds(); round += 2) {
    Round(low.data(), high.data(), low.size(), keys_[round], high_bits_);
    Round(high.data(), low.data(), low.size(), keys_[round + 1], low_bits_);
  }
}

uint64_t Permutation::operator()(uint64_t i) const {
  Apply({&i, 1});
  return i;
}

void Permutation::Range(uint64_t start, std::span<uint64_t> out) const {
  for (size_t k = 0; k < out.size(); ++k) out[k] = start + k;
  Apply(out);
}

void Permutation::Apply(std::span<uint64_t> values) const {
  const uint32_t low_mask = (uint32_t{1} << low_bits_) - 1;
  uint32_t high[kBlock], low[kBlock];
  uint16_t place[kBlock];
  for (; !values.empty(); values = values.subspan(std::min(kBlock, values.size()))) {
    const auto block = values.first(std::min(kBlock, values.size()));
    size_t count = block.size();
    for (size_t k = 0; k < count; ++k) {
      high[k] = static_cast<uint32_t>(block[k] >> low_bits_);
      low[k] = static_cast<uint32_t>(block[k]) & low_mask;
      place[k] = static_cast<uint16_t>(k);
    }
    // Those outside [0, n) close ranks and pass again. Each moves along a cycle that began inside, so it
    // comes back.
    while (count > 0) {
      Pass({high, count}, {low, count});
      size_t outside = 0;
      for (size_t k = 0; k < count; ++k) {
        const uint64_t value = uint64_t{high[k]} << low_bits_ | low[k];
        block[place[k]] = value;
        high[outside] = high[k];
        low[outside] = low[k];
        place[outside] = place[k];
        outside += value >= n_;
      }
      count = outside;
    }
  }
}

}  // namespace wellfed
