// Reads many whole files into one buffer: packing a million small files costs three system calls each, and no
// Python object. Not on Windows, where Python's own reading serves.
#ifndef WELLFED_READ_FILES_H_
#define WELLFED_READ_FILES_H_

#ifndef _WIN32

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace wellfed {

// Reads file i, `folder` + "/" + the bytes `names[starts[i]..starts[i + 1])` (those alone where they begin
// with a slash), whole into `out`, one after another; each must have exactly `sizes[i]` bytes. REQUIRES:
// starts.size() == sizes.size() + 1, ascending, inside `names`; no size is negative; out.size() is at least
// the sum of `sizes` + 1 (the spare byte tells a file that has grown). Thread-safe. Returns how many files
// were read before the first that could not be, or had another size: sizes.size() if all were. What `out`
// holds of that file is undefined.
size_t ReadFiles(const std::string& folder, std::span<const uint8_t> names, std::span<const int64_t> starts,
                 std::span<const int64_t> sizes, std::span<uint8_t> out);

// Reads the first `head` bytes of file i, named as above, into `heads` from i * head on, zeros behind a
// shorter file; and its size into `sizes`, -1 where it is no regular file or cannot be read. REQUIRES:
// starts.size() == sizes.size() + 1, ascending, inside `names`; heads.size() >= sizes.size() * head.
// Thread-safe.
void ReadHeads(const std::string& folder, std::span<const uint8_t> names, std::span<const int64_t> starts,
               size_t head, std::span<uint8_t> heads, std::span<int64_t> sizes);

}  // namespace wellfed

#endif  // _WIN32
#endif  // WELLFED_READ_FILES_H_
