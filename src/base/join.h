// fmt::join: texts with something between them. fmt has it in <fmt/format.h> up to version 10, and from 11 on in a header
// that is larger, and slower to compile, in the versions before.
#pragma once

#include <fmt/format.h>
#if FMT_VERSION >= 110000
#include <fmt/ranges.h>
#endif
