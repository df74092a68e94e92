// Whether a pickle refers to a class or function of the main script by name, which is another script in a worker.
//
//   if (refers_to_main(pickle)) ...      // it has to be pickled by value
//
// The name of the main module alone is no reference: filters of warnings have it as a text, and with them each batch of
// scikit-learn.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    a pickle that this code cannot read counts as one with a reference.
#pragma once

#include <string_view>

namespace fray::python {

// `pickle`: as `pickle.dumps` has written it with protocol 4 or 5.
bool refers_to_main(std::string_view pickle);

}  // namespace fray::python
