#include "snapshot.h"

#include <algorithm>

#include "functions.h"
#include "values.h"

namespace fray::python {

namespace {

PyTypeObject* snapshot_type = nullptr;
PyObject* slot_cache_token = nullptr;
PyObject* slot_is_importable = nullptr;

// Calls `visit` with each object that the parts hold until it returns something else than 0, and returns that.
template <typename Visit>
int visit_all(const SnapshotParts& parts, Visit visit) {
  auto visit_each = [&](const std::vector<Compared>& compared) {
    for (const Compared& each : compared) {
      if (const int answer = each.owned() ? visit(each.owned()) : 0; answer != 0) return answer;
    }
    return 0;
  };
  auto visit_these = [&](auto&... owned) {
    int answer = 0;
    ((answer = answer == 0 && owned ? visit(owned.get()) : answer), ...);
    return answer;
  };
  for (const FunctionParts& each : parts.functions) {
    int answer = visit_these(each.function, each.code, each.defaults, each.keywords, each.attributes, each.names);
    if (answer == 0) answer = visit_each(each.cells);
    if (answer == 0) answer = visit_each(each.found);
    if (answer != 0) return answer;
  }
  for (const ClassParts& each : parts.classes) {
    const int answer = visit_these(each.cls, each.kind, each.bases, each.members, each.registrations);
    if (answer != 0) return answer;
  }
  for (const ContentPart& each : parts.contents) {
    int answer = each.container.owned() ? visit(each.container.owned()) : 0;
    if (answer == 0) answer = visit_these(each.copy, each.cls);
    if (answer != 0) return answer;
  }
  for (const Owned& each : parts.imported) {
    if (const int answer = visit(each.get()); answer != 0) return answer;
  }
  return 0;
}

int snapshot_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const SnapshotParts* parts = reinterpret_cast<PythonSnapshot*>(self)->parts;
  return parts == nullptr ? 0 : visit_all(*parts, [&](PyObject* each) { return visit(each, arg); });
}

int snapshot_clear(PyObject* self) {
  delete std::exchange(reinterpret_cast<PythonSnapshot*>(self)->parts, nullptr);
  return 0;
}

void snapshot_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  snapshot_clear(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyType_Slot snapshot_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(snapshot_dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(snapshot_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(snapshot_clear)},
                                {0, nullptr}};
PyType_Spec snapshot_spec{PythonSnapshot::kTypeName, sizeof(PythonSnapshot), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, snapshot_slots};

Owned held(PyObject* object) { return Owned(Py_XNewRef(object)); }

PyObject* attributes_of(PyObject* function) { return reinterpret_cast<PyFunctionObject*>(function)->func_dict; }

// A copy of a dict, null for one without entries.
bool copy(PyObject* dict, Owned* to) {
  if (dict == nullptr || PyDict_GET_SIZE(dict) == 0) return true;
  *to = Owned(PyDict_Copy(dict));
  return static_cast<bool>(*to);
}

Owned members_of(PyObject* cls) {
#if PY_VERSION_HEX >= 0x030C0000
  return Owned(PyType_GetDict(reinterpret_cast<PyTypeObject*>(cls)));
#else
  return held(reinterpret_cast<PyTypeObject*>(cls)->tp_dict);
#endif
}

Owned cache_token() {
  PyObject* function = imported(&slot_cache_token, "_abc", "get_cache_token");
  return Owned(function == nullptr ? nullptr : PyObject_CallNoArgs(function));
}

bool append_values(PyObject* list, PyObject* dict) {
  if (dict == nullptr) return true;
  Owned values(PyDict_Values(dict));
  return values && PyList_SetSlice(list, PyList_GET_SIZE(list), PyList_GET_SIZE(list), values.get()) == 0;
}

// All that a function refers to, as a list.
Owned values_of(const FunctionParts& parts) {
  Owned list(PyList_New(0));
  if (!list) return {};
  if (parts.defaults) {
    if (PyList_SetSlice(list.get(), 0, 0, parts.defaults.get()) != 0) return {};
  }
  if (!append_values(list.get(), parts.keywords.get()) || !append_values(list.get(), parts.attributes.get())) return {};
  for (const std::vector<Compared>* values : {&parts.cells, &parts.found}) {
    for (const Compared& value : *values) {
      if (value.get() != nullptr && PyList_Append(list.get(), value.get()) != 0) return {};
    }
  }
  return list;
}

// Whether functions name this array, and its memory, which is compared from now on, says all that is in it.
bool settle_array(SnapshotParts* parts, PyObject* array) {
  std::vector<Compared*> names;
  for (FunctionParts& function : parts->functions) {
    for (std::vector<Compared>* values : {&function.cells, &function.found}) {
      for (Compared& value : *values) {
        if (value.is_unsettled_array(array)) names.push_back(&value);
      }
    }
  }
  if (names.empty()) return false;
  const std::optional<Digest> digest = digest_of_array(array);
  for (Compared* value : names) digest ? value->settle(*digest) : value->hold();
  return digest.has_value();
}

bool is_as_it_was(const FunctionParts& then) {
  PyObject* function = then.function.get();
  if (PyFunction_GET_CODE(function) != then.code.get()) return false;
  if (PyFunction_GET_DEFAULTS(function) != then.defaults.get()) return false;
  if (!has_same_entries(PyFunction_GET_KW_DEFAULTS(function), then.keywords.get())) return false;
  if (!has_same_entries(attributes_of(function), then.attributes.get())) return false;
  PyObject* closure = PyFunction_GET_CLOSURE(function);
  for (std::size_t i = 0; i < then.cells.size(); ++i) {
    PyObject* cell = PyTuple_GET_ITEM(closure, static_cast<Py_ssize_t>(i));
    if (!then.cells[i].is(PyCell_GET(cell))) return false;
  }
  PyObject* globals = PyFunction_GET_GLOBALS(function);
  for (std::size_t i = 0; i < then.found.size(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(then.names.get(), static_cast<Py_ssize_t>(i));
    if (!then.found[i].is(PyDict_GetItemWithError(globals, name))) return false;
  }
  return true;
}

bool is_as_it_was(const ClassParts& then) {
  auto* cls = reinterpret_cast<PyTypeObject*>(then.cls.get());
  if (reinterpret_cast<PyObject*>(Py_TYPE(cls)) != then.kind.get() || cls->tp_bases != then.bases.get()) return false;
  return has_same_entries(members_of(then.cls.get()).get(), then.members.get());
}

}  // namespace

bool PythonSnapshot::is(PyObject* object) { return Py_TYPE(object) == snapshot_type; }

int is_function(PyObject* object) { return PyFunction_Check(object); }

PythonSnapshot* make_snapshot() {
  auto* self = PyObject_GC_New(PythonSnapshot, snapshot_type);
  if (self == nullptr) return nullptr;
  self->parts = new SnapshotParts;
  PyObject_GC_Track(self);
  return self;
}

Answer<Owned> snapshot_add_function(PythonSnapshot* self, Function function, Positional names) {
  FunctionParts parts;
  parts.function = held(function);
  parts.code = held(PyFunction_GET_CODE(function.object));
  parts.defaults = held(PyFunction_GET_DEFAULTS(function.object));
  if (!copy(PyFunction_GET_KW_DEFAULTS(function.object), &parts.keywords)) return Raised();
  if (!copy(attributes_of(function), &parts.attributes)) return Raised();
  PyObject* closure = PyFunction_GET_CLOSURE(function.object);
  for (Py_ssize_t i = 0; closure != nullptr && i < PyTuple_GET_SIZE(closure); ++i) {
    PyObject* content = PyCell_GET(PyTuple_GET_ITEM(closure, i));
    if (content == nullptr) return Owned(Py_NewRef(Py_None));
    parts.cells.emplace_back(content);
    if (parts.cells.back().is_lost()) return Raised();
  }
  parts.names = held(names);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.object); ++i) {
    parts.found.emplace_back(
        PyDict_GetItemWithError(PyFunction_GET_GLOBALS(function.object), PyTuple_GET_ITEM(names.object, i)));
    if (PyErr_Occurred() != nullptr) return Raised();
  }
  Owned values = values_of(parts);
  if (!values) return Raised();
  self->parts->functions.push_back(std::move(parts));
  return values;
}

Answer<Owned> snapshot_add_class(PythonSnapshot* self, Class cls) {
  ClassParts parts;
  parts.cls = held(cls);
  parts.kind = held(reinterpret_cast<PyObject*>(Py_TYPE(cls.object)));
  parts.bases = held(reinterpret_cast<PyTypeObject*>(cls.object)->tp_bases);
  parts.members = Owned(PyDict_Copy(members_of(cls).get()));
  if (!parts.members) return Raised();
  if (PyDict_GetItemString(parts.members.get(), "_abc_impl") != nullptr) {
    parts.registrations = cache_token();
    if (!parts.registrations) return Raised();
  }
  Owned members = held(parts.members.get());
  self->parts->classes.push_back(std::move(parts));
  return members;
}

void snapshot_add_imported(PythonSnapshot* self, List things) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(things.object); ++i) {
    self->parts->imported.push_back(held(PyList_GET_ITEM(things.object, i)));
  }
}

Answer<Owned> snapshot_add_content(PythonSnapshot* self, Any thing) {
  Owned refers(PyList_New(0));
  if (!refers) return Raised();
  self->parts->has_contents = true;
  if (settle_array(self->parts, thing)) return refers;
  ++self->parts->walks;
  const int answer = take_content(thing, &self->parts->contents, refers.get());
  if (answer < 0) return Raised();
  return answer == 1 ? std::move(refers) : Owned(Py_NewRef(Py_None));
}

Answer<Owned> snapshot_classes(PythonSnapshot* self) {
  Owned classes(PyList_New(0));
  if (!classes) return Raised();
  for (const ClassParts& each : self->parts->classes) {
    if (PyList_Append(classes.get(), each.cls.get()) != 0) return Raised();
  }
  return classes;
}

Answer<Owned> snapshot_addresses(PythonSnapshot* self) {
  std::vector<PyObject*> compared;
  std::unordered_set<PyObject*> named;  // arrays that functions name, which are compared there
  if (self->parts == nullptr) return Owned(PyList_New(0));
  for (const FunctionParts& function : self->parts->functions) {
    for (const std::vector<Compared>* values : {&function.cells, &function.found}) {
      for (const Compared& value : *values) {
        if (value.array() != nullptr && named.insert(value.array()).second) compared.push_back(value.array());
      }
    }
  }
  for (const ContentPart& each : self->parts->contents) {
    PyObject* array = each.container.array();
    compared.push_back(array != nullptr ? array : each.container.get());
  }
  Owned addresses(PyList_New(0));
  if (!addresses) return Raised();
  for (PyObject* each : compared) {
    Owned address(PyLong_FromVoidPtr(each));
    if (!address || PyList_Append(addresses.get(), address.get()) != 0) return Raised();
  }
  return addresses;
}

Answer<bool> snapshot_are_apart(PythonSnapshot* self, std::size_t least) {
  if (self->parts == nullptr) return false;
  std::size_t items = 0;
  std::vector<PyObject*> containers;
  for (const ContentPart& each : self->parts->contents) {
    if (each.by == ContentPart::By::kPickle) return false;
    if (each.copy) items += static_cast<std::size_t>(PyObject_Size(each.copy.get()));
    if (self->parts->walks > 1) containers.push_back(each.container.get());
  }
  std::ranges::sort(containers);
  return items >= least && std::ranges::adjacent_find(containers) == containers.end();
}

Answer<bool> snapshot_has_contents(PythonSnapshot* self) { return self->parts != nullptr && self->parts->has_contents; }

Answer<bool> snapshot_holds(PythonSnapshot* self) {
  if (self->parts == nullptr) return false;  // its cycle is being collected
  const SnapshotParts& parts = *self->parts;
  auto is_same = [](const auto& each) { return is_as_it_was(each); };
  if (!std::ranges::all_of(parts.functions, is_same)) {
    if (PyErr_Occurred() != nullptr) return Raised();
    return false;
  }
  if (!std::ranges::all_of(parts.classes, is_same)) return false;
  const bool counts =
      std::ranges::any_of(parts.classes, [](const ClassParts& each) { return bool(each.registrations); });
  if (counts) {
    Owned now = cache_token();
    if (!now) return Raised();
    for (const ClassParts& each : parts.classes) {
      if (!each.registrations) continue;
      const int same = PyObject_RichCompareBool(now.get(), each.registrations.get(), Py_EQ);
      if (same < 0) return Raised();
      if (same == 0) return false;
    }
  }
  for (const ContentPart& each : parts.contents) {
    const int same = is_as_it_was(each);
    if (same < 0) return Raised();
    if (same == 0) return false;
  }
  for (const Owned& each : parts.imported) {
    if (imported(&slot_is_importable, "fray._functions", "is_importable") == nullptr) return Raised();
    Owned answer(PyObject_CallOneArg(slot_is_importable, each.get()));
    if (!answer) return Raised();
    if (answer.get() != Py_True) return false;
  }
  return true;
}

int add_snapshots(PyObject* module) {
  snapshot_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&snapshot_spec));
  return snapshot_type == nullptr ? -1 : PyModule_AddType(module, snapshot_type);
}

}  // namespace fray::python
