// What a fuzz target holds the kernel to.
#pragma once

#include <cstdio>
#include <cstdlib>

// Not `assert`: it must hold in every build.
#define REQUIRE(condition)                                                               \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
