// By which names a pickle refers to classes and functions of the main script, which is another script in a worker.
//
//   if (refers_to_main(pickle)) ...      // these have to come with it
//
// The name of the main module alone is no reference: filters of warnings have it as a text, and with them each batch of
// scikit-learn.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    a pickle that this code cannot read has no answer, and counts as one with a reference.
#pragma once

#include <optional>
#include <set>
#include <string_view>

namespace fray::python {

// `pickle`: as `pickle.dumps` has written it with protocol 4 or 5. The names are parts of it.
std::optional<std::set<std::string_view>> names_in_main(std::string_view pickle);
bool refers_to_main(std::string_view pickle);

}  // namespace fray::python
