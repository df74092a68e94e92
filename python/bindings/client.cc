// The Client type: connecting, closing, and what is not on the hot path.
//
// Threading:  any thread with the GIL.
// Ownership:  see python_client.h. close() disconnects; the C++ client goes with the last ref or view.
// Failure:    errors of the engine become the exceptions of fray.errors.
#include "python_client.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include <pthread.h>
#include <unistd.h>

#include "client/open_client.h"
#include "client/output_writer.h"
#include "door/find_node.h"
#include "model/resource_set.h"
#include "os/files/content_hash.h"
#include "refs.h"

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

bool strings_of(PyObject* list, std::vector<std::string>* out) {
  Owned items(PySequence_Fast(list, "a list of texts is needed"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    Owned bytes(PyUnicode_EncodeFSDefault(PySequence_Fast_GET_ITEM(items.get(), i)));
    if (!bytes) return false;
    out->emplace_back(PyBytes_AS_STRING(bytes.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get())));
  }
  return true;
}

bool key_of(PyObject* command, PyObject* path, PyObject* folder, PyObject* environment, wire::WorkerKey* key) {
  if (!strings_of(command, &key->command) || !strings_of(path, &key->module_path)) return false;
  Owned where(PyUnicode_EncodeFSDefault(folder));
  if (!where) return false;
  key->folder = PyBytes_AS_STRING(where.get());
  std::vector<std::string> flat;
  if (!strings_of(environment, &flat)) return false;
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) key->environment.emplace_back(flat[i], flat[i + 1]);
  return true;
}

// Strings that a path may have: any but those with a zero byte, which the engine refuses in its own words.
bool text_of(PyObject* object, std::string* out) {
  Owned bytes(PyUnicode_EncodeFSDefault(object));
  if (bytes) out->assign(PyBytes_AS_STRING(bytes.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get())));
  return static_cast<bool>(bytes);
}

client::ClientOptions usual_options() {
  client::ClientOptions options;
  options.output = &client::OutputWriter::of_process();
  const char* fold = std::getenv("FRAY_FOLD_OUTPUT");
  options.fold_output = fold == nullptr || std::string_view(fold) != "0";
  options.hello.interrupted = signal_came;
  return options;
}

// The client that `open` makes without the GIL, as an object.
template <typename Open>
PyObject* client_of(Open open) {
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
  return reinterpret_cast<PyObject*>(self);
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

// begin_open(address or None, program, options, prestart, command, path, folder, environment) -> opening
PyObject* begin_open(PyObject*, PyObject* args) {
  client::NodeChoice node;
  client::ClientOptions options = usual_options();
  unsigned int prestart = 0;
  PyObject *address = nullptr, *program = nullptr, *settings = nullptr;
  PyObject *command = nullptr, *path = nullptr, *folder = nullptr, *environment = nullptr;
  if (!PyArg_ParseTuple(args, "OOOIOOOO", &address, &program, &settings, &prestart, &command, &path, &folder,
                        &environment) ||
      !text_of(program, &node.program) || !text_of(settings, &node.options_json) ||
      !key_of(command, path, folder, environment, &options.key)) {
    return nullptr;
  }
  if (address != Py_None && !text_of(address, &node.address.emplace())) return nullptr;
  options.prestart = prestart;
  PyThreadState* state = PyEval_SaveThread();
  Result<client::ClientOpening> begun = client::ClientOpening::begin(node, std::move(options));
  take_gil(state);
  if (!begun.is_ok()) {
    if (PyErr_Occurred() == nullptr) raise_status(begun.status());
    return nullptr;
  }
  return PyCapsule_New(new client::ClientOpening(std::move(begun).value()), kOpening, drop_opening);
}

// finish_open(opening) -> Client, once
PyObject* finish_open(PyObject*, PyObject* capsule) {
  client::ClientOpening* opening = as_opening(capsule);
  return opening == nullptr ? nullptr : client_of([opening] { return opening->finish(); });
}

// become_worker(process, fd) -> Client
PyObject* become_worker(PyObject*, PyObject* args) {
  client::ClientOptions options = usual_options();
  unsigned int process = 0;
  int fd = -1;
  if (!PyArg_ParseTuple(args, "Ii", &process, &fd)) return nullptr;
  options.control = os::Fd(fd);
  options.role = wire::Role::kWorker;
  options.process = process;
  return client_of([&] { return client::Client::connect(std::move(options)); });
}

// find_node(address) -> str
PyObject* find_node(PyObject*, PyObject* argument) {
  std::string address;
  if (!text_of(argument, &address)) return nullptr;
  Result<door::FoundNode> found = door::find_node(address, door::Others::kLeave);
  if (found.is_ok()) return PyUnicode_DecodeFSDefault(found->socket.c_str());
  raise_status(found.status());
  return nullptr;
}

// content_hash(path) -> str
PyObject* content_hash(PyObject*, PyObject* argument) {
  Owned path(PyUnicode_EncodeFSDefault(argument));
  if (!path) return nullptr;
  Result<std::string> hash = os::content_hash(PyBytes_AS_STRING(path.get()));
  if (hash.is_ok()) return PyUnicode_FromString(hash->c_str());
  PyErr_SetString(PyExc_OSError, hash.status().message().c_str());
  return nullptr;
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

PyObject* client_close(PyObject* self, PyObject*) {
  reinterpret_cast<PythonClient*>(self)->closed = true;
  PyThreadState* state = PyEval_SaveThread();
  reinterpret_cast<PythonClient*>(self)->client->close();
  take_gil(state);
  Py_RETURN_NONE;
}

PyObject* client_define_key(PyObject* self, PyObject* args) {
  if (!check_own(reinterpret_cast<PythonClient*>(self))) return nullptr;
  PyObject *command = nullptr, *path = nullptr, *folder = nullptr, *environment = nullptr;
  const char* runtime_env = "";
  if (!PyArg_ParseTuple(args, "OOOO|s", &command, &path, &folder, &environment, &runtime_env)) return nullptr;
  wire::WorkerKey key;
  if (!key_of(command, path, folder, environment, &key)) return nullptr;
  key.runtime_env = runtime_env;
  return PyLong_FromUnsignedLong(reinterpret_cast<PythonClient*>(self)->client->tasks().define_key(key));
}

PyObject* client_forget_key(PyObject* self, PyObject* number) {
  const unsigned long key = PyLong_AsUnsignedLong(number);
  if (PyErr_Occurred() != nullptr) return nullptr;
  reinterpret_cast<PythonClient*>(self)->client->tasks().forget_key(static_cast<std::uint32_t>(key));
  Py_RETURN_NONE;
}

PyObject* client_status(PyObject* self, PyObject*) {
  auto* owner = reinterpret_cast<PythonClient*>(self);
  if (!check_own(owner)) return nullptr;
  GilHooks hooks(owner);
  Result<std::string> text = owner->client->status(hooks);
  if (text.is_ok()) return PyUnicode_FromStringAndSize(text->data(), static_cast<Py_ssize_t>(text->size()));
  if (!PyErr_Occurred()) raise_status(text.status());
  return nullptr;
}

// A number, or None where it was not measured.
PyObject* measured(std::uint64_t number) {
  if (number == wire::ResultHead::kNotMeasured) return Py_NewRef(Py_None);
  return PyLong_FromUnsignedLongLong(number);
}

// [(name, task, started_ns, duration_ns, pid, status, cpu_ns, peak_memory_bytes, bytes_in, bytes_out)]
PyObject* client_timeline(PyObject* self, PyObject*) {
  if (!check_own(reinterpret_cast<PythonClient*>(self))) return nullptr;
  auto [runs, names] = reinterpret_cast<PythonClient*>(self)->client->timeline();
  Owned list(PyList_New(static_cast<Py_ssize_t>(runs.size())));
  if (!list) return nullptr;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const client::Timeline::Run& run = runs[i];
    PyObject* row = Py_BuildValue("sKKKiiNNKK", names[run.name].c_str(), run.task, run.started_ns, run.duration_ns,
                                  static_cast<int>(run.pid), static_cast<int>(run.status), measured(run.cpu_ns),
                                  measured(run.peak_memory_bytes), run.bytes_in, run.bytes_out);
    if (row == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), row);
  }
  return list.release();
}

// [(name, task, is a packed exception, bytes)]
PyObject* client_failures(PyObject* self, PyObject*) {
  if (!check_own(reinterpret_cast<PythonClient*>(self))) return nullptr;
  auto failures = reinterpret_cast<PythonClient*>(self)->client->failures();
  Owned list(PyList_New(static_cast<Py_ssize_t>(failures.size())));
  if (!list) return nullptr;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const client::Timeline::Failure& failure = failures[i];
    PyObject* row = Py_BuildValue("sKiy#", failure.name.c_str(), failure.task, failure.packed ? 1 : 0,
                                  failure.bytes.data(), static_cast<Py_ssize_t>(failure.bytes.size()));
    if (row == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), row);
  }
  return list.release();
}

PyObject* client_total(PyObject* self, PyObject*) {
  Owned total(PyDict_New());
  if (!total) return nullptr;
  for (const auto& [name, units] : reinterpret_cast<PythonClient*>(self)->client->total().units()) {
    Owned amount(PyFloat_FromDouble(static_cast<double>(units) / static_cast<double>(ResourceSet::kUnitsPerOne)));
    if (!amount || PyDict_SetItemString(total.get(), name.c_str(), amount.get()) != 0) return nullptr;
  }
  return total.release();
}

PyObject* client_session(PyObject* self, PyObject*) {
  return PyUnicode_DecodeFSDefault(reinterpret_cast<PythonClient*>(self)->client->node().folder.c_str());
}

PyObject* client_drain_output(PyObject* self, PyObject*) {
  auto* owner = reinterpret_cast<PythonClient*>(self);
  if (!check_own(owner)) return nullptr;
  GilHooks hooks(owner);
  owner->client->output().drain(hooks);
  if (PyErr_Occurred() != nullptr) return nullptr;
  Py_RETURN_NONE;
}

PyObject* client_is_open(PyObject* self, PyObject*) {
  return PyBool_FromLong(reinterpret_cast<PythonClient*>(self)->client->is_open());
}

PyMethodDef client_methods[] = {
    {"close", client_close, METH_NOARGS, "Disconnects; unfinished tasks fail. Idempotent."},
    {"forget_key", client_forget_key, METH_O, "forget_key(number): nothing will be submitted with it any more"},
    {"define_key", client_define_key, METH_VARARGS,
     "define_key(command, path, folder, environment, runtime_env='') -> number"},
    {"status", client_status, METH_NOARGS, "The node's status as JSON."},
    {"timeline", client_timeline, METH_NOARGS,
     "[(name, task, started_ns, duration_ns, pid, status, cpu_ns, peak_memory_bytes, bytes_in, bytes_out)]"},
    {"failures", client_failures, METH_NOARGS, "[(name, task, is a packed exception, bytes)]"},
    {"total_resources", client_total, METH_NOARGS, "What the node owns."},
    {"session_folder", client_session, METH_NOARGS, "The folder with the node's socket."},
    {"drain_output", client_drain_output, METH_NOARGS,
     "Waits, shortly, for what workers had written before their results."},
    {"is_open", client_is_open, METH_NOARGS, "Whether the node is there."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot client_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(client_dealloc)}, {Py_tp_methods, client_methods}, {0, nullptr}};
PyType_Spec client_spec{"fray._native.Client", sizeof(PythonClient), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, client_slots};
PyMethodDef client_functions[] = {
    {"find_node", find_node, METH_O,
     "find_node(address) -> the path of the socket that 'auto', a home or a socket means"},
    {"content_hash", content_hash, METH_O, "content_hash(path) -> what the file's content is known by"},
    {"begin_open", begin_open, METH_VARARGS,
     "begin_open(address or None, program, options, prestart, command, path, folder, environment) -> opening"},
    {"finish_open", finish_open, METH_O, "finish_open(opening) -> Client; once"},
    {"become_worker", become_worker, METH_VARARGS, "become_worker(process, fd) -> Client"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void remember_main_thread() { main_thread_id = PyThread_get_thread_ident(); }

GilHooks::GilHooks(PythonClient* owner) : main_(PyThread_get_thread_ident() == main_thread_id) {
  if (owner == nullptr) return;
  is_side_ = !main_ && owner->duty != nullptr;
  duty_ = main_ ? owner->duty : nullptr;
  if (main_) signals_ = &owner->client->signals();
}

namespace {

constexpr int kNotSet = -2;

// Python writes the number of each signal to this descriptor from now on; -1: to none. Returns the one before, or kNotSet in an
// interpreter that signals do not come to. An exception that is set stays.
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
  if (told >= 0 && told != signals_->write_fd()) set_wakeup_fd(told);                       // a handler chose it
  if (told_before_ >= 0 && told_before_ != signals_->write_fd()) signals_->pass_on_to(-1);  // it is no outer wait
}

// A coroutine may wait for this thread: the loop that it runs in has to be known as one that only this process wakes.
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
  if (Py_TYPE(object) == python_client_type) return reinterpret_cast<PythonClient*>(object);
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
  if (PyModule_AddType(module, python_client_type) != 0) return -1;
  ::pthread_atfork(nullptr, nullptr, in_forked_child);
  return PyModule_AddFunctions(module, client_functions);
}

}  // namespace fray::python
