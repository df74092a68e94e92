#include "first_step.h"

namespace fray::python {

FirstStep take_first_step(PyObject* coroutine, PyObject* context) {
  FirstStep step;
  step.context = Owned(PyContext_Copy(context));
  if (!step.context || PyContext_Enter(step.context.get()) != 0) return step;
  PyObject* value = nullptr;
  const PySendResult sent = PyIter_Send(coroutine, Py_None, &value);
  step.value = Owned(value);
  if (sent == PYGEN_RETURN) step.end = FirstStep::End::kReturned;
  if (sent == PYGEN_NEXT) step.end = FirstStep::End::kWaits;
  if (PyContext_Exit(step.context.get()) != 0) step.end = FirstStep::End::kRaised;
  return step;
}

}  // namespace fray::python
