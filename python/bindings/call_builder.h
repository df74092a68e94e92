// What a call is made of: functions and plans as Python holds them, and the builder of a task's frame.
//
// Threading:  any thread with the GIL.
// Ownership:  a Function is shared by Python and by the tasks that call it. CallBuilder owns the task until finish().
// Failure:    functions return false with a Python exception set; nothing is submitted then.
#pragma once

#include <memory>
#include <string_view>

#include "trace_span.h"
#include "values.h"

namespace fray::python {

struct PythonFunction {
  PyObject_HEAD std::shared_ptr<client::Function>* function;
  PyObject* object;  // a ref to the object that the payload names; null for most

  static constexpr char kTypeName[] = "fray._native.Function";
  static bool is(PyObject* object);
};
extern PyTypeObject* function_type;
inline bool PythonFunction::is(PyObject* object) { return Py_TYPE(object) == function_type; }

// How tasks of one TaskOptions are submitted; made once per options object and kept by Python.
struct PythonPlan {
  PyObject_HEAD client::TaskOptions* options;
  PyObject* shape;  // as Python gave it: the number of its worker key is forgotten when no plan holds it any more
  double timeout_seconds;
  std::uint32_t item_budget_bytes;
  std::uint32_t most_items;

  static constexpr char kTypeName[] = "fray._native.Plan";
  static bool is(PyObject* object);
};
extern PyTypeObject* plan_type;
inline bool PythonPlan::is(PyObject* object) { return Py_TYPE(object) == plan_type; }

// Whether these are a Function, a Plan and a tuple; sets TypeError otherwise.
bool is_call(PyObject* function, PyObject* plan, PyObject* args);

class CallBuilder {
 public:
  // `operation`: as TraceSpan has it.
  CallBuilder(PythonClient* owner, const std::shared_ptr<client::Function>& function, const char* operation);
  ~CallBuilder();
  CallBuilder(const CallBuilder&) = delete;
  CallBuilder& operator=(const CallBuilder&) = delete;

  // The whole call; `name` is what the worker knows it by. `args` is a tuple, `kwargs` a dict, None or null.
  bool build(const PythonPlan& plan, std::string_view name, PyObject* args, PyObject* kwargs);
  std::unique_ptr<client::Task> finish() { return std::move(task_); }
  // The results of what finish() gave, as refs. Takes over the counts.
  PyObject* refs(const std::vector<client::Object*>& results);

 private:
  void begin(const PythonPlan& plan, std::string_view name, Py_ssize_t positional, Py_ssize_t keywords);
  bool keyword(PyObject* name);
  bool argument(PyObject* value, const char* what);
  bool add_ref(PythonRef* ref);
  void add_object(client::Object* object);
  client::Task::Extra& extra();

  PythonClient* owner_;
  TraceSpan span_;
  std::unique_ptr<client::Task> task_;
  bool portable_ = false;  // what is called is no Python
};

}  // namespace fray::python
