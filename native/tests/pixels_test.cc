#include "pixels.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "testing.h"

namespace wellfed {
namespace {

// Memory of exactly the size asked for, so that the sanitizer sees a byte too many.
using Bytes = std::vector<uint8_t>;

template <typename T>
std::vector<T> As(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename T>
Bytes BytesOf(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

PixelGeometry Whole(int64_t height, int64_t width, int64_t resized_height, int64_t resized_width) {
  return {0, 0, height, width, resized_height, resized_width, 0, 0, 0};
}

struct Job {
  PixelSpec spec;
  PixelGeometry place{};
  Bytes pixels;
  Picture picture;

  int64_t OutBytes() const { return spec.height * spec.width * spec.channels * PixelBytes(spec.out_type); }
};

Bytes Run(const Job& job, const RowKernels* kernels = nullptr) {
  Bytes out(static_cast<size_t>(job.OutBytes()), 0xab);
  PixelPass pass(job.spec, kernels);
  Picture picture = job.picture;
  picture.pixels = job.pixels.data();
  EXPECT(pass.Run(picture, job.place, out.data()));
  return out;
}

class Draw {
 public:
  explicit Draw(uint32_t seed) : generator_(seed) {}
  int64_t operator()(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator_);
  }

 private:
  std::mt19937 generator_;
};

Bytes RandomPixels(PixelType type, int64_t count, Draw& draw) {
  if (type == PixelType::kFloat32) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(draw(0, 255000)) / 1000.0f);
    return BytesOf(values);
  }
  Bytes bytes;
  for (int64_t i = 0; i < count * PixelBytes(type); ++i) bytes.push_back(static_cast<uint8_t>(draw(0, 255)));
  return bytes;
}

PixelType AnyOf(std::initializer_list<PixelType> types, Draw& draw) {
  return types.begin()[draw(0, static_cast<int64_t>(types.size()) - 1)];
}

PixelSpec RandomSpec(Draw& draw) {
  PixelSpec spec;
  spec.source_type = AnyOf({PixelType::kUint8, PixelType::kUint16, PixelType::kFloat32}, draw);
  spec.method = static_cast<ResizeMethod>(draw(0, 2));
  spec.rounded = spec.method == ResizeMethod::kNone
                     ? spec.source_type
                     : AnyOf({PixelType::kUint8, PixelType::kUint16, PixelType::kFloat32}, draw);
  spec.out_type = AnyOf({PixelType::kFloat32, PixelType::kFloat16, PixelType::kBfloat16, spec.rounded}, draw);
  spec.channels = draw(1, 4);
  spec.height = draw(1, 20);
  spec.width = draw(1, 40);
  spec.planar = draw(0, 1);
  spec.stream = draw(0, 1);
  spec.scaled = spec.out_type != PixelType::kUint8 && spec.out_type != PixelType::kUint16 && draw(0, 1);
  spec.scale = {0.5f, 0.25f, 2.0f, 1.0f};
  spec.bias = {1.0f, -3.0f, 0.125f, 0.0f};
  return spec;
}

// A picture whose last row ends where its memory ends, and a box that may end there, too.
Job RandomJob(uint32_t seed) {
  Draw draw(seed);
  Job job;
  job.spec = RandomSpec(draw);
  const bool kept = job.spec.method == ResizeMethod::kNone;
  const int64_t height = draw(1, 30) + (kept ? job.spec.height : 0);
  const int64_t width = draw(1, 70) + (kept ? job.spec.width : 0);
  const int64_t pixel = job.spec.channels * PixelBytes(job.spec.source_type);
  const int64_t row_pixels = width + draw(0, 3);
  job.picture = {nullptr, height, width, row_pixels * pixel};
  job.pixels =
      RandomPixels(job.spec.source_type, ((height - 1) * row_pixels + width) * job.spec.channels, draw);
  PixelGeometry& place = job.place;
  place.height = kept ? draw(job.spec.height, height) : draw(1, height);
  place.width = kept ? draw(job.spec.width, width) : draw(1, width);
  place.top = draw(0, height - place.height);
  place.left = draw(0, width - place.width);
  place.resized_height = kept ? place.height : job.spec.height + draw(0, 9);
  place.resized_width = kept ? place.width : job.spec.width + draw(0, 9);
  place.window_top = draw(0, place.resized_height - job.spec.height);
  place.window_left = draw(0, place.resized_width - job.spec.width);
  place.flip = draw(0, 1);
  return job;
}

TEST(EveryImplementationGivesTheSameBitsAndStaysInItsMemory) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Job job = RandomJob(seed);
    EXPECT(PixelPass::IsValid(job.spec));
    const Bytes due = Run(job, PixelImplementations()[0]);
    for (const RowKernels* kernels : PixelImplementations()) {
      if (!PixelImplementationAvailable(*kernels)) continue;
      EXPECT(Run(job, kernels) == due) << "seed " << seed << " by " << PixelImplementationName(*kernels);
      ++compared;
    }
  }
  EXPECT(compared >= 3000);
}

TEST(OnePassGivesManyPicturesAsManyPassesDo) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Job job = RandomJob(seed);
    Bytes again(static_cast<size_t>(job.OutBytes()));
    PixelPass pass(job.spec);
    Picture picture = job.picture;
    picture.pixels = job.pixels.data();
    for (const int64_t flip : {0, 1, 1, 0}) {  // The steps of the last picture are kept where they fit.
      job.place.flip = flip;
      EXPECT(pass.Run(picture, job.place, again.data()));
      EXPECT(again == Run(job)) << "seed " << seed;
    }
  }
}

Job GreyJob(std::vector<uint8_t> row, int64_t width, ResizeMethod method, PixelType rounded) {
  Job job;
  job.spec.channels = 1;
  job.spec.method = method;
  job.spec.rounded = rounded;
  job.spec.out_type = rounded;
  job.spec.height = 1;
  job.spec.width = width;
  const int64_t size = static_cast<int64_t>(row.size());
  job.place = Whole(1, size, 1, width);
  job.picture = {nullptr, 1, size, size};
  job.pixels = std::move(row);
  return job;
}

TEST(BilinearPutsPixelsAtTheirMiddles) {
  const Job job = GreyJob({0, 100}, 4, ResizeMethod::kBilinear, PixelType::kFloat32);
  EXPECT_EQ(As<float>(Run(job)), (std::vector<float>{0, 25, 75, 100}));
}

TEST(RoundingGoesHalfUp) {
  const Job job = GreyJob({0, 101}, 4, ResizeMethod::kBilinear, PixelType::kUint8);
  EXPECT_EQ(Run(job), (Bytes{0, 25, 76, 101}));
  EXPECT_EQ(Run(GreyJob({0, 1}, 1, ResizeMethod::kBilinear, PixelType::kUint8)), (Bytes{1}));
  EXPECT_EQ(Run(GreyJob({0, 1}, 1, ResizeMethod::kArea, PixelType::kUint8)), (Bytes{1}));
}

TEST(AreaCountsPixelsThatStickOutInPart) {
  const Job job = GreyJob({10, 20, 90}, 2, ResizeMethod::kArea, PixelType::kFloat32);
  const std::vector<float> found = As<float>(Run(job));
  EXPECT(std::abs(found[0] - 40.0f / 3) < 1e-4f) << found[0];
  EXPECT(std::abs(found[1] - 200.0f / 3) < 1e-4f) << found[1];
}

TEST(AFloatThatIsNoNumberBecomesZeroWhereItIsRounded) {
  Job job = GreyJob({}, 3, ResizeMethod::kArea, PixelType::kUint8);
  job.spec.source_type = PixelType::kFloat32;
  job.pixels = BytesOf(std::vector<float>{NAN, -INFINITY, INFINITY});
  job.picture = {nullptr, 1, 3, 12};
  job.place = Whole(1, 3, 1, 3);
  for (const RowKernels* kernels : PixelImplementations()) {
    if (PixelImplementationAvailable(*kernels)) EXPECT_EQ(Run(job, kernels), (Bytes{0, 0, 255}));
  }
}

TEST(AGeometryThatDoesNotFitIsRefused) {
  const Job job = GreyJob({1, 2, 3, 4}, 4, ResizeMethod::kBilinear, PixelType::kUint8);
  const int64_t big = std::numeric_limits<int64_t>::max();
  int64_t PixelGeometry::* const fields[] = {&PixelGeometry::top,        &PixelGeometry::left,
                                             &PixelGeometry::height,     &PixelGeometry::width,
                                             &PixelGeometry::window_top, &PixelGeometry::window_left};
  PixelPass pass(job.spec);
  Picture picture = job.picture;
  picture.pixels = job.pixels.data();
  Bytes out(4, 7);
  for (const auto field : fields) {
    for (const int64_t value : {int64_t{-1}, int64_t{5}, big, std::numeric_limits<int64_t>::min()}) {
      PixelGeometry place = job.place;
      place.*field = value;
      EXPECT(!pass.Run(picture, place, out.data())) << "value " << value;
    }
  }
  for (const int64_t width : {int64_t{0}, int64_t{3}, int64_t{-4}, big}) {
    PixelGeometry place = job.place;
    place.resized_width = width;
    EXPECT(!pass.Run(picture, place, out.data())) << "resized to " << width;
  }
  EXPECT_EQ(out, Bytes(4, 7));
}

TEST(ASpecificationThatCannotBeDoneIsNotValid) {
  const Job job = GreyJob({1}, 1, ResizeMethod::kNone, PixelType::kUint8);
  EXPECT(PixelPass::IsValid(job.spec));
  PixelSpec spec = job.spec;
  spec.channels = 5;
  EXPECT(!PixelPass::IsValid(spec));
  spec = job.spec;
  spec.scaled = true;  // To bytes: there is no rule for what sticks out.
  EXPECT(!PixelPass::IsValid(spec));
  spec = job.spec;
  spec.source_type = PixelType::kFloat16;
  EXPECT(!PixelPass::IsValid(spec));
  spec = job.spec;
  spec.out_type = PixelType::kUint16;
  EXPECT(!PixelPass::IsValid(spec));
}

}  // namespace
}  // namespace wellfed
