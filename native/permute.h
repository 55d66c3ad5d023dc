// A keyed bijection on [0, n): an exact shuffle whose every position is computed by itself.
#ifndef WELLFED_PERMUTE_H_
#define WELLFED_PERMUTE_H_

#include <cstdint>
#include <span>

namespace wellfed {

inline constexpr uint64_t kPermuteMax = uint64_t{1} << 48;

// The permutation of [0, n) that `key` picks. An alternating unbalanced Feistel network on ceil(log2 n) bits
// that walks its cycle until it is inside [0, n): 8 rounds from n = 32 on, 24 below, where fewer fail a
// chi-square test. Where n is a power of two from 16 on, only even permutations occur. What a key gives never
// changes: orders of data are made of it. Copyable, immutable, thread-safe. REQUIRES: n <= kPermuteMax.
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t key);

  uint64_t size() const { return n_; }

  // Where position `i` goes. REQUIRES: i < n.
  uint64_t operator()(uint64_t i) const;

  // out[k] = (*this)(start + k). REQUIRES: start <= n and out.size() <= n - start.
  void Range(uint64_t start, std::span<uint64_t> out) const;

  // values[k] = (*this)(values[k]), in place. REQUIRES: every value < n.
  void Apply(std::span<uint64_t> values) const;

 private:
  static constexpr int kManyRounds = 24, kFewRounds = 8;

  // One pass through the network: a bijection on [0, 2^(high_bits_ + low_bits_)).
  template <int kRounds>
  uint64_t Pass(uint64_t i) const;

  // Brings those of `values` (fewer than 2^16) that are outside [0, n) inside.
  template <int kRounds>
  void WalkInside(std::span<uint64_t> values) const;

  uint64_t n_;
  int high_bits_, low_bits_;  // The halves of a position, 1 to 24 bits each.
  uint64_t keys_[kManyRounds];
};

}  // namespace wellfed

#endif  // WELLFED_PERMUTE_H_
