// The functions of fray._native that are not on the way of each call. Their bodies are in the files named here;
// signatures.cc gives them to Python, with names and documentation.
//
// Threading:  any thread with the GIL.
// Ownership:  arguments are borrowed; pointers to objects that are returned are new references.
// Failure:    see arguments.h; errors of the engine become the exceptions of fray.errors.
#pragma once

#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actor_host.h"
#include "arguments.h"
#include "call_builder.h"
#include "class_notes.h"
#include "snapshot.h"
#include "wire/direct.h"
#include "wire/function_payload.h"
#include "worker/actor_loop.h"
#include "worker/task_loop.h"

namespace fray::python {

// ---- client.cc

Answer<FileName> find_node(const FileName& address);
Answer<std::string> content_hash(const FileName& path);
Owned begin_open(std::optional<FileName> address, FileName program, FileName options, std::uint32_t prestart,
                 const FileNames& command, const FileNames& path, const FileName& folder, const FileNames& environment,
                 int socket);
PythonClient* finish_open(Any opening);
PythonClient* become_worker(std::uint32_t process, int fd);

void client_close(PythonClient* self);
Answer<std::uint32_t> client_define_key(PythonClient* self, const FileNames& command, const FileNames& path,
                                        const FileName& folder, const FileNames& environment, std::string runtime_env);
void client_forget_key(PythonClient* self, std::uint32_t number);
Answer<std::string> client_status(PythonClient* self);
// Name, task, started_ns, duration_ns, pid, status, cpu_ns, peak_memory_bytes, bytes_in, bytes_out. What was not measured is None.
using TaskRun = std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t, int, wire::TaskStatus,
                           std::optional<std::uint64_t>, std::optional<std::uint64_t>, std::uint64_t, std::uint64_t>;
Answer<std::vector<TaskRun>> client_timeline(PythonClient* self);
// Name, task, whether the bytes are a packed exception, the bytes.
using TaskFailure = std::tuple<std::string, std::uint64_t, bool, Bytes>;
Answer<std::vector<TaskFailure>> client_failures(PythonClient* self);
std::map<std::string, double> client_total_resources(PythonClient* self);
FileName client_session_folder(PythonClient* self);
std::string client_id_of(PythonClient* self, ProcessId owner, std::uint64_t number);
Answer<Nothing> client_drain_output(PythonClient* self);
Answer<Nothing> client_tell_last_runs(PythonClient* self);
void client_block(PythonClient* self);
void client_unblock(PythonClient* self);
bool client_is_open(PythonClient* self);

// ---- fork.cc

Answer<bool> fork_below(const FileNames& command, const std::vector<int>& fds);

// ---- refs.cc, values.cc

Owned empty(PythonClient* client, std::uint64_t bytes);
Owned extend_refs(Class methods);
Answer<Nothing> share(PythonRef* ref);
Owned find_object(PythonClient* client, std::uint32_t epoch, ProcessId owner, std::uint64_t sequence);
bool is_pickling();
// Calls the function, which makes pickles that are kept for other values than the one that is being pickled: they cannot have refs.
Owned outside_values(Callback function);
std::optional<PythonClient*> client_of_value(Any buffer_callback);
bool pickle_refers_to_main(BytesView pickle);
Answer<Owned> plain_pickle(Any value);
using PickleWatcherOrNone = Borrowed<"collections.abc.Callable[[bytes], bool]", PyCallable_Check, true>;
void watch_pickles(PickleWatcherOrNone watcher);
std::optional<PythonClient*> receiving_client();

// ---- calls.cc

PythonFunction* make_function(wire::FunctionKind kind, BytesView payload, std::string name, int max_calls);
// One that is too large to travel in messages: an object of its pickle and of the buffers (memoryviews) outside of it.
PythonFunction* store_function(PythonClient* client, WholeBytes pickle, List buffers, std::string name, int max_calls);
// The same for workers. `is_carried`: its calls call their first argument, with the function before the others.
PythonFunction* make_same_function(PythonFunction* known, std::string name, bool is_carried);
PythonPlan* make_plan(Dict shape, int max_retries, int returns, bool generator, double timeout,
                      std::uint32_t item_budget, std::uint32_t most_items);
Answer<Nothing> set_aside(PythonClient* client, std::string name, Dict resources, Dict offered, std::string about,
                          bool detached);
Answer<Nothing> put_back(PythonClient* client, std::string name);

// ---- trace_span.cc

using CallTracerOrNone = Borrowed<"collections.abc.Callable[[str, str], typing.Any]", PyCallable_Check, true>;
using WaitTracerOrNone =
    Borrowed<"collections.abc.Callable[[str, list[bytes], int, float | None], typing.Any]", PyCallable_Check, true>;
void set_tracer(CallTracerOrNone calls, WaitTracerOrNone waits);

// ---- waits.cc

Answer<bool> cancel(PythonClient* client, PythonRef* ref, bool force, bool recursive);
Answer<bool> is_waiting(PythonClient* client, PythonRef* ref, bool cancel);
void note_own_socket(int descriptor);

struct PythonQueue {
  PyObject_HEAD client::CompletionQueue* queue;
  PythonClient* owner;
  std::unordered_map<client::Object*, PyObject*>* waiting;  // object -> list of callables; refs held by the callables

  static constexpr char kTypeName[] = "fray._native.CompletionQueue";
  static bool is(PyObject* object);
};

PythonQueue* make_queue(PythonClient* client);
int queue_fileno(PythonQueue* self);
Answer<Nothing> queue_add(PythonQueue* self, PythonRef* ref, Callback callback);
Answer<Nothing> queue_remove(PythonQueue* self, PythonRef* ref, Callback callback);
Answer<Nothing> queue_serve_loop(PythonQueue* self);
std::uint64_t queue_begin_wait(PythonQueue* self, PythonRef* ref);
std::optional<std::string> queue_end_wait(PythonQueue* self, PythonRef* ref, std::uint64_t number);
Answer<bool> queue_wait(PythonQueue* self, std::optional<double> timeout);
Answer<Nothing> queue_run(PythonQueue* self);

// ---- worker.cc

// Runs tasks until the node lets go of this process, or makes an actor of it.
Answer<std::optional<PythonActorHost*>> run_worker(PythonClient* client, Any support, int page_fd);
worker::TaskLoop::Interrupt interrupt_reason();
void hold_timeout(bool held);
// In each forked child: process, control_fd, page_fd. Exits with the node.
using NumberOrNone = Borrowed<"collections.abc.Callable[[], int]", PyCallable_Check, true>;
std::tuple<std::uint32_t, int, int> run_fork_server(int fd, Callback load_rest, Callback load_loop,
                                                    Callback load_actors, NumberOrNone needs, NumberOrNone load);

// ---- actors.cc

// The ref to the actor, and what its creator wrote about it.
using ActorFound = std::optional<std::pair<Owned, Bytes>>;
Answer<ActorFound> create_actor(PythonClient* client, PythonFunction* cls, PythonPlan* plan, Positional args,
                                DictOrNone kwargs, std::string name_space, std::string class_name,
                                std::optional<std::string> name, bool get_if_exists, bool detached, int max_restarts,
                                bool event_loop, BytesView description, BytesView settings);
Answer<ActorFound> find_actor(PythonClient* client, std::string name_space, std::string name);
Answer<ActorFound> find_actor_by_id(PythonClient* client, std::uint32_t epoch, ProcessId owner, std::uint64_t sequence);
Answer<std::vector<std::pair<std::string, std::string>>> list_actors(PythonClient* client);
Answer<Nothing> kill_actor(PythonRef* actor, bool no_restart);

// ---- actor_host.cc

// A running call. Python holds it as a number.
using CallNumber = std::uintptr_t;

bool call_is_cancelled();
std::pair<ProcessId, std::uint64_t> running_task();
std::uint64_t starter();
void set_starter(std::uint64_t call);
Bytes host_settings(PythonActorHost* self);
double host_cpus(PythonActorHost* self);
Owned host_self_ref(PythonActorHost* self);
void host_open(PythonActorHost* self, std::string name, worker::ActorLoop::Mode mode, std::uint32_t places);
Owned host_load_class(PythonActorHost* self);
Owned host_construct(PythonActorHost* self);
void host_ready(PythonActorHost* self);
void host_failed(PythonActorHost* self, Exception error, std::string text);
void host_serve(PythonActorHost* self);
// See Batch for the arguments and the result.
Owned host_take(PythonActorHost* self, long count, Any task, Any context);
void host_finish(PythonActorHost* self, CallNumber call, Any result);
void host_fail(PythonActorHost* self, CallNumber call, ExceptionOrNone error);
Answer<bool> host_item(PythonActorHost* self, CallNumber call, std::uint32_t index, Any value);
bool host_may_send(PythonActorHost* self, CallNumber call);
bool host_has_calls(PythonActorHost* self);
std::vector<CallNumber> host_cancelled(PythonActorHost* self);
bool host_spin(PythonActorHost* self);
void host_flush(PythonActorHost* self);
int host_fileno(PythonActorHost* self);
std::uint64_t host_say_wait(PythonActorHost* self, std::uint64_t number, CallNumber call, List refs);
void host_forget_wait(PythonActorHost* self, std::uint64_t number);
std::vector<std::pair<std::uint64_t, std::string>> host_refused_waits(PythonActorHost* self);
Answer<Nothing> host_end_child(PythonActorHost* self);
bool host_has_ended(PythonActorHost* self);

}  // namespace fray::python
