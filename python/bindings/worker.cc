// A Python worker: the fork server's loop, and the executor that runs tasks.
//
// Threading:  tasks run on the thread that calls run_worker(), with the GIL; interrupt() comes from the backup thread
//             without it and only raises a signal.
// Ownership:  the executor owns the loaded functions.
// Failure:    whatever user code raises, SystemExit included, becomes the task's result; the worker lives.
#include <csignal>
#include <cstring>
#include <unordered_map>

#include <pthread.h>
#include <sys/mman.h>

#include "values.h"
#include "worker/fork_server.h"
#include "worker/mapped_page.h"
#include "worker/task_loop.h"

namespace fray::python {

namespace {

using wire::TaskStatus;

struct LoadedFunction {
  std::string payload;  // until it is loaded
  PyObject* callable = nullptr;
  std::uint32_t max_calls = 0;
  std::uint32_t calls = 0;
};

class PythonExecutor : public worker::Executor {
 public:
  PythonExecutor(PythonClient* owner, PyObject* support)
      : owner_(owner), support_(support), thread_(::pthread_self()) {}

  void attach(worker::TaskLoop* loop) { loop_ = loop; }

  void define(std::uint64_t function, std::string_view payload) override {
    LoadedFunction& loaded = functions_[function];
    if (loaded.callable == nullptr) loaded.payload = payload;
  }

  void run(const worker::TaskView& task, worker::Outcome* outcome) override {
    name_ = task.name;
    LoadedFunction& function = functions_[task.head.function];
    PyObject* callable = load(function);
    PyObject* result = nullptr;
    if (callable != nullptr) {
      result = task.head.generator != 0 ? stream(callable, task) : call(callable, task);
    }
    if (loop_->interrupted() != worker::TaskLoop::Interrupt::kNone) {
      end_interrupted(outcome);
    } else if (result == nullptr) {
      fail(outcome);
    } else if (!encode_results(result, task, outcome)) {
      fail(outcome);
    }
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    Py_XDECREF(result);
    if (function.max_calls > 0 && ++function.calls >= function.max_calls) outcome->retire = may_retire();
  }

  void interrupt() override { ::pthread_kill(thread_, SIGINT); }
  void before_sleep() override { state_ = PyEval_SaveThread(); }
  void after_sleep() override { PyEval_RestoreThread(state_); }

 private:
  // A worker whose refs live elsewhere and are not finished must stay: it would take their results with it.
  bool may_retire() const { return !owner_->client->has_unfinished_work(); }

  PyObject* load(LoadedFunction& function) {
    if (function.callable != nullptr) return function.callable;
    if (function.payload.size() < 5) {
      PyErr_SetString(PyExc_RuntimeError, "the task's function did not arrive");
      return nullptr;
    }
    int kind = function.payload[0];
    std::memcpy(&function.max_calls, function.payload.data() + 1, sizeof(function.max_calls));
    Owned loader(PyObject_GetAttrString(support_, "load_function"));
    if (!loader) return nullptr;
    function.callable = PyObject_CallFunction(loader.get(), "iy#", kind, function.payload.data() + 5,
                                              static_cast<Py_ssize_t>(function.payload.size() - 5));
    if (function.callable != nullptr) {
      function.payload.clear();
      function.payload.shrink_to_fit();
    }
    return function.callable;
  }

  // Positional and keyword arguments of a frame; null with an exception set.
  bool arguments(const worker::TaskView& task, std::vector<PyObject*>* values, Owned* names) {
    wire::ByteReader in(task.arguments);
    for (int i = 0; i < task.head.positional; ++i) {
      PyObject* value = decode_value(owner_, wire::decode_value(in));
      if (value == nullptr) return false;
      values->push_back(value);
    }
    if (task.head.keywords > 0) {
      *names = Owned(PyTuple_New(task.head.keywords));
      if (!*names) return false;
    }
    for (int i = 0; i < task.head.keywords; ++i) {
      std::string_view name = in.get_string();
      PyObject* text = PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
      if (text == nullptr) return false;
      PyTuple_SET_ITEM(names->get(), i, text);
      PyObject* value = decode_value(owner_, wire::decode_value(in));
      if (value == nullptr) return false;
      values->push_back(value);
    }
    if (in.done()) return true;
    PyErr_SetString(PyExc_RuntimeError, "the task's arguments do not fit their format");
    return false;
  }

  PyObject* call(PyObject* callable, const worker::TaskView& task) {
    std::vector<PyObject*> values;
    values.reserve(static_cast<std::size_t>(task.head.positional) + task.head.keywords + 1u);
    values.push_back(nullptr);  // room for a bound method's self
    Owned names;
    PyObject* result = nullptr;
    if (arguments(task, &values, &names)) {
      result = PyObject_Vectorcall(callable, values.data() + 1, task.head.positional | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                   names.get());
    }
    for (PyObject* value : values) Py_XDECREF(value);
    return result;
  }

  // Runs a generator task; its items go out one by one.
  PyObject* stream(PyObject* callable, const worker::TaskView& task) {
    Owned generator(call(callable, task));
    if (!generator) return nullptr;
    Owned iterator(PyObject_GetIter(generator.get()));
    if (!iterator) return nullptr;
    std::uint32_t index = 0;
    while (PyObject* item = PyIter_Next(iterator.get())) {
      Owned holder(item);
      std::string bytes;
      std::uint64_t size = 0;
      if (!encode_value(item, owner_->client->new_object_id(), task.client, "an item", &bytes, &size)) return nullptr;
      if (!loop_->send_item(task.number, index++, bytes, size, task.head.item_budget_bytes)) {
        // The interrupt is taken note of here, so that it cannot strike while the generator's `finally` runs.
        if (PyErr_CheckSignals() != 0) PyErr_Clear();
        return nullptr;
      }
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
    return Py_NewRef(Py_None);
  }

  // One value of a result or item, as it goes into a frame. What others have to hold is recorded at the node first.
  bool encode_value(PyObject* value, ObjectId id, ProcessId client, const char* what, std::string* out,
                    std::uint64_t* size) {
    Encoded encoded;
    if (!encoded.encode(owner_, value, what)) return false;
    wire::Value wire_value;
    wire_value.encoding = encoded.encoding();
    client::Object* made = nullptr;
    if (!encoded.nested().empty()) {
      owner_->client->share(encoded.nested());
      for (client::Object* object : encoded.nested()) wire_value.nested.push_back(object->id);
    }
    if (encoded.is_large()) {
      made = encoded.store(owner_);
      if (made == nullptr) return false;
      wire_value.kind = wire::ValueKind::kSealed;
      wire_value.location = made->detail->location;
      *size = wire_value.location.size;
    } else {
      wire_value.bytes = encoded.inline_bytes();
      wire_value.object = id;
      *size = wire_value.bytes.size() + 1;
    }
    if (made != nullptr || !wire_value.nested.empty()) owner_->client->record_result(id, client, wire_value, made);
    if (made != nullptr) owner_->client->release(made);
    wire::ByteWriter writer(*out);
    wire::encode(writer, wire_value);
    return true;
  }

  bool encode_results(PyObject* result, const worker::TaskView& task, worker::Outcome* outcome) {
    ObjectId id{owner_->client->node().epoch, task.client, task.number};
    std::uint64_t size = 0;
    if (task.head.returns != 1) return encode_several(result, id, task, outcome);
    outcome->values = 1;
    return encode_value(result, id, task.client, "the result", &outcome->bytes, &size);
  }

  bool encode_several(PyObject* result, ObjectId id, const worker::TaskView& task, worker::Outcome* outcome) {
    Owned items(PySequence_Tuple(result));
    if (!items) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
      PyErr_Format(PyExc_TypeError, "the task was given num_returns=%u, but its function returned one %s",
                   task.head.returns, Py_TYPE(result)->tp_name);
      return false;
    }
    if (PyTuple_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(task.head.returns)) {
      PyErr_Format(PyExc_ValueError, "the task was given num_returns=%u, but its function returned %zd values",
                   task.head.returns, PyTuple_GET_SIZE(items.get()));
      return false;
    }
    std::uint64_t size = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      ObjectId item_id = id;
      item_id.sequence += static_cast<std::uint64_t>(i);
      if (!encode_value(PyTuple_GET_ITEM(items.get(), i), item_id, task.client, "a result", &outcome->bytes, &size)) {
        return false;
      }
    }
    outcome->values = static_cast<std::uint16_t>(task.head.returns);
    return true;
  }

  void end_interrupted(worker::Outcome* outcome) {
    bool timed_out = loop_->interrupted() == worker::TaskLoop::Interrupt::kTimedOut;
    PyErr_Clear();
    outcome->status = timed_out ? TaskStatus::kTimedOut : TaskStatus::kCancelled;
    outcome->values = 0;
    outcome->bytes.clear();
  }

  // The raised exception, packed.
  void fail(worker::Outcome* outcome) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != nullptr && error != nullptr) PyException_SetTraceback(error, traceback);
    outcome->status = TaskStatus::kFailed;
    outcome->values = 1;
    outcome->bytes.clear();
    wire::Value value;
    value.encoding = wire::Encoding::kException;
    Owned pack(PyObject_GetAttrString(support_, "pack_exception"));
    Owned packed(pack && error != nullptr ? PyObject_CallFunction(pack.get(), "Os#", error, name_.data(),
                                                                  static_cast<Py_ssize_t>(name_.size()))
                                          : nullptr);
    if (packed && PyBytes_Check(packed.get())) {
      value.bytes.assign(PyBytes_AS_STRING(packed.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(packed.get())));
    } else {
      PyErr_Clear();
      value.encoding = wire::Encoding::kStatus;
      value.bytes = std::string(1, static_cast<char>(StatusCode::kInternal)) + "the task failed, and so did its report";
    }
    wire::ByteWriter out(outcome->bytes);
    wire::encode(out, value);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
  }

  PythonClient* owner_;
  PyObject* support_;
  pthread_t thread_;
  worker::TaskLoop* loop_ = nullptr;
  PyThreadState* state_ = nullptr;
  std::string_view name_;
  std::unordered_map<std::uint64_t, LoadedFunction> functions_;
};

worker::TaskLoop* running_loop = nullptr;

// run_worker(client, support, page_fd): runs tasks until the node lets go of this process.
PyObject* run_worker(PyObject*, PyObject* args) {
  PyObject* client_object = nullptr;
  PyObject* support = nullptr;
  int page_fd = -1;
  if (!PyArg_ParseTuple(args, "OOi", &client_object, &support, &page_fd)) return nullptr;
  PythonClient* owner = as_client(client_object);
  if (owner == nullptr) return nullptr;
  remember_main_thread();
  worker::MappedPage page(page_fd);
  PythonExecutor executor(owner, support);
  worker::TaskLoop loop(*owner->client, executor, page);
  executor.attach(&loop);
  owner->duty = &loop;
  running_loop = &loop;
  loop.run();
  running_loop = nullptr;
  owner->client->set_duty(nullptr);
  owner->duty = nullptr;
  Py_RETURN_NONE;
}

// What ended the running task early: 0 nothing, 1 cancelled, 2 past its timeout.
PyObject* interrupt_reason(PyObject*, PyObject*) {
  return PyLong_FromLong(running_loop == nullptr ? 0 : static_cast<long>(running_loop->interrupted()));
}

// run_fork_server(fd): returns (process, control_fd, page_fd) in each forked child; exits with the node.
PyObject* run_fork_server(PyObject*, PyObject* argument) {
  long fd = PyLong_AsLong(argument);
  if (fd < 0) return nullptr;
  worker::ForkCallbacks callbacks;
  callbacks.before_fork = [] { PyOS_BeforeFork(); };
  callbacks.after_fork_parent = [] { PyOS_AfterFork_Parent(); };
  callbacks.after_fork_child = [] { PyOS_AfterFork_Child(); };
  worker::ForkedWorker forked = worker::run_fork_server(static_cast<int>(fd), callbacks);
  return Py_BuildValue("Iii", forked.process, forked.control_fd, forked.page_fd);
}

PyMethodDef worker_functions[] = {
    {"run_worker", run_worker, METH_VARARGS, "run_worker(client, support, page_fd)"},
    {"interrupt_reason", interrupt_reason, METH_NOARGS, "0 nothing, 1 cancelled, 2 past its timeout"},
    {"run_fork_server", run_fork_server, METH_O,
     "run_fork_server(fd) -> (process, control_fd, page_fd), in each child"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int add_worker(PyObject* module) { return PyModule_AddFunctions(module, worker_functions); }

}  // namespace fray::python
