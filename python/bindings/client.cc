// The Client type: connecting, closing, and the methods that are not on the hot path.
//
// Threading:  any thread with the GIL.
// Ownership:  see python_client.h. close() disconnects; the C++ client is freed with the last ref or view.
// Failure:    errors of the engine become the exceptions of fray.errors.
#include "python_client.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <pthread.h>
#include <unistd.h>

#include "client/open_client.h"
#include "client/output/output_writer.h"
#include "door/find_node.h"
#include "functions.h"
#include "memory_digests.h"
#include "model/resource_set.h"
#include "os/files/content_hash.h"

namespace fray::python {

PyTypeObject* python_client_type = nullptr;

namespace {

unsigned long main_thread_id = 0;
std::vector<PythonClient*> living;  // guarded by the GIL

void in_forked_child() {
  for (PythonClient* one : living) {
    if (one->client != nullptr) one->client->abandon_after_fork();
    one->closed = one->inherited = true;
  }
}

std::vector<std::string> strings_of(const FileNames& names) {
  std::vector<std::string> strings;
  for (const FileName& name : names) strings.push_back(name.bytes);
  return strings;
}

// `environment` has names and values in turn.
wire::WorkerKey key_of(const FileNames& command, const FileNames& path, const FileName& folder,
                       const FileNames& environment) {
  wire::WorkerKey key;
  key.command = strings_of(command);
  key.module_path = strings_of(path);
  key.folder = folder.bytes;
  for (std::size_t i = 0; i + 1 < environment.size(); i += 2)
    key.environment.emplace_back(environment[i].bytes, environment[i + 1].bytes);
  return key;
}

client::ClientOptions usual_options() {
  client::ClientOptions options;
  options.output = &client::OutputWriter::of_process();
  const char* fold = std::getenv("FRAY_FOLD_OUTPUT");
  options.fold_output = fold == nullptr || std::string_view(fold) != "0";
  options.hello.interrupted = signal_came;
  return options;
}

// Calls `open` without the GIL and returns its client as a Python object.
template <typename Open>
PythonClient* client_of(Open open) {
  PyThreadState* state = PyEval_SaveThread();
  Result<std::unique_ptr<client::Client>> opened = open();
  take_gil(state);
  if (!opened.is_ok()) {
    if (PyErr_Occurred() == nullptr) raise_status(opened.status());
    return nullptr;
  }
  auto* self = PyObject_New(PythonClient, python_client_type);
  if (self == nullptr) return nullptr;
  self->client = std::move(opened).value().release();
  self->duty = nullptr;
  self->closed = false;
  self->inherited = false;
  living.push_back(self);
  return self;
}

constexpr const char* kOpening = "fray._native.opening";

client::ClientOpening* as_opening(PyObject* capsule) {
  return static_cast<client::ClientOpening*>(PyCapsule_GetPointer(capsule, kOpening));
}

void drop_opening(PyObject* capsule) {
  client::ClientOpening* opening = as_opening(capsule);
  PyThreadState* state = PyEval_SaveThread();
  delete opening;
  take_gil(state);
}

void client_dealloc(PyObject* self) {
  auto* owner = reinterpret_cast<PythonClient*>(self);
  std::erase(living, owner);
  client::Client* client = owner->client;
  PyThreadState* state = PyEval_SaveThread();
  delete client;
  take_gil(state);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyType_Slot client_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(client_dealloc)}, {0, nullptr}};
PyType_Spec client_spec{PythonClient::kTypeName, sizeof(PythonClient), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, client_slots};

}  // namespace

Owned begin_open(std::optional<FileName> address, FileName program, FileName options, std::uint32_t prestart,
                 const FileNames& command, const FileNames& path, const FileName& folder, const FileNames& environment,
                 int socket) {
  client::NodeChoice node;
  node.socket = os::Fd(socket);
  node.program = std::move(program.bytes);
  node.options_json = std::move(options.bytes);
  if (address) node.address = std::move(address->bytes);
  client::ClientOptions client = usual_options();
  client.key = key_of(command, path, folder, environment);
  client.prestart = prestart;
  PyThreadState* state = PyEval_SaveThread();
  Result<client::ClientOpening> begun = client::ClientOpening::begin(std::move(node), std::move(client));
  take_gil(state);
  if (!begun.is_ok()) {
    if (PyErr_Occurred() == nullptr) raise_status(begun.status());
    return Owned();
  }
  return Owned(PyCapsule_New(new client::ClientOpening(std::move(begun).value()), kOpening, drop_opening));
}

PythonClient* finish_open(Any opening) {
  client::ClientOpening* begun = as_opening(opening);
  return begun == nullptr ? nullptr : client_of([begun] { return begun->finish(); });
}

PythonClient* become_worker(std::uint32_t process, int fd) {
  client::ClientOptions options = usual_options();
  options.control = os::Fd(fd);
  options.role = wire::Role::kWorker;
  options.process = process;
  return client_of([&] { return client::Client::connect(std::move(options)); });
}

Answer<FileName> find_node(const FileName& address) {
  Result<door::FoundNode> found = door::find_node(address.bytes, door::Others::kLeave);
  if (found.is_ok()) return FileName{found->socket};
  raise_status(found.status());
  return Raised();
}

Answer<std::string> content_hash(const FileName& path) {
  Result<std::string> hash = os::content_hash(path.bytes);
  if (hash.is_ok()) return std::move(hash).value();
  PyErr_SetString(PyExc_OSError, hash.status().message().c_str());
  return Raised();
}

void client_close(PythonClient* self) {
  self->closed = true;
  PyThreadState* state = PyEval_SaveThread();
  self->client->close();
  take_gil(state);
  // Nobody compares what functions read any more.
  if (std::all_of(living.begin(), living.end(), [](const PythonClient* one) { return one->closed; }))
    memory_digests().forget();
}

Answer<std::uint32_t> client_define_key(PythonClient* self, const FileNames& command, const FileNames& path,
                                        const FileName& folder, const FileNames& environment, std::string runtime_env) {
  if (!check_own(self)) return Raised();
  wire::WorkerKey key = key_of(command, path, folder, environment);
  key.runtime_env = std::move(runtime_env);
  return self->client->tasks().define_key(key);
}

void client_forget_key(PythonClient* self, std::uint32_t number) { self->client->tasks().forget_key(number); }

Answer<std::string> client_status(PythonClient* self) {
  if (!check_own(self)) return Raised();
  GilHooks hooks(self);
  Result<std::string> text = self->client->status(hooks);
  if (text.is_ok()) return std::move(text).value();
  if (!PyErr_Occurred()) raise_status(text.status());
  return Raised();
}

Answer<std::vector<TaskRun>> client_timeline(PythonClient* self) {
  if (!check_own(self)) return Raised();
  auto measured = [](std::uint64_t number) {
    return number == wire::ResultHead::kNotMeasured ? std::nullopt : std::optional(number);
  };
  auto [runs, names] = self->client->timeline();
  std::vector<TaskRun> rows;
  rows.reserve(runs.size());
  for (const client::Timeline::Run& run : runs) {
    rows.emplace_back(names[run.name], run.task, run.started_ns, run.duration_ns, run.pid, run.status,
                      measured(run.cpu_ns), measured(run.peak_memory_bytes), run.bytes_in, run.bytes_out);
  }
  return rows;
}

Answer<std::vector<TaskFailure>> client_failures(PythonClient* self) {
  if (!check_own(self)) return Raised();
  std::vector<TaskFailure> rows;
  for (client::Timeline::Failure& failure : self->client->failures()) {
    rows.emplace_back(std::move(failure.name), failure.task, failure.packed, Bytes{std::move(failure.bytes)});
  }
  return rows;
}

std::map<std::string, double> client_total_resources(PythonClient* self) {
  std::map<std::string, double> total;
  for (const auto& [name, units] : self->client->total().units()) {
    total[name] = static_cast<double>(units) / static_cast<double>(ResourceSet::kUnitsPerOne);
  }
  return total;
}

FileName client_session_folder(PythonClient* self) { return {self->client->node().folder}; }

std::string client_id_of(PythonClient* self, ProcessId owner, std::uint64_t number) {
  const wire::Session& node = self->client->node();
  return text_of(ObjectId{node.epoch, owner == 0 ? node.process : owner, number});
}

Answer<Nothing> client_drain_output(PythonClient* self) {
  if (!check_own(self)) return Raised();
  GilHooks hooks(self);
  self->client->output().drain(hooks);
  if (PyErr_Occurred() != nullptr) return Raised();
  return Nothing();
}

Answer<Nothing> client_tell_last_runs(PythonClient* self) {
  if (!check_own(self)) return Raised();
  self->client->tell_last_runs();
  return Nothing();
}

void client_block(PythonClient* self) {
  if (client::WorkerDuty* duty = self->inherited ? nullptr : GilHooks(self).duty()) duty->blocked();
}

void client_unblock(PythonClient* self) {
  if (client::WorkerDuty* duty = self->inherited ? nullptr : GilHooks(self).duty()) duty->unblocked();
}

bool client_is_open(PythonClient* self) { return self->client->is_open(); }

void remember_main_thread() { main_thread_id = PyThread_get_thread_ident(); }

GilHooks::GilHooks(PythonClient* owner) : main_(PyThread_get_thread_ident() == main_thread_id) {
  if (owner == nullptr) return;
  is_side_ = !main_ && owner->duty != nullptr;
  duty_ = main_ ? owner->duty : nullptr;
  if (main_) signals_ = &owner->client->signals();
}

namespace {

constexpr int kNotSet = -2;

// Has Python write the number of each signal to this descriptor; -1 for none. Returns the previous descriptor, or
// kNotSet in an interpreter that gets no signals. Keeps an exception that is set.
int set_wakeup_fd(int fd) {
  static PyObject* set = nullptr;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  int before = kNotSet;
  if (imported(&set, "_signal", "set_wakeup_fd") != nullptr) {
    Owned number(PyLong_FromLong(fd));
    Owned told(number ? PyObject_CallOneArg(set, number.get()) : nullptr);
    if (told) before = static_cast<int>(PyLong_AsLong(told.get()));
  }
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return before;
}

}  // namespace

void GilHooks::begin_wait() {
  if (signals_ == nullptr || signals_->write_fd() < 0) return;
  told_before_ = set_wakeup_fd(signals_->write_fd());
  if (told_before_ == kNotSet) signals_ = nullptr;
  if (told_before_ >= 0 && told_before_ != signals_->write_fd()) signals_->pass_on_to(told_before_);
}

void GilHooks::end_wait() {
  if (signals_ == nullptr || signals_->write_fd() < 0) return;
  const int told = set_wakeup_fd(told_before_);
  if (told >= 0 && told != signals_->write_fd()) set_wakeup_fd(told);    // a handler has set its own descriptor
  if (told_before_ < 0 || told_before_ == signals_->write_fd()) return;  // none before, or an outer wait goes on
  (void)signals_->take();  // signals that came while the wait ended are passed on, too
  signals_->pass_on_to(-1);
}

// A coroutine may wait for this thread, so its event loop must be known as one that only this process wakes.
void GilHooks::before_sleep() {
  static PyObject* note_loops = nullptr;
  if (is_side_ && PyDict_GetItemString(PyImport_GetModuleDict(), "asyncio.base_events") != nullptr &&
      imported(&note_loops, "fray.backend.native.refs", "note_loops") != nullptr) {
    Owned ignored(PyObject_CallNoArgs(note_loops));
    if (!ignored) PyErr_Clear();
  }
  state_ = PyEval_SaveThread();
}

PythonClient* as_client(PyObject* object) {
  if (PythonClient::is(object)) return reinterpret_cast<PythonClient*>(object);
  PyErr_Format(PyExc_TypeError, "a Client is needed, got %s", Py_TYPE(object)->tp_name);
  return nullptr;
}

bool check_open(PythonClient* owner) {
  if (!owner->closed) return true;
  if (check_own(owner)) raise_status(StatusCode::kClosed, "the context was closed");
  return false;
}

bool check_own(PythonClient* owner) {
  if (!owner->inherited) return true;
  raise_status(StatusCode::kForked, "the ref or actor was made before this process was forked");
  return false;
}

PyObject* text_of_message(const std::string& message) {
  return PyUnicode_DecodeFSDefaultAndSize(message.data(), static_cast<Py_ssize_t>(message.size()));
}

void raise_status(StatusCode code, const std::string& message) {
  static PyObject* function = nullptr;
  if (imported(&function, "fray.backend.native.failures", "engine_error") == nullptr) return;
  Owned text(text_of_message(message));
  Owned error(text ? PyObject_CallFunction(function, "iO", static_cast<int>(code), text.get()) : nullptr);
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

PyObject* imported(PyObject** slot, const char* module, const char* name) {
  if (*slot != nullptr) return *slot;
  Owned loaded(PyImport_ImportModule(module));
  if (loaded) *slot = PyObject_GetAttrString(loaded.get(), name);
  return *slot;
}

int add_client(PyObject* module) {
  remember_main_thread();
  python_client_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&client_spec));
  if (python_client_type == nullptr) return -1;
  ::pthread_atfork(nullptr, nullptr, in_forked_child);
  return PyModule_AddType(module, python_client_type);
}

}  // namespace fray::python
