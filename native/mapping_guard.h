// Keeps the process alive when a mapped file is cut.
//
// Reading a mapped page that lies behind the file's end raises SIGBUS, which ends the process. Inside a
// guarded mapping the missing pages become zeros instead, and the mapping is marked: whoever reads it finds a
// checksum that does not hold (zeros are no record), asks MappingWasCut, and says so. All other faults go to
// the handler that was there before. On Windows nothing is needed: a mapped file cannot be cut there.
#ifndef WELLFED_MAPPING_GUARD_H_
#define WELLFED_MAPPING_GUARD_H_

#include <cstddef>

namespace wellfed {

// Guards `size` bytes at `begin`, a read-only mapping of a file, until UnguardMapping. Installs the process's
// SIGBUS handler, also where another one has replaced it since. Takes a few nanoseconds a guarded mapping.
// Thread-safe.
void GuardMapping(const void* begin, size_t size);

// Ends the guard of the mapping at `begin`; does nothing where there is none. Call it before the mapping
// ends: another one may get its addresses. Thread-safe.
void UnguardMapping(const void* begin);

// True where a page of the guarded mapping at `begin` could not be read; it and all that follow are zeros
// since. Thread-safe.
bool MappingWasCut(const void* begin);

}  // namespace wellfed

#endif  // WELLFED_MAPPING_GUARD_H_
