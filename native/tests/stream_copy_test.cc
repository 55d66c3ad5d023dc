#include "stream_copy.h"

#include <cstdint>
#include <vector>

#include "testing.h"

namespace wellfed {
namespace {

TEST(EveryByteIsCopiedAndNoOtherIsTouched) {
  std::vector<uint8_t> from(400);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(1 + i % 251);
  for (size_t start = 0; start < 64; ++start) {
    for (const size_t size : {0, 1, 63, 64, 65, 127, 128, 191, 300}) {
      std::vector<uint8_t> to(400), due(400);
      StreamCopy(to.data() + start, from.data() + start % 7, size);
      FinishStreams();
      for (size_t i = 0; i < size; ++i) due[start + i] = from[start % 7 + i];
      EXPECT_EQ(to == due, true) << start << ' ' << size;
    }
  }
}

}  // namespace
}  // namespace wellfed
