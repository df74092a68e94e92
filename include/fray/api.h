// The whole C++ API of Fray; see docs/guides/cpp.md.
//
// Threading, Ownership, Failure: see the headers.
#pragma once

#include "fray/actor.h"      // IWYU pragma: export
#include "fray/array.h"      // IWYU pragma: export
#include "fray/codec.h"      // IWYU pragma: export
#include "fray/coroutine.h"  // IWYU pragma: export
#include "fray/python.h"     // IWYU pragma: export
#include "fray/ref.h"        // IWYU pragma: export
#include "fray/session.h"    // IWYU pragma: export
#include "fray/status.h"     // IWYU pragma: export
#include "fray/task.h"       // IWYU pragma: export
#include "fray/value.h"      // IWYU pragma: export
