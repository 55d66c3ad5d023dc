#include "read_files.h"

#include "testing.h"

#ifdef _WIN32

TEST(PythonReadsFilesOnWindows) { EXPECT(true); }

#else

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace wellfed {
namespace {

// A folder of its own for each test, removed with all it holds.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "wellfed-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  void Write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Reads the files "a", "b", ... and gives what was read and how many files that were.
std::pair<std::string, size_t> Read(const Folder& folder, const std::vector<int64_t>& sizes) {
  std::vector<uint8_t> names;
  std::vector<int64_t> starts = {0};
  int64_t total = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    names.push_back(static_cast<uint8_t>('a' + i));
    starts.push_back(static_cast<int64_t>(names.size()));
    total += sizes[i];
  }
  std::vector<uint8_t> out(static_cast<size_t>(total) + 1);
  const size_t count = ReadFiles(folder.path(), names, starts, sizes, out);
  return {std::string(out.begin(), out.end() - 1), count};
}

TEST(FilesStandEndToEnd) {
  const Folder folder;
  folder.Write("a", "first");
  folder.Write("b", "");
  folder.Write("c", "third");
  const auto [content, count] = Read(folder, {5, 0, 5});
  EXPECT_EQ(content, "firstthird");
  EXPECT_EQ(count, 3u);
}

TEST(AFileOfAnotherSizeEndsTheReading) {
  const Folder folder;
  folder.Write("a", "first");
  folder.Write("b", "grown");
  EXPECT_EQ(Read(folder, {5, 4}).second, 1u);
  EXPECT_EQ(Read(folder, {5, 6}).second, 1u);
  EXPECT_EQ(Read(folder, {5, 5}).second, 2u);
}

TEST(AMissingFileEndsTheReading) {
  const Folder folder;
  folder.Write("a", "first");
  EXPECT_EQ(Read(folder, {5, 3}).second, 1u);
}

TEST(HeadsAreFilledWithZeros) {
  const Folder folder;
  folder.Write("a", "long enough");
  folder.Write("b", "x");
  std::filesystem::create_directory(folder.path() + "/c");
  const std::string names = "abcd";
  std::vector<uint8_t> heads(4 * 4, 'z');
  std::vector<int64_t> sizes(4);
  const std::vector<int64_t> starts = {0, 1, 2, 3, 4};
  ReadHeads(folder.path(), {reinterpret_cast<const uint8_t*>(names.data()), names.size()}, starts, 4, heads,
            sizes);
  EXPECT_EQ(std::string(heads.begin(), heads.begin() + 8), std::string("longx\0\0\0", 8));
  EXPECT_EQ(sizes, (std::vector<int64_t>{11, 1, -1, -1}));
}

TEST(AFolderIsNoFile) {
  const Folder folder;
  std::filesystem::create_directory(folder.path() + "/a");
  EXPECT_EQ(Read(folder, {0}).second, 0u);
}

TEST(NoFilesAreAllRead) {
  const Folder folder;
  EXPECT_EQ(Read(folder, {}).second, 0u);
}

}  // namespace
}  // namespace wellfed

#endif  // _WIN32
