#include "class_notes.h"

namespace fray::python {

namespace {

ClassNotes notes;

}  // namespace

const ClassNotes& class_notes() { return notes; }

void note_class(bool is_rewritten) {
  ++notes.uses;
  if (is_rewritten) ++notes.rewrites;
}

}  // namespace fray::python
