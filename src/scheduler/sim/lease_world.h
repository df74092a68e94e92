// LeaseWorld: a node, drivers and workers in miniature, to drive a real LeaseTable through one seeded schedule.
//
// Processes talk over FIFO channels: up and down to the node, one pair per lease between client and worker. At every
// step one of the things that could happen next is chosen at random: a message is read, a task goes on, a process
// starts, a death is noticed; so messages of different channels overtake each other freely. Faults are injected on the
// way. When nothing can happen any more, everything that waits must have a right to.
//
// Tasks are small programs: submit some children, maybe wait for them, end. Each must end exactly once for its owner.
// Actors are homes that ask for one dedicated lease each; their workers submit tasks and wait for them, die, are asked
// for anew, end.
//
// Threading:  one thread.
// Ownership:  owns everything it simulates.
// Failure:    throws SimulationViolation.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "base/sim/simulation.h"
#include "scheduler/sim/lease_audit.h"

namespace fray::scheduler {

class LeaseWorld {
 public:
  LeaseWorld(std::uint64_t seed, SimulationLog& log);
  void run();

 private:
  using TaskId = std::uint32_t;
  enum class Kind : std::uint8_t {
    kHello,
    kDemand,
    kReturnLease,
    kKillLease,
    kBlocked,
    kUnblocked,
    kRetiring,  // to the node
    kGrant,
    kReclaim,
    kLost,
    kRefused,
    kQuit,  // from the node
    kRun,
    kResult,
    kReturned,
    kPaused,
    kResumed,  // between client and worker
  };
  struct Message {
    Kind kind;
    LeaseId lease = 0;
    std::uint32_t number = 0;  // a demand or a task
    std::uint32_t count = 0;
  };
  using Channel = std::deque<Message>;

  enum class TaskState : std::uint8_t { kQueued, kSent, kEnded, kMoot };
  struct Task {
    ProcessId owner = 0;
    std::uint32_t shape = 0;
    std::uint32_t depth = 0;
    std::uint32_t priority = 0;  // of kPriorities
    TaskState state = TaskState::kQueued;
    LeaseId lease = 0;  // where it was sent
    std::uint32_t attempts = 0;
    std::uint32_t children = 0;
    bool waits = false;  // for its children
  };
  struct ClientLease {
    std::uint32_t demand = 0;
    std::vector<TaskId> sent;
    bool used = false;      // something was sent
    bool paused = false;    // its worker is blocked
    bool draining = false;  // it goes back when what was sent is done
  };
  struct Queue {
    std::deque<TaskId> tasks;
    std::uint32_t announced = 0;  // what the node knows to be wanted
    std::uint32_t owed = 0;       // leases that were asked back and did not go back yet
  };
  struct Direct {
    ProcessId client = 0;
    ProcessId worker = 0;
    Channel to_worker;
    Channel to_client;
  };
  struct Process {
    bool driver = false;
    bool alive = true;
    bool hello = false;               // the node has read it
    bool noticed = false;             // the node knows of its death
    bool half_noticed = false;        // the node has seen the EOF of its socket only
    std::uint32_t stopped_until = 0;  // a step
    std::uint32_t mute_until = 0;     // its socket is not read before this step
    std::uint32_t to_submit = 0;      // drivers: root tasks to come
    WorkerKeyId key = 0;
    Channel up;
    Channel down;
    std::map<std::uint32_t, Queue> queues;
    std::map<LeaseId, ClientLease> leases;
    // As a worker.
    std::deque<TaskId> run_queue;
    LeaseId serving = 0;
    TaskId running = 0;
    std::vector<TaskId> children;
    bool started = false;  // the running task has submitted its children
    bool blocked = false;
    std::uint32_t calls_left = 0;
    ProcessId hosts = 0;   // the home of an actor
    bool waiting = false;  // the actor wants the results of its tasks
  };
  struct Actor {
    ProcessId root = 0;  // 0: detached
    std::uint32_t demand = 0;
    std::uint32_t restarts = 0;
    LeaseId lease = 0;
    bool over = false;
  };
  enum class Act : std::uint8_t { kUp, kDown, kToWorker, kToClient, kRun, kSubmit, kSpawn, kNotice, kDecide, kCreate };
  struct Choice {
    Act act;
    std::uint64_t subject = 0;
  };

  // lease_world.cc: the schedule and the node.
  std::vector<Choice> choices() const;
  void step(const Choice& choice);
  void inject_fault();
  void read_up(ProcessId id);
  void to_table(ProcessId id, const Message& message);
  void carry_out();
  void carry_out(const StartWorker& command);
  void carry_out(const StopWorker& command);
  void carry_out(const GrantLease& command);
  void carry_out(const ReclaimLeases& command);
  void carry_out(const LeaseLost& command);
  void carry_out(const RefuseDemand& command);
  void spawn();
  void notice(ProcessId id);
  bool wake_something();
  bool return_idle_leases();
  void check_promises();
  void check_everything_ended();
  void kill(ProcessId id);

  // lease_world_processes.cc: clients and workers.
  Process& at(ProcessId id) { return processes_.at(id); }
  bool active(const Process& process) const { return process.alive && process.stopped_until <= step_; }
  TaskId submit(ProcessId owner, std::uint32_t depth);
  void end(TaskId task);
  void pump(ProcessId id);
  void send_tasks(ProcessId id);
  void return_drained(ProcessId id);
  void announce(ProcessId id);
  void read_down(ProcessId id);
  void read_direct_to_client(LeaseId lease);
  void read_direct_to_worker(LeaseId lease);
  void choose_draining(ProcessId id);
  void lose_lease(ProcessId id, LeaseId lease);
  void refuse(ProcessId id, std::uint32_t demand);
  void go_on(ProcessId id);
  void block(ProcessId id);
  void finish(ProcessId id);
  bool can_go_on(const Process& process) const;
  bool children_ended(const Process& process) const;

  // lease_world_actors.cc: actors.
  bool is_actor(ProcessId home) const { return actors_.contains(home); }
  std::vector<ProcessId> living_roots() const;
  void create_actor();
  void ask_for_worker(ProcessId home);
  void host(ProcessId home, LeaseId lease, ProcessId worker);
  void lose_worker(ProcessId home);
  void end_actor(ProcessId home);
  void end_actors_of(ProcessId root);
  bool break_actor();
  bool actor_can_go_on(const Process& process) const;
  void go_on_as_actor(ProcessId id);
  bool end_an_actor_with_resources();
  void check_actors() const;
  // One number means one shape, depth and priority.
  static constexpr std::uint32_t kDepths = 16;
  static constexpr std::int32_t kPriorities[] = {-2, 0, 0, 3};  // most are equal
  static std::uint32_t number_of(std::uint32_t shape, std::uint32_t depth, std::uint32_t priority) {
    return (priority * kMostShapes + shape) * kDepths + depth;
  }
  static constexpr std::uint32_t kMostShapes = 16;
  std::uint32_t demand_number(const Task& task) const { return number_of(task.shape, task.depth, task.priority); }
  WorkShape shape_of(std::uint32_t number) const {
    WorkShape shape = shapes_[number / kDepths % kMostShapes].at_depth(number % kDepths);
    shape.priority = kPriorities[number / kDepths / kMostShapes];
    return shape;
  }

  SimulationRandom random_;
  SimulationLog& log_;
  std::uint32_t step_ = 0;
  std::uint32_t faults_left_ = 0;
  std::uint32_t tasks_left_ = 0;  // bounds the number of children
  bool finishing_ = false;
  std::uint32_t failing_starts_ = 0;
  std::vector<WorkShape> shapes_;
  std::uint32_t plain_of_other_key_ = 0;  // the shape that asks for nothing, of key 1
  std::vector<Task> tasks_;
  std::map<ProcessId, Actor> actors_;  // by home
  std::uint32_t actors_to_come_ = 0;
  std::map<ProcessId, Process> processes_;
  std::map<LeaseId, Direct> directs_;
  std::deque<WorkerKeyId> to_spawn_;
  ProcessId next_process_ = 1;
  Moment clock_{0};
  bool undecided_ = false;  // events went in since commands were taken
  AuditedLeaseTable table_;
};

}  // namespace fray::scheduler
