// What the loading of functions and values has done to classes of the main script (fray._classes_by_value).
//
// A function may have objects in common with the methods of a class. Where another function, or a value, brings the class
// anew, its methods get others, and the function has to be loaded again before its next call.
//
// Threading:  with the GIL.
#pragma once

#include <cstdint>

namespace fray::python {

struct ClassNotes {
  std::uint64_t uses = 0;      // of classes that may have something in common with a function
  std::uint64_t rewrites = 0;  // of classes
};

const ClassNotes& class_notes();
// That what is being loaded uses such a class, and whether it has brought it anew.
void note_class(bool is_rewritten);

}  // namespace fray::python
