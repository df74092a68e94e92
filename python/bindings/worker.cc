// A Python worker: the fork server's loop, and the executor that runs tasks.
//
// Threading:  tasks run on the thread that calls run_worker(), with the GIL; interrupt() and end_system_call() come from
//             the backup thread without it: they only send a signal. The handler has Python call that of SIGINT, or
//             does nothing, which is enough to end a system call.
// Ownership:  the executor owns the loaded functions, until the loop has them forgotten.
// Failure:    whatever user code raises, SystemExit included, becomes the task's result; the worker lives.
#include <csignal>
#include <cstring>
#include <unordered_map>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call_runner.h"
#include "functions.h"
#include "wire/function_payload.h"
#include "worker/fork_server.h"
#include "worker/mapped_page.h"
#include "worker/task_loop.h"

namespace fray::python {

namespace {

using wire::TaskStatus;

// The signal that interrupts the task's thread, in a system call or in Python code. SIGINT itself may be ignored or
// blocked by tasks.
int wake_signal() { return SIGRTMIN + 12; }

void offer_wake_signal() {
  struct sigaction action = {};
  // Called in the handler, not on the backup thread: Python checks the interrupt only on a thread that may handle
  // signals.
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t* signal, void*) {
    if (signal->si_code != SI_QUEUE) PyErr_SetInterruptEx(SIGINT);  // SI_QUEUE is that of end_system_call()
  };
  ::sigaction(wake_signal(), &action, nullptr);
}

struct LoadedFunction {
  std::string payload;  // until it is loaded; for good where it is bound
  PyObject* callable = nullptr;
  std::uint32_t max_calls = 0;
  std::uint32_t calls = 0;
  bool is_bound = false;       // it may have objects in common with the methods of a class
  std::uint64_t rewrites = 0;  // of classes, when it was loaded
};

class PythonExecutor : public worker::Executor {
 public:
  PythonExecutor(PythonClient* owner, PyObject* support)
      : owner_(owner), support_(support), runner_(owner, support), thread_(::pthread_self()) {}

  void attach(worker::TaskLoop* loop) { loop_ = loop; }

  void leased(double cpus) override {
    int threads = cpus < 1 ? 1 : static_cast<int>(cpus);
    if (threads == threads_) return;
    threads_ = threads;
    Owned done(PyObject_CallMethod(support_, "use_threads", "i", threads));
    if (!done) PyErr_WriteUnraisable(support_);
  }

  void bind(const wire::BindDevices& binding) override {
    Owned devices(PyDict_New());
    Owned environment(PyDict_New());
    bool ok = devices && environment;
    for (const auto& [kind, indices] : binding.devices) {
      Owned list(ok ? PyList_New(0) : nullptr);
      ok = ok && list;
      for (std::uint32_t index : indices) {
        Owned number(ok ? PyLong_FromUnsignedLong(index) : nullptr);
        ok = ok && number && PyList_Append(list.get(), number.get()) == 0;
      }
      ok = ok && PyDict_SetItemString(devices.get(), kind.c_str(), list.get()) == 0;
    }
    for (const auto& [name, value] : binding.environment) {
      Owned text(ok ? PyUnicode_DecodeFSDefault(value.c_str()) : nullptr);
      ok = ok && text && PyDict_SetItemString(environment.get(), name.c_str(), text.get()) == 0;
    }
    Owned binder(ok ? PyObject_GetAttrString(support_, "bind_devices") : nullptr);
    Owned done(binder ? PyObject_CallFunctionObjArgs(binder.get(), devices.get(), environment.get(), nullptr)
                      : nullptr);
    // A worker that does not know its devices would use those of others.
    if (!done) {
      PyErr_Print();
      ::_exit(1);
    }
  }

  void define(std::uint64_t function, std::string_view payload) override {
    LoadedFunction& loaded = functions_[function];
    if (loaded.callable == nullptr) loaded.payload = payload;
  }

  void forget(std::uint64_t function) override {
    auto found = functions_.find(function);
    if (found == functions_.end()) return;
    PyObject* callable = found->second.callable;
    functions_.erase(found);  // erased before it is freed: destructors of what the callable holds may run code
    Py_XDECREF(callable);
  }

  void run(const worker::TaskView& task, worker::Outcome* outcome) override {
    runner_.reset_bytes();
    LoadedFunction& function = functions_[task.head.function];
    PyObject* result = nullptr;
    if (load(function) != nullptr) {
      const CallRunner::Callable callable = [&] { return load(function); };
      result = task.is_generator() ? stream(callable, task) : runner_.call(callable, task);
    }
    if (lost_to_interrupt(task, result)) {
      end_interrupted(outcome);
    } else if (result == nullptr) {
      if (task.head.may_retry != 0 && wants_retry(function.callable)) {
        outcome->status = TaskStatus::kRetry;
      } else {
        runner_.fail(task.name, task.head.portable != 0, outcome);
      }
    } else if (!runner_.encode_results(result, task, outcome)) {
      if (loop_->interrupted() != worker::TaskLoop::Interrupt::kNone) {
        end_interrupted(outcome);  // while its value was pickled
      } else {
        runner_.fail(task.name, task.head.portable != 0, outcome);
      }
    }
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    Py_XDECREF(result);
    if (loop_->was_held()) end_debugging();
    restore_handler();
    runner_.note_bytes(outcome);
    if (function.max_calls > 0 && ++function.calls >= function.max_calls) outcome->retire = may_retire();
  }

  void interrupt() override { ::pthread_kill(thread_, wake_signal()); }
  void end_system_call() override { ::pthread_sigqueue(thread_, wake_signal(), {}); }
  void before_sleep() override { state_ = PyEval_SaveThread(); }
  void after_sleep() override { take_gil(state_); }

 private:
  // An earlier task may have replaced the handler of SIGINT, by which later tasks are interrupted.
  void restore_handler() {
    static PyObject* get = nullptr;
    static PyObject* number = PyLong_FromLong(SIGINT);
    static PyObject* ours = PyObject_GetAttrString(support_, "on_interrupt");
    if (imported(&get, "_signal", "getsignal") == nullptr) return PyErr_Clear();
    Owned present(PyObject_CallOneArg(get, number));
    if (present.get() == ours) return;
    Owned done(PyObject_CallMethod(support_, "handle_interrupts", nullptr));
    if (!done) PyErr_WriteUnraisable(support_);
  }

  void end_debugging() {
    Owned done(PyObject_CallMethod(support_, "end_debugging", nullptr));
    if (!done) PyErr_WriteUnraisable(support_);
  }

  // A worker must stay while other processes hold refs to its unfinished tasks, whose results would be lost with it.
  bool may_retire() const { return !owner_->client->has_unfinished_work(); }

  PyObject* load(LoadedFunction& function) {
    if (function.callable != nullptr && (!function.is_bound || function.rewrites == class_notes().rewrites)) {
      return function.callable;
    }
    Owned before(std::exchange(function.callable, nullptr));
    if (function.payload.size() < wire::kPayloadPrefix) {
      PyErr_SetString(PyExc_RuntimeError, "the task's function did not arrive");
      return nullptr;
    }
    const auto kind = static_cast<int>(wire::kind_of(function.payload));
    std::memcpy(&function.max_calls, function.payload.data() + 1, sizeof(function.max_calls));
    Owned loader(PyObject_GetAttrString(support_, "load_function"));
    if (!loader) return nullptr;
    const std::uint64_t uses = class_notes().uses;
    Owned what(function_content(owner_, function.payload));
    function.callable = what ? PyObject_CallFunction(loader.get(), "iO", kind, what.get()) : nullptr;
    function.is_bound = class_notes().uses != uses;
    function.rewrites = class_notes().rewrites;
    if (function.callable != nullptr && !function.is_bound) {
      function.payload.clear();
      function.payload.shrink_to_fit();
    }
    return function.callable;
  }

  PyObject* stream(const CallRunner::Callable& callable, const worker::TaskView& task) {
    return runner_.stream(callable, task, [&](std::uint32_t index, std::string_view bytes, std::uint64_t size) {
      if (loop_->send_item(task, index, bytes, size)) return true;
      // The interrupt is taken here, so that it is not raised while the generator's `finally` runs.
      if (PyErr_CheckSignals() != 0) PyErr_Clear();
      return false;
    });
  }

  // A task that was cancelled, but has caught the interrupt and returned, keeps its value.
  bool lost_to_interrupt(const worker::TaskView& task, PyObject* result) const {
    using Interrupt = worker::TaskLoop::Interrupt;
    const Interrupt reason = loop_->interrupted();
    const bool caught = reason == Interrupt::kCancelled && result != nullptr && !task.is_generator();
    return reason != Interrupt::kNone && !caught;
  }

  void end_interrupted(worker::Outcome* outcome) {
    bool timed_out = loop_->interrupted() == worker::TaskLoop::Interrupt::kTimedOut;
    PyErr_Clear();
    outcome->status = timed_out ? TaskStatus::kTimedOut : TaskStatus::kCancelled;
    outcome->values = 0;
    outcome->bytes.clear();
  }

  // Whether the options of the function allow a retry after the raised exception, which stays set.
  bool wants_retry(PyObject* callable) {
    if (callable == nullptr) return false;
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    Owned answer(PyObject_CallMethod(support_, "may_retry", "OO", callable, error));
    bool wants = answer && PyObject_IsTrue(answer.get()) == 1;
    PyErr_Clear();
    PyErr_Restore(type, error, traceback);
    return wants;
  }

  PythonClient* owner_;
  PyObject* support_;
  CallRunner runner_;
  pthread_t thread_;
  worker::TaskLoop* loop_ = nullptr;
  PyThreadState* state_ = nullptr;
  int threads_ = 0;  // threads that numerical libraries may use; 0: not set yet
  std::unordered_map<std::uint64_t, LoadedFunction> functions_;
};

worker::TaskLoop* running_loop = nullptr;

void call_back(PyObject* function) {
  Owned nothing(PyObject_CallNoArgs(function));
  if (!nothing) PyErr_WriteUnraisable(function);
}

// The number that a Python function of the fork server returns; `otherwise` where it raises.
long answer_of(PyObject* function, long otherwise) {
  Owned answer(PyObject_CallNoArgs(function));
  const long number = answer ? PyLong_AsLong(answer.get()) : -1;
  if (PyErr_Occurred() == nullptr) return number;
  PyErr_WriteUnraisable(function);
  return otherwise;
}

}  // namespace

Answer<std::optional<PythonActorHost*>> run_worker(PythonClient* client, Any support, int page_fd) {
  remember_main_thread();
  offer_wake_signal();
  auto page = std::make_unique<worker::MappedPage>(page_fd);
  PythonExecutor executor(client, support);
  worker::TaskLoop loop(*client->client, executor, *page);
  executor.attach(&loop);
  client->duty = &loop;
  running_loop = &loop;
  loop.run();
  running_loop = nullptr;
  client->client->set_duty(nullptr);
  client->duty = nullptr;
  auto actor = loop.take_actor();
  if (!actor) return std::optional<PythonActorHost*>();
  PythonActorHost* host = new_actor_host(client, support, std::move(*actor), std::move(page));
  if (host == nullptr) return Raised();
  return std::optional(host);
}

worker::TaskLoop::Interrupt interrupt_reason() {
  return running_loop == nullptr ? worker::TaskLoop::Interrupt::kNone : running_loop->interrupted();
}

void hold_timeout(bool held) {
  if (running_loop != nullptr) running_loop->hold_timeout(held);
}

std::tuple<std::uint32_t, int, int> run_fork_server(int fd, Callback load_rest, Callback load_loop,
                                                    Callback load_actors, NumberOrNone needs, NumberOrNone load) {
  // A copy of a program that was handling an exception would name it as the context of all that its tasks raise.
  PyErr_SetExcInfo(nullptr, nullptr, nullptr);
  worker::ForkCallbacks callbacks;
  callbacks.before_fork = [] { PyOS_BeforeFork(); };
  callbacks.after_fork_parent = [] { PyOS_AfterFork_Parent(); };
  callbacks.after_fork_child = [] { PyOS_AfterFork_Child(); };
  callbacks.load_rest = [load_rest] { call_back(load_rest); };
  callbacks.load_loop = [load_loop] { call_back(load_loop); };
  callbacks.load_actors = [load_actors] { call_back(load_actors); };
  if (!needs.is_none()) {
    const auto nothing = static_cast<long>(worker::Needs::kNothing);
    callbacks.needs = [needs, nothing] { return static_cast<worker::Needs>(answer_of(needs, nothing)); };
    callbacks.load = [load] { return answer_of(load, 0) != 0; };
  }
  const worker::ForkedWorker forked = worker::run_fork_server(fd, callbacks);
  return {forked.process, forked.control_fd, forked.page_fd};
}

}  // namespace fray::python
