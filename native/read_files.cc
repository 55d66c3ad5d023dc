#include "read_files.h"

#ifndef _WIN32

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace wellfed {

namespace {

// Reads up to `size` bytes, fewer only at the file's end. Returns how many, or -1 on an error.
ptrdiff_t ReadUpTo(int descriptor, uint8_t* out, size_t size) {
  size_t done = 0;  // Invariant: done <= size, and out[0..done) is read.
  while (done < size) {
    const ssize_t count = read(descriptor, out + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    done += static_cast<size_t>(count);
    // A regular file gives fewer bytes than asked for at its end only; others give none there.
    if (count == 0 || done + 1 == size) break;
  }
  return static_cast<ptrdiff_t>(done);
}

// Opens files of a folder by name. Their paths begin at the folder, so the system looks its own path up once.
class OpenFolder {
 public:
  OpenFolder(const std::string& folder, std::span<const uint8_t> names, std::span<const int64_t> starts)
      : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        names_(names),
        starts_(starts) {}
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;
  ~OpenFolder() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  // A descriptor of file i, the caller's to close; -1 on an error.
  int Open(size_t i, int flags) {
    if (descriptor_ < 0) return -1;
    const auto begin = static_cast<size_t>(starts_[i]), end = static_cast<size_t>(starts_[i + 1]);
    const auto name = names_.subspan(begin, end - begin);
    name_.assign(name.begin(), name.end());
    return openat(descriptor_, name_.c_str(), O_RDONLY | O_CLOEXEC | flags);
  }

 private:
  const int descriptor_;
  std::string name_;  // Used again for each file.
  const std::span<const uint8_t> names_;
  const std::span<const int64_t> starts_;
};

// The size of a regular file whose first bytes, at most `head`, are read into `out`; -1 for anything else.
int64_t ReadHead(int descriptor, uint8_t* out, size_t head) {
  struct stat found;
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return -1;
  const ssize_t count = pread(descriptor, out, head, 0);
  if (count < 0) return -1;
  std::fill(out + count, out + head, uint8_t{0});
  return found.st_size;
}

}  // namespace

size_t ReadFiles(const std::string& folder, std::span<const uint8_t> names, std::span<const int64_t> starts,
                 std::span<const int64_t> sizes, std::span<uint8_t> out) {
  OpenFolder opened(folder, names, starts);
  size_t pos = 0;  // Invariant: pos is the sum of the sizes before file i.
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int descriptor = opened.Open(i, 0);
    if (descriptor < 0) return i;
    const auto size = static_cast<size_t>(sizes[i]);
    // One byte more than is due: it is overwritten by the next file, and tells one that has grown.
    const ptrdiff_t found = ReadUpTo(descriptor, out.data() + pos, size + 1);
    close(descriptor);
    if (found != static_cast<ptrdiff_t>(size)) return i;
    pos += size;
  }
  return sizes.size();
}

void ReadHeads(const std::string& folder, std::span<const uint8_t> names, std::span<const int64_t> starts,
               size_t head, std::span<uint8_t> heads, std::span<int64_t> sizes) {
  OpenFolder opened(folder, names, starts);
  for (size_t i = 0; i < sizes.size(); ++i) {
    // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
    const int descriptor = opened.Open(i, O_NONBLOCK);
    sizes[i] = descriptor < 0 ? -1 : ReadHead(descriptor, heads.data() + i * head, head);
    if (descriptor >= 0) close(descriptor);
  }
}

}  // namespace wellfed

#endif  // _WIN32
