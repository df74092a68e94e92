// share_work: does numbered pieces of work with several threads, which take the next number whenever they are free.
//
// Threading:  the caller works too. Helper threads block all signals and have ended when the call returns. When the
//             system grants no further thread the ones there are do all the work.
// Ownership:  none.
// Failure:    the first error; the others stop at their next piece.
#pragma once

#include <cstddef>
#include <functional>

#include "base/status.h"

namespace fray::store {

// `work(piece, thread)`: thread is 0 for the caller, 1, 2, ... for helpers.
Status share_work(std::size_t pieces, unsigned threads,
                  const std::function<Status(std::size_t piece, unsigned thread)>& work);

}  // namespace fray::store
