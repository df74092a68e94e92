#include "signatures.h"

#include "casters.h"

namespace nb = nanobind;

namespace fray::python {

namespace {

// nanobind turns every C++ exception into one of Python. The unwinding of pthread_exit(), in a thread that cannot get
// the GIL any more, must not reach it (see gil.h). So such a thread stops here.
template <typename Result, typename... Arguments>
auto kept_from_unwinding(Result (*function)(Arguments...)) {
  return [function](Arguments... arguments) -> Result {
    try {
      return function(std::forward<Arguments>(arguments)...);
    } catch (...) {
      sleep_for_ever();
    }
  };
}

// Functions of the module, or methods of a type; `names` are those of the arguments, without `self`.
template <typename... Kind>
class Scope {
 public:
  explicit Scope(nb::object scope) : scope_(std::move(scope)) {}

  template <typename Function, typename... Names>
  Scope& def(const char* name, Function function, const char* doc, Names... names) {
    nb::cpp_function_def(kept_from_unwinding(function), nb::scope(scope_), nb::name(name), Kind()..., doc,
                         nb::arg(names)...);
    return *this;
  }

 private:
  nb::object scope_;
};
using Functions = Scope<>;
using Methods = Scope<nb::is_method>;

void add_client_functions(nb::module_& module) {
  Functions(module)
      .def("find_node", find_node, "The path of the socket that 'auto', a home or a socket means.", "address")
      .def("content_hash", content_hash, "What the file's content is known by.", "path")
      .def("begin_open", begin_open,
           "Opens a node at `address`, at `socket` (-1: none), or a new `program`; the rest is the key of usual "
           "workers.",
           "address", "program", "options", "prestart", "command", "path", "folder", "environment", "socket")
      .def("finish_open", finish_open, "The client of what begin_open() began; once.", "opening")
      .def("become_worker", become_worker, "The client of a worker's process.", "process", "fd")
      .def("fork_below", fork_below,
           "Whether this is the copy of this process, which is the child of a program that is started; see forked.py.",
           "command", "fds");
  Methods(module.attr("Client"))
      .def("close", client_close, "Disconnects; unfinished tasks fail. Idempotent.")
      .def("define_key", client_define_key, "The number of a worker key.", "command", "path", "folder", "environment",
           "runtime_env")
      .def("forget_key", client_forget_key, "Nothing will be submitted with this key any more.", "number")
      .def("status", client_status, "The node's status as JSON.")
      .def("timeline", client_timeline,
           "[(name, task, started_ns, duration_ns, pid, status, cpu_ns, peak_memory_bytes, bytes_in, bytes_out)]")
      .def("failures", client_failures, "[(name, task, whether the bytes are a packed exception, bytes)]")
      .def("total_resources", client_total_resources, "What the node owns.")
      .def("session_folder", client_session_folder, "The folder with the node's socket.")
      .def("id_of", client_id_of, "The id of the first result of a task; owner 0: of this process.", "owner", "number")
      .def("drain_output", client_drain_output, "Waits, shortly, for what workers had written before their results.")
      .def("tell_last_runs", client_tell_last_runs,
           "Tells the node, where somebody looks at it, what ran since it asked.")
      .def("block", client_block,
           "Where this thread runs a worker's tasks: it waits from now on, and lends its resources.")
      .def("unblock", client_unblock, "It goes on.")
      .def("is_open", client_is_open, "Whether the node is there.");
}

void add_value_functions(nb::module_& module) {
  Functions(module)
      .def("empty", empty, "Writable memory in the store.", "client", "bytes")
      .def("extend_refs", extend_refs, "The type of new refs, which has these methods too.", "methods")
      .def("share", share, "Other processes can find the object by its id, as long as this one holds it.", "ref")
      .def("find_object", find_object,
           "The ref to the object that has these numbers in its id and was shared; None: it is of another engine.",
           "client", "epoch", "owner", "sequence")
      .def("watch_pickles", watch_pickles, "Calls the watcher with each value that is pickled, until it returns false.",
           "watcher")
      .def("is_pickling", is_pickling, "Whether this thread is pickling a value that goes to another process.")
      .def("outside_values", outside_values,
           "What the function returns, which makes pickles for later values; refs cannot be in these.", "function")
      .def("client_of_value", client_of_value,
           "The client for whose value the pickle is that is being made with this buffer_callback; None: for no value.",
           "buffer_callback")
      .def("refers_to_main", pickle_refers_to_main,
           "Whether a pickle refers to a class or function of the main script.", "pickle")
      .def("plain_pickle", plain_pickle, "The pickle of plain data (plain_pickle.h); None of any other value.", "value")
      .def("receiving_client", receiving_client, "The client whose value this thread is unpickling.")
      .def("make_function", make_function, "What tasks call.", "kind", "payload", "name", "max_calls")
      .def("store_function", store_function,
           "What tasks call, as an object: its pickle, and the buffers (memoryviews) outside of it.", "client",
           "pickle", "buffers", "name", "max_calls")
      .def("make_same_function", make_same_function,
           "The same for workers, with another name. is_carried: its calls call their first argument with it.", "known",
           "name", "is_carried")
      .def("make_plan", make_plan, "How tasks of one TaskOptions are submitted.", "shape", "max_retries", "returns",
           "generator", "timeout", "item_budget", "most_items")
      .def("set_aside", set_aside, "Begins a reservation of resources, for work that asks for what it offers.",
           "client", "name", "resources", "offered", "about", "detached")
      .def("put_back", put_back, "Ends it, and what runs inside of it.", "client", "name");
}

void add_snapshot_functions(nb::module_& module) {
  Functions(module)
      .def("make_snapshot", make_snapshot, "A snapshot of nothing yet.")
      .def("note_class", note_class,
           "That what is being loaded may have something in common with a class, which it may have brought anew.",
           "is_rewritten");
  Methods(module.attr("Snapshot"))
      .def("add_function", snapshot_add_function,
           "What the function refers to, with the globals of these names; None if a cell is empty.", "function",
           "names")
      .def("add_class", snapshot_add_class, "What the class has, by its names.", "cls")
      .def("add_imported", snapshot_add_imported, "Whether they can be imported is looked at again.", "things")
      .def("add_content", snapshot_add_content,
           "The functions and classes in a container, an array or another object; None if it could change unnoticed.",
           "thing")
      .def("classes", snapshot_classes, "The classes that were added.")
      .def("addresses", snapshot_addresses, "The addresses of what is compared, of each as often as it is.")
      .def("are_apart", snapshot_are_apart,
           "Whether containers with so many items are compared, none of which is in two of the contents.", "least")
      .def("has_contents", snapshot_has_contents, "Whether containers, arrays or other objects are compared.")
      .def("holds", snapshot_holds, "Whether all that was added refers to what it referred to then.");
}

void add_wait_functions(nb::module_& module) {
  Functions(module)
      .def("set_tracer", set_tracer, "What makes the spans of calls that are sent, and of waits; None for none.",
           "calls", "waits")
      .def("cancel", cancel, "Whether the task had not ended.", "client", "ref", "force", "recursive")
      .def("is_waiting", is_waiting,
           "Whether the task has not begun, as far as is known; with `cancel`, whether it never will.", "client", "ref",
           "cancel")
      .def("note_own_socket", note_own_socket, "Only this process makes the descriptor readable.", "descriptor")
      .def("make_queue", make_queue, "A queue of refs that became ready.", "client");
  Methods(module.attr("CompletionQueue"))
      .def("fileno", queue_fileno, "The descriptor that is readable when run() has something to do.")
      .def("add", queue_add,
           "run() calls the callback once the ref is ready. Unless an event loop reads the queue, a task that is\n"
           "buffered behind running ones is sent when a thread calls wait(), so many refs can be added at little cost.",
           "ref", "callback")
      .def("remove", queue_remove, "The callback of add() is not called any more.", "ref", "callback")
      .def("serve_loop", queue_serve_loop, "An event loop reads this queue.")
      .def("begin_wait", queue_begin_wait, "A coroutine of the loop begins to wait; the number of its wait.", "ref")
      .def("end_wait", queue_end_wait, "The coroutine goes on. Why its wait could never end.", "ref", "number")
      .def("wait", queue_wait, "Whether run() has something to do; this thread reads the sockets meanwhile.", "timeout")
      .def("run", queue_run, "Calls the callbacks of refs that became ready.");
}

void add_worker_functions(nb::module_& module) {
  Functions(module)
      .def("run_worker", run_worker,
           "Runs tasks until the node lets go of this process (None) or makes an actor of it.", "client", "support",
           "page_fd")
      .def("interrupt_reason", interrupt_reason, "What ended the running task early.")
      .def("hold_timeout", hold_timeout, "The running task's timeout stands still, or goes on.", "held")
      .def("run_fork_server", run_fork_server, "(process, control_fd, page_fd), in each child.", "fd", "load_rest",
           "load_loop", "load_actors", "needs", "load")
      .def("call_is_cancelled", call_is_cancelled, "Whether the actor's method that this thread runs was cancelled.")
      .def("running_task", running_task,
           "(owner, number) of the task or the actor's call that this thread runs, see Client.id_of; (0, 0): none.")
      .def("starter", starter, "The number of the actor's call for which this thread submits tasks; 0: none.")
      .def("set_starter", set_starter, "This thread submits tasks for that call from now on.", "call");
}

void add_actor_functions(nb::module_& module) {
  Functions(module)
      .def("create_actor", create_actor,
           "The ref to the actor, and the description of the one that existed, or empty; None: the name is taken.",
           "client", "cls", "plan", "args", "kwargs", "namespace", "class_name", "name", "get_if_exists", "detached",
           "max_restarts", "event_loop", "description", "settings")
      .def("find_actor", find_actor, "The ref to the actor of this name, and its description.", "client", "namespace",
           "name")
      .def("find_actor_by_id", find_actor_by_id,
           "The same for the actor whose ref has these numbers in its id, wherever its handle comes from.", "client",
           "epoch", "owner", "sequence")
      .def("list_actors", list_actors, "[(namespace, name)]", "client")
      .def("kill_actor", kill_actor, "Ends the actor's process; with `no_restart` the actor as well.", "actor",
           "no_restart");
}

void add_host_methods(nb::module_& module) {
  Methods(module.attr("ActorHost"))
      .def("settings", host_settings, "What the creator's Python side sent along.")
      .def("cpus", host_cpus, "The CPUs that the actor holds.")
      .def("self_ref", host_self_ref, "The object that handles of this actor refer to; it does not count.")
      .def("open", host_open,
           "Takes callers, of which so many calls run at once; `name` stands before the names of methods.", "name",
           "mode", "places")
      .def("load_class", host_load_class, "The actor's class.")
      .def("construct", host_construct, "The instance; raises what its constructor raises.")
      .def("ready", host_ready, "Tells the node that calls may come.")
      .def("failed", host_failed, "Tells the node what the constructor raised.", "exception", "text")
      .def("serve", host_serve, "Runs calls on this thread until the actor ends.")
      .def("take", host_take,
           "([(call, result, generator)], (call, coroutine, what it waits for, context) or None): calls at most so "
           "many\n"
           "methods, for a moment. Those that raise or give a value are answered at once, and so are coroutines that "
           "end in\n"
           "their first step, which they take in the name of `task`.",
           "count", "task", "context")
      .def("has_calls", host_has_calls, "Whether take() would find some without a look at the callers.")
      .def("finish", host_finish, "Answers the call.", "call", "result")
      .def("fail", host_fail, "Answers the call; None: it was cancelled.", "call", "exception")
      .def("item", host_item, "Sends an item; whether to go on.", "call", "index", "value")
      .def("may_send", host_may_send, "Whether a further item may be sent now.", "call")
      .def("cancelled", host_cancelled, "Running calls that were cancelled since the last time.")
      .def("spin", host_spin, "Looks for calls for a moment; whether some have come.")
      .def("flush", host_flush, "Sends the answers that wait.")
      .def("fileno", host_fileno, "Readable when take() may have something.")
      .def("say_wait", host_say_wait, "The call waits for one of these refs, and for nothing else; 0: not told now.",
           "number", "call", "refs")
      .def("forget_wait", host_forget_wait, "That wait has ended.", "number")
      .def("refused_waits", host_refused_waits, "[(number, why it can never end)], since the last time.")
      .def("end_child", host_end_child, "Ends a forked child that would go on in its parent's event loop.")
      .def("has_ended", host_has_ended, "Whether the node has let go of this actor.");
}

}  // namespace

void add_functions(nb::module_& module) {
  add_client_functions(module);
  add_value_functions(module);
  add_snapshot_functions(module);
  add_wait_functions(module);
  add_worker_functions(module);
  add_actor_functions(module);
  add_host_methods(module);
}

}  // namespace fray::python
