#include "permute.h"

#include <algorithm>
#include <bit>

namespace wellfed {
namespace {

constexpr uint64_t kSmall = 32;  // From here on 8 rounds pass a chi-square test over all successor pairs.
constexpr size_t kBlock = 512;   // 4 KB of positions and 1 KB of indices: they stay in the first-level cache.

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A function of one half (at most 24 bits), `bits` wide, that `key` picks.
inline uint64_t Scramble(uint64_t half, uint64_t key, int bits) {
  uint64_t h = (half ^ key) * 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
  return h >> (64 - bits);
}

}  // namespace

Permutation::Permutation(uint64_t n, uint64_t key) : n_(n) {
  const int bits = std::max(2, static_cast<int>(std::bit_width(n - (n > 0))));
  high_bits_ = bits / 2;
  low_bits_ = bits - high_bits_;
  // Mixed before it is stepped: keys that differ by the step must not share round keys.
  const uint64_t state = Mix(key ^ 0x77656c6c66656421u);
  for (int i = 0; i < kManyRounds; ++i) keys_[i] = Mix(state + (i + 1) * 0x9e3779b97f4a7c15u);
}

template <int kRounds>
inline uint64_t Permutation::Pass(uint64_t i) const {
  uint64_t high = i >> low_bits_;
  uint64_t low = i & ((uint64_t{1} << low_bits_) - 1);
  for (int round = 0; round < kRounds; round += 2) {
    high ^= Scramble(low, keys_[round], high_bits_);
    low ^= Scramble(high, keys_[round + 1], low_bits_);
  }
  return high << low_bits_ | low;
}

template <int kRounds>
void Permutation::WalkInside(std::span<uint64_t> values) const {
  uint16_t outside[kBlock];
  size_t count = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    outside[count] = static_cast<uint16_t>(k);
    count += values[k] >= n_;
  }
  // Each pass moves on along a cycle that began inside [0, n), so it comes back inside.
  while (count > 0) {
    size_t still = 0;
    for (size_t j = 0; j < count; ++j) {
      const uint16_t k = outside[j];
      values[k] = Pass<kRounds>(values[k]);
      outside[still] = k;
      still += values[k] >= n_;
    }
    count = still;
  }
}

uint64_t Permutation::operator()(uint64_t i) const {
  do {
    i = n_ < kSmall ? Pass<kManyRounds>(i) : Pass<kFewRounds>(i);
  } while (i >= n_);
  return i;
}

void Permutation::Range(uint64_t start, std::span<uint64_t> out) const {
  for (size_t k = 0; k < out.size(); ++k) out[k] = start + k;
  Apply(out);
}

void Permutation::Apply(std::span<uint64_t> values) const {
  for (; !values.empty(); values = values.subspan(std::min(kBlock, values.size()))) {
    const auto block = values.first(std::min(kBlock, values.size()));
    if (n_ < kSmall) {
      for (uint64_t& value : block) value = Pass<kManyRounds>(value);
      WalkInside<kManyRounds>(block);
    } else {
      for (uint64_t& value : block) value = Pass<kFewRounds>(value);
      WalkInside<kFewRounds>(block);
    }
  }
}

}  // namespace wellfed
