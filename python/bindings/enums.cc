#include "enums.h"

#include <string>

#include "base/enum_names.h"
#include "base/status.h"
#include "gil.h"
#include "refs.h"
#include "wire/actor.h"
#include "wire/direct.h"
#include "wire/function_payload.h"
#include "worker/actor_loop.h"
#include "worker/task_loop.h"

namespace fray::python {

namespace {

// kStoreFull as Python writes constants: STORE_FULL.
std::string python_name(std::string_view name) {
  std::string text;
  for (char letter : name.substr(1)) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    if (capital && !text.empty()) text += '_';
    text += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return text;
}

template <typename Enum>
bool add_enum(PyObject* module, PyObject* int_enum, const char* name) {
  Owned members(PyDict_New());
  if (!members) return false;
  for (const auto& [value, text] : enumerators<Enum>()) {
    Owned number(PyLong_FromLong(static_cast<long>(value)));
    if (!number || PyDict_SetItemString(members.get(), python_name(text).c_str(), number.get()) != 0) return false;
  }
  Owned arguments(Py_BuildValue("(sO)", name, members.get()));
  Owned keywords(Py_BuildValue("{ss}", "module", "fray._native"));
  if (!arguments || !keywords) return false;
  Owned made(PyObject_Call(int_enum, arguments.get(), keywords.get()));
  return made && PyObject_SetAttrString(module, name, made.get()) == 0;
}

}  // namespace

int add_enums(PyObject* module) {
  Owned enums(PyImport_ImportModule("enum"));
  if (!enums) return -1;
  Owned int_enum(PyObject_GetAttrString(enums.get(), "IntEnum"));
  if (!int_enum) return -1;
  const bool added = add_enum<StatusCode>(module, int_enum.get(), "StatusCode") &&
                     add_enum<wire::FunctionKind>(module, int_enum.get(), "FunctionKind") &&
                     add_enum<wire::TaskStatus>(module, int_enum.get(), "TaskStatus") &&
                     add_enum<wire::ActorDeath::Executed>(module, int_enum.get(), "Executed") &&
                     add_enum<wire::ActorFate>(module, int_enum.get(), "ActorFate") &&
                     add_enum<worker::TaskLoop::Interrupt>(module, int_enum.get(), "Interrupt") &&
                     add_enum<worker::ActorLoop::Mode>(module, int_enum.get(), "ActorMode");
  return added ? 0 : -1;
}

}  // namespace fray::python
