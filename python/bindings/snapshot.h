// PythonSnapshot: what functions and classes refer to at one moment, to tell later whether they still do.
//
//   snapshot = make_snapshot(); snapshot.add_function(fn, names); snapshot.add_class(cls)
//   if snapshot.holds(): ...        # a pickle that was made then is still good
//
// That runs for each call of a function, and for each value with a class, of a main script: it takes 0.1 to 0.3 µs a
// function, and 10 times as much in Python. Which values may be in there is decided in Python (fray._snapshots).
//
// Threading:  with the GIL.
// Ownership:  the snapshot holds all that it compares with, and takes part in the collection of cycles: a function holds its
//             globals, and these may hold the context that keeps the snapshot.
// Failure:    a Python exception is set.
#pragma once

#include <vector>

#include "arguments.h"
#include "content.h"

namespace fray::python {

struct FunctionParts {
  Owned function;
  Owned code;
  Owned defaults;
  Owned keywords;    // a copy of the defaults of keywords, or null
  Owned attributes;  // a copy of its own attributes, or null
  std::vector<Compared> cells;
  Owned names;                  // a tuple
  std::vector<Compared> found;  // the globals of these names
};

struct ClassParts {
  Owned cls;
  Owned kind;
  Owned bases;
  Owned members;        // a copy
  Owned registrations;  // how many subclasses had been registered in this process; null for a class that has none
};

struct SnapshotParts {
  std::vector<FunctionParts> functions;
  std::vector<ClassParts> classes;
  std::vector<Owned> imported;
  std::vector<ContentPart> contents;
  std::size_t walks = 0;      // through contents; each comes to a container once
  bool has_contents = false;  // or arrays that a function refers to
};

struct PythonSnapshot {
  PyObject_HEAD SnapshotParts* parts;

  static constexpr char kTypeName[] = "fray._native.Snapshot";
  static bool is(PyObject* object);
};

int is_function(PyObject* object);
using Function = Borrowed<"types.FunctionType", is_function>;

PythonSnapshot* make_snapshot();
// What the function refers to, with the globals of these names; None if a cell is empty.
Answer<Owned> snapshot_add_function(PythonSnapshot* self, Function function, Positional names);
// What the class has, by its names.
Answer<Owned> snapshot_add_class(PythonSnapshot* self, Class cls);
// Whether they can be imported is looked at again.
void snapshot_add_imported(PythonSnapshot* self, List things);
// What is in a container, an array or another object. The functions and classes that it has; None where some of it could
// change unnoticed.
Answer<Owned> snapshot_add_content(PythonSnapshot* self, Any thing);
// Classes that were added.
Answer<Owned> snapshot_classes(PythonSnapshot* self);
// The addresses (`id`) of the containers, arrays and other objects that are compared, of each as often as it is.
Answer<Owned> snapshot_addresses(PythonSnapshot* self);
// Whether containers with at least `least` items in all are compared, of which none is in two of the contents, and nothing by its
// pickle, in which there could be one.
Answer<bool> snapshot_are_apart(PythonSnapshot* self, std::size_t least);
// Whether containers, arrays or other objects are compared.
Answer<bool> snapshot_has_contents(PythonSnapshot* self);
Answer<bool> snapshot_holds(PythonSnapshot* self);

}  // namespace fray::python
