// fray._ray_refs: the base of refs of the Ray backend, an object that holds only Ray's ref and the context.
//
// A pickle may contain thousands of refs. Each is made by one C call and is not tracked by the garbage collector, which
// would otherwise traverse all objects of the process every few thousand refs. A ref is never part of a reference
// cycle, because neither Ray's refs nor contexts refer to refs.
//
// Threading:  under the GIL.
// Ownership:  holds Ray's ref and the context while it lives.
// Failure:    exceptions.
#include <cstddef>

#include <Python.h>
#include <structmember.h>

#include "one_interpreter.h"

namespace {

struct HeldRef {
  PyObject_HEAD PyObject* raw;
  PyObject* context;
  PyObject* weak_references;
};

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* raw = nullptr;
  PyObject* context = Py_None;
  if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) > 0) {
    PyErr_SetString(PyExc_TypeError, "a ref takes no keyword arguments");
    return nullptr;
  }
  if (!PyArg_UnpackTuple(args, "HeldRef", 1, 2, &raw, &context)) return nullptr;
  auto* self = reinterpret_cast<HeldRef*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->raw = Py_NewRef(raw);
  self->context = Py_NewRef(context);
  return reinterpret_cast<PyObject*>(self);
}

void destroy(PyObject* object) {
  auto* self = reinterpret_cast<HeldRef*>(object);
  PyTypeObject* type = Py_TYPE(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  Py_XDECREF(self->raw);
  Py_XDECREF(self->context);
  type->tp_free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMemberDef members[] = {
    {"_raw", T_OBJECT_EX, offsetof(HeldRef, raw), READONLY, "Ray's ref."},
    {"_context", T_OBJECT, offsetof(HeldRef, context), 0, "The context, None while it is not known."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(HeldRef, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("HeldRef(raw, context=None): holds a ref of Ray's.")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_members, members},
    {0, nullptr},
};
PyType_Spec spec{"fray._ray_refs.HeldRef", sizeof(HeldRef), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

// Python tracks instances of every class that is written in Python, whatever its base does. This undoes that for a
// class that adds nothing to HeldRef, before it has instances, in the way in which type() itself makes classes without
// tracking.
PyObject* uncollected(PyObject*, PyObject* argument) {
  auto* type = reinterpret_cast<PyTypeObject*>(argument);
  if (!PyType_Check(argument) || type->tp_base == nullptr || type->tp_base->tp_dealloc != destroy ||
      type->tp_basicsize != static_cast<Py_ssize_t>(sizeof(HeldRef)) || type->tp_dictoffset != 0) {
    PyErr_SetString(PyExc_TypeError,
                    "uncollected takes a class that derives from HeldRef and adds no attributes to it");
    return nullptr;
  }
  type->tp_flags &= ~Py_TPFLAGS_HAVE_GC;
  type->tp_traverse = nullptr;
  type->tp_clear = nullptr;
  type->tp_free = PyObject_Free;
  PyType_Modified(type);
  return Py_NewRef(argument);
}

PyMethodDef functions[] = {
    {"uncollected", uncollected, METH_O,
     "Decorator: instances of the class are left out of the collection of garbage."},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef definition{PyModuleDef_HEAD_INIT,
                       "_ray_refs",
                       "What refs of the Ray backend are made of.",
                       0,
                       functions,
                       nullptr,
                       nullptr,
                       nullptr,
                       nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__ray_refs() {
  if (!fray::python::is_main_interpreter()) return nullptr;
  PyObject* module = PyModule_Create(&definition);
  PyObject* type = module != nullptr ? PyType_FromSpec(&spec) : nullptr;
  if (type == nullptr || PyModule_AddObject(module, "HeldRef", type) != 0) {
    Py_XDECREF(type);
    Py_XDECREF(module);
    return nullptr;
  }
  return module;
}
