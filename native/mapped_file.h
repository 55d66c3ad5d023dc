// Maps a whole file for reading, guarded against being cut (mapping_guard.h).
//
// Python's own mmap keeps a descriptor a file, of which a process may have 1,024 by default: fewer than data
// sets have shards. Not on Windows, where there is no such limit.
#ifndef WELLFED_MAPPED_FILE_H_
#define WELLFED_MAPPED_FILE_H_

#ifndef _WIN32

#include <cstddef>
#include <cstdint>
#include <span>

namespace wellfed {

// Maps the first `size` bytes of the open file `descriptor`, which may be closed afterwards. nullptr on an
// error, which errno names. REQUIRES: size > 0. Thread-safe.
const uint8_t* MapFile(int descriptor, size_t size);

// Brings the pages of [begin, begin + size) into the page tables, as many at a time as the system does; reads
// those that are not in memory. Thread-safe.
void PopulateFile(const uint8_t* begin, size_t size);

// Has the pages of [begin, begin + size) read that are not in memory, and no others; does not wait for them.
// Thread-safe.
void AskForFile(const uint8_t* begin, size_t size);

// From now on a fault of what is not in memory reads 2 MiB or more, where the system can; they lie there in
// large pieces then, which are mapped in a tenth of the time. REQUIRES: `begin` and `size` are those of a
// MapFile. Thread-safe.
void ReadWhole(const uint8_t* begin, size_t size);

// From now on a fault reads its own page alone, not what is around it, and what was mapped so far need not
// stay in memory. REQUIRES: `begin` and `size` are those of a MapFile. Thread-safe.
void ReadAtRandom(const uint8_t* begin, size_t size);

// Asks for many ranges as AskForFile does, in few requests: those that follow on each other closely are one,
// with what lies between them.
class RangesAsked {
 public:
  // The next range; one that begins in front of the last, or far behind it, ends a request.
  void Add(std::span<const uint8_t> range);

  // Asks for what is left. Call it once after the last range, and before one of another file.
  void Flush();

 private:
  const uint8_t* begin_ = nullptr;
  const uint8_t* end_ = nullptr;  // Invariant: [begin_, end_) lies in one file and is still to be asked for.
};

// Asks for the ranges of `file` that begin at `starts` and have `sizes` bytes; what lies outside is left out.
// REQUIRES: starts.size() == sizes.size(). Thread-safe.
void AskForRanges(std::span<const uint8_t> file, std::span<const int64_t> starts,
                  std::span<const int64_t> sizes);

// Takes the pages of [begin, begin + size) out of the page tables: what was passed once need not wait for
// UnmapFile to do it, on one thread. They come back when they are touched. Thread-safe.
void ReleaseFile(const uint8_t* begin, size_t size);

// Ends the guard, and the mapping: a large one on a thread that does only that. REQUIRES: `begin` and `size`
// are those of a MapFile. Thread-safe.
void UnmapFile(const uint8_t* begin, size_t size);

}  // namespace wellfed

#endif  // _WIN32
#endif  // WELLFED_MAPPED_FILE_H_
