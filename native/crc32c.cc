#include "crc32c.h"
