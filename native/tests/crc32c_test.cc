#include "crc32c.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "reference.h"
#include "testing.h"
#include "wire.h"

namespace wellfed {
namespace {

// Bytes without a pattern that a wrong table or a swapped stream would survive.
std::vector<uint8_t> Noise(size_t size) {
  std::vector<uint8_t> bytes(size);
  uint32_t state = 1;
  for (uint8_t& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return bytes;
}

// Every length around which an implementation changes its way: the ends of steps, streams and blocks.
std::vector<size_t> Lengths() {
  std::vector<size_t> lengths;
  for (size_t length = 0; length <= 300; ++length) lengths.push_back(length);
  for (const size_t edge : {384, 408, 576, 768, 1024, 1536, 2176, 2304, 2560, 3072, 4096, 4352, 8192}) {
    for (size_t length = edge - 17; length <= edge + 17; ++length) lengths.push_back(length);
  }
  return lengths;
}

template <typename Body>
void OnEachAvailable(Body body) {
  int available = 0;
  for (const Crc32cImplementation& implementation : Crc32cImplementations()) {
    if (!implementation.available()) continue;
    ++available;
    body(implementation);
  }
  EXPECT(available > 0);
}

TEST(EachImplementationGivesThePublishedSums) {
  struct Vector {
    std::vector<uint8_t> bytes;
    uint32_t sum;
  };
  std::vector<uint8_t> up(32), down(32);
  for (size_t i = 0; i < 32; ++i) up[i] = down[31 - i] = static_cast<uint8_t>(i);
  const std::string_view digits = "123456789";
  // RFC 3720 appendix B.4; the last is the check value of the CRC catalogue.
  const Vector vectors[] = {{std::vector<uint8_t>(32, 0x00), 0x8a9136aau},
                            {std::vector<uint8_t>(32, 0xff), 0x62a8ab43u},
                            {up, 0x46dd794eu},
                            {down, 0x113fdb5cu},
                            {{digits.begin(), digits.end()}, 0xe3069283u}};
  OnEachAvailable([&](const Crc32cImplementation& implementation) {
    for (const Vector& vector : vectors) {
      EXPECT_EQ(implementation.extend(0, vector.bytes.data(), vector.bytes.size()), vector.sum)
          << implementation.name;
    }
  });
}

TEST(EachImplementationEqualsTheDefinitionAtEveryLength) {
  OnEachAvailable([](const Crc32cImplementation& implementation) {
    for (const size_t length : Lengths()) {
      const std::vector<uint8_t> bytes = Noise(length);
      EXPECT_EQ(implementation.extend(0, bytes.data(), length), reference::Crc32c(bytes))
          << implementation.name << ", " << length << " bytes";
    }
  });
}

TEST(EachImplementationEqualsTheDefinitionAtEveryAlignment) {
  const std::vector<uint8_t> bytes = Noise(2400);
  OnEachAvailable([&](const Crc32cImplementation& implementation) {
    for (size_t at = 0; at < 16; ++at) {
      const auto part = std::span(bytes).subspan(at, 2351);
      EXPECT_EQ(implementation.extend(0, part.data(), part.size()), reference::Crc32c(part))
          << implementation.name << " at " << at;
    }
  });
}

TEST(ASumMayBeTakenInParts) {
  const std::vector<uint8_t> bytes = Noise(1000);
  const uint32_t whole = reference::Crc32c(bytes);
  OnEachAvailable([&](const Crc32cImplementation& implementation) {
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      const uint32_t first = implementation.extend(0, bytes.data(), cut);
      EXPECT_EQ(implementation.extend(first, bytes.data() + cut, bytes.size() - cut), whole)
          << implementation.name << ", cut at " << cut;
    }
  });
}

TEST(AWordsSumIsTheSumOfItsBytes) {
  const std::vector<uint8_t> bytes = Noise(1000);
  OnEachAvailable([&](const Crc32cImplementation& implementation) {
    for (size_t at = 0; at + 8 <= bytes.size(); ++at) {
      EXPECT_EQ(implementation.of_word(LoadLE64(&bytes[at])),
                reference::Crc32c(std::span(bytes).subspan(at, 8)))
          << implementation.name << " at " << at;
    }
  });
}

// `count` positions of noise, with a word and its sum at `at`.
std::vector<uint8_t> NoiseWithWord(size_t count, size_t at, uint64_t word) {
  std::vector<uint8_t> bytes = Noise(count + 11);
  StoreLE64(word, &bytes[at]);
  StoreLE32(reference::Masked(reference::Crc32c(std::span(bytes).subspan(at, 8))), &bytes[at + 8]);
  return bytes;
}

TEST(ASummedWordIsFoundAtEveryPosition) {
  OnEachAvailable([](const Crc32cImplementation& implementation) {
    for (size_t at = 0; at < 70; ++at) {
      const std::vector<uint8_t> bytes = NoiseWithWord(70, at, 1000);
      EXPECT_EQ(implementation.find_summed_word(bytes.data(), 70, 1000), at) << implementation.name;
    }
  });
}

TEST(ASummedWordAboveTheLimitIsPassedOver) {
  const std::vector<uint8_t> bytes = NoiseWithWord(70, 33, 1001);
  OnEachAvailable([&](const Crc32cImplementation& implementation) {
    EXPECT_EQ(implementation.find_summed_word(bytes.data(), 70, 1000), 70u) << implementation.name;
  });
}

TEST(NoSummedWordInNoPositions) {
  OnEachAvailable([](const Crc32cImplementation& implementation) {
    EXPECT_EQ(implementation.find_summed_word(nullptr, 0, UINT64_MAX), 0u) << implementation.name;
  });
}

TEST(TheBestImplementationIsTheLastAvailable) {
  std::string last;
  OnEachAvailable([&](const Crc32cImplementation& implementation) { last = implementation.name; });
  EXPECT_EQ(std::string(BestCrc32c().name), last);
}

TEST(MaskingIsARotationAndAnAddition) {
  // TensorFlow's record of no bytes ends in the mask of 0, that of "a" in the mask of its sum.
  EXPECT_EQ(MaskCrc(0), 0xa282ead8u);
  EXPECT_EQ(MaskedCrc32c(reinterpret_cast<const uint8_t*>("a"), 1), 0x28e46e78u);
}

}  // namespace
}  // namespace wellfed
