#include "permute.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "testing.h"

namespace wellfed {
namespace {

std::vector<uint64_t> All(uint64_t n, uint64_t key) {
  std::vector<uint64_t> values(n);
  Permutation(n, key).Range(0, values);
  return values;
}

// Each width of the network, its ends, the change of rounds, and the ends of the block of 512.
std::vector<uint64_t> Sizes() {
  std::vector<uint64_t> sizes;
  for (uint64_t n = 1; n <= 70; ++n) sizes.push_back(n);
  for (uint64_t power = 128; power <= 1 << 17; power *= 2)
    sizes.insert(sizes.end(), {power - 1, power, power + 1});
  return sizes;
}

TEST(EveryNumberComesExactlyOnce) {
  for (const uint64_t n : Sizes()) {
    std::vector<uint64_t> due(n);
    std::iota(due.begin(), due.end(), uint64_t{0});
    std::vector<uint64_t> values = All(n, n * 7919);
    std::sort(values.begin(), values.end());
    EXPECT(values == due) << "n = " << n;
  }
}

TEST(ARangeIsThePointsItHolds) {
  for (const uint64_t n : {uint64_t{31}, uint64_t{33}, uint64_t{1500}, kPermuteMax - 1, kPermuteMax}) {
    const Permutation permutation(n, 5);
    const uint64_t start = n > 2000 ? n - 1300 : 3;
    std::vector<uint64_t> values(n - start);
    permutation.Range(start, values);
    for (size_t k = 0; k < values.size(); ++k) EXPECT_EQ(values[k], permutation(start + k)) << "n = " << n;
  }
}

TEST(ApplyingIsEachPointInPlace) {
  const Permutation permutation(1000, 5);
  std::vector<uint64_t> values = {999, 0, 0, 500};
  permutation.Apply(values);
  EXPECT_EQ(values,
            (std::vector<uint64_t>{permutation(999), permutation(0), permutation(0), permutation(500)}));
}

TEST(NoPositionsNeedNoSize) {
  Permutation(0, 5).Range(0, {});
  EXPECT_EQ(Permutation(0, 5).size(), 0u);
}

TEST(TheLargestSizeStaysInside) {
  const Permutation permutation(kPermuteMax - 12345, 1);
  for (uint64_t i = 0; i < 10000; ++i) EXPECT(permutation(kPermuteMax - 12346 - i) < kPermuteMax - 12345);
}

TEST(KeysGiveOtherPermutations) {
  for (const uint64_t key : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT(All(1000, 0) != All(1000, key)) << key;
  }
}

}  // namespace
}  // namespace wellfed
