// Submission: submits tasks: checks them, gives them their results and the numbers of their worker keys, and cancels
// them.
//
// Threading:  any thread; takes the client's mutex itself where nothing else is said.
// Ownership:  a task is the client's once it is accepted. Results carry a count for the caller.
// Failure:    kUnavailable when the node is gone, kInvalidArgument for what the node can never run or carry.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/leases/worker_keys.h"
#include "client/objects.h"
#include "client/tasks/started_tasks.h"
#include "wire/reservation.h"

namespace fray::client {

struct Call;
struct TaskOptions;

class Submission {
 public:
  Submission(ClientMutex& mutex, NodeConnection& connection, ReadingKernel& kernel, ObjectTable& objects,
             TaskLedger& ledger, TaskTable& tasks, Reading& reading, Objects& refs)
      : mutex_(mutex),
        connection_(connection),
        kernel_(kernel),
        objects_(objects),
        ledger_(ledger),
        tasks_(tasks),
        reading_(reading),
        refs_(refs) {}

  // New counts on each result. kInvalidArgument when the node can never have the resources.
  Result<std::vector<Object*>> submit(std::unique_ptr<Task> task, const TaskOptions& options);
  Result<std::vector<Object*>> submit(Call call);
  // Releases what the arguments of a task that was not accepted hold. submit() and its like do so themselves.
  void release_arguments(Task& task);
  // Cancels a task. True: this process has submitted the task, and it has not ended. Where another process has submitted
  // it, the node tells that one. `recursive`: the tasks that it has started are cancelled too, which its worker knows.
  bool cancel(Object* object, bool force, bool recursive = false);
  // The number of the next task that this process will submit.
  std::uint64_t next_number();
  // Cancels the tasks with numbers from `first` to before `end`, and the tasks that these have started.
  void cancel_between(std::uint64_t first, std::uint64_t end);
  // Whether the task of `object` has not begun, as far as is known here: a worker may just have begun it.
  bool is_waiting(Object* object) const;
  // Cancels the task of `object` if it has not begun, which its worker is asked where it was sent. False: it has begun or
  // ended otherwise, or the worker has not answered for a second. kCancelled: the hooks have interrupted the wait.
  Result<bool> withdraw(Object* object, WaitHooks& hooks);
  // Begins or ends a reservation (model/reservation.h). The node learns of it in order with what this process submits.
  void set_aside(const wire::SetAside& reservation);
  void put_back(const std::string& name);
  // The number of a further worker key (a runtime env), held once more. Equal keys share a number while anybody holds it. The
  // node may end what it has for a key that no task or actor uses, and makes it anew at the next use.
  std::uint32_t define_key(const wire::WorkerKey& key);
  void hold_key(std::uint32_t number);
  // Ends one hold of the key, whose holder will submit nothing more with it. Tasks that were submitted with it go on.
  void forget_key(std::uint32_t number);
  // Cancels the tasks that a call of an actor has started, and those that these have started; and forgets an ended call.
  void cancel_started(std::uint64_t call);
  void forget_started(std::uint64_t call);
  // The call for which this thread submits tasks; 0: none, or one that is alone in its process.
  static void set_starter(std::uint64_t call);
  static std::uint64_t starter();
  // The depth of the tasks that this thread submits.
  static void set_depth(std::uint32_t depth);
  static std::uint32_t depth();

  // ---- For calls of actors ----
  // `resources` are compared with those of the node; null: they are known to fit.
  Status why_refused(const Task& task, const ResourceSet* resources, std::string_view kind) const
      FRAY_REQUIRES(client_mutex);
  std::vector<Object*> make_results(Task* task, const TaskOptions& options) FRAY_REQUIRES(client_mutex);
  // Releases the arguments of a task at the end of its scope, unless the task was accepted by then. To be destroyed
  // without the mutex held.
  struct Unaccepted {
    Submission& submission;
    std::unique_ptr<Task>& task;
    ~Unaccepted() {
      if (task) submission.release_arguments(*task);
    }
  };
  // Holds the key that a driver has itself, which the node knows already.
  void hold_own_key(const wire::WorkerKey& key) FRAY_UNCHECKED_LOCKING { keys_.hold_own(key); }

 private:
  ClientMutex& mutex_;
  NodeConnection& connection_;
  ReadingKernel& kernel_;
  ObjectTable& objects_ FRAY_GUARDED_BY(client_mutex);
  TaskLedger& ledger_ FRAY_GUARDED_BY(client_mutex);
  TaskTable& tasks_ FRAY_GUARDED_BY(client_mutex);
  Reading& reading_ FRAY_GUARDED_BY(client_mutex);
  Objects& refs_;
  WorkerKeys keys_ FRAY_GUARDED_BY(client_mutex);
  StartedTasks started_;  // as its header says
};

}  // namespace fray::client
