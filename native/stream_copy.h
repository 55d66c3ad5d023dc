// Copies that leave the caches alone.
//
// A unit of rows is larger than a core's own cache, and is read by another thread once it is whole. A plain
// store fetches each line of it from memory before it is overwritten; a streaming store does not, and what is
// in the caches stays.
#ifndef WELLFED_STREAM_COPY_H_
#define WELLFED_STREAM_COPY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__) || defined(_M_X64)
#define WELLFED_STREAM_COPY
#include <emmintrin.h>
#endif

namespace wellfed {

// As memcpy, with streaming stores for the whole cache lines of `to`; elsewhere just memcpy. Its ends are
// stored plainly: both ways for one line cost several times either. Call FinishStreams before another thread
// is told.
inline void StreamCopy(uint8_t* to, const uint8_t* from, size_t size) {
#ifdef WELLFED_STREAM_COPY
  constexpr size_t kLine = 64;
  const size_t head = -reinterpret_cast<uintptr_t>(to) % kLine;
  if (size >= head + kLine) {
    std::memcpy(to, from, head);
    to += head, from += head, size -= head;
    for (; size >= kLine; to += kLine, from += kLine, size -= kLine) {
      __m128i line[4];
      for (int i = 0; i < 4; ++i) line[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + i);
      for (int i = 0; i < 4; ++i) _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, line[i]);
    }
  }
#endif
  std::memcpy(to, from, size);
}

// Streaming stores so far are seen before whatever is stored from now on.
inline void FinishStreams() {
#ifdef WELLFED_STREAM_COPY
  _mm_sfence();
#endif
}

}  // namespace wellfed

#endif  // WELLFED_STREAM_COPY_H_
