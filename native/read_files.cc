#include "read_files.h"

#ifndef _WIN32

#include <fcntl.h>
#include <unistd.h>

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

}  // namespace

size_t ReadFiles(const std::string& folder, std::span<const uint8_t> names, std::span<const int64_t> starts,
                 std::span<const int64_t> sizes, std::span<uint8_t> out) {
  std::string path = folder + "/";
  const size_t prefix = path.size();
  size_t pos = 0;  // Invariant: pos is the sum of the sizes before file i.
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto name =
        names.subspan(static_cast<size_t>(starts[i]), static_cast<size_t>(starts[i + 1] - starts[i]));
    path.resize(prefix);
    path.append(name.begin(), name.end());
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
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

}  // namespace wellfed

#endif  // _WIN32
