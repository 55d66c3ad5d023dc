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

// Puts the names of files in a folder together, in one buffer that is used again.
class Paths {
 public:
  Paths(const std::string& folder, std::span<const uint8_t> names, std::span<const int64_t> starts)
      : path_(folder + "/"), prefix_(path_.size()), names_(names), starts_(starts) {}

  // The path of file i, until the next call.
  const char* operator[](size_t i) {
    const auto begin = static_cast<size_t>(starts_[i]), end = static_cast<size_t>(starts_[i + 1]);
    const auto name = names_.subspan(begin, end - begin);
    path_.resize(prefix_);
    path_.append(name.begin(), name.end());
    return path_.c_str();
  }

 private:
  std::string path_;
  const size_t prefix_;
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
  Paths paths(folder, names, starts);
  size_t pos = 0;  // Invariant: pos is the sum of the sizes before file i.
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int descriptor = open(paths[i], O_RDONLY | O_CLOEXEC);
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
  Paths paths(folder, names, starts);
  for (size_t i = 0; i < sizes.size(); ++i) {
    // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
    const int descriptor = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    sizes[i] = descriptor < 0 ? -1 : ReadHead(descriptor, heads.data() + i * head, head);
    if (descriptor >= 0) close(descriptor);
  }
}

}  // namespace wellfed

#endif  // _WIN32
