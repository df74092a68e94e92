// LeaseWorld: a simulation of a node, drivers and workers, which drives a real LeaseTable through one seeded schedule.
//
// Processes send messages over FIFO channels: each process has a pair to and from the node, and each lease a pair
// between its client and its worker. At every step the simulation chooses one of the possible events at random: a
// message is read, a task continues, a process starts, a death is noticed. Messages of different channels thus overtake
// each other. Faults are injected in between. When no event is possible any more, each demand that still waits must
// have a reason.
//
// Tasks are small programs that submit some children, may wait for them, and end. Each task must end exactly once for
// its owner. Actors are homes that ask for one dedicated lease each. Their workers submit tasks, wait for them, die and
// end; the home asks for another worker after a death. Reservations come and end at any time; tasks and actors ask for
// parts of them.
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
  static Limits choose_limits(SimulationRandom& random);
  using TaskId = std::uint32_t;
  enum class Kind : std::uint8_t {
    kHello,
    kDemand,
    kReturnLease,
    kKillLease,
    kBlocked,
    kUnblocked,
    kRetiring,  // up to here to the node
    kGrant,
    kReclaim,
    kLost,
    kRefused,
    kQuit,  // up to here from the node
    kRun,
    kResult,
    kReturned,
    kPaused,
    kResumed,  // up to here between client and worker
  };
  struct Message {
    Kind kind;
    LeaseId lease = 0;
    std::uint32_t number = 0;  // of a demand or a task
    std::uint32_t count = 0;
    std::uint32_t leases = 0;  // with a demand: those that the client has
  };
  using Channel = std::deque<Message>;

  enum class TaskState : std::uint8_t { kQueued, kSent, kEnded, kMoot };
  struct Task {
    ProcessId owner = 0;
    std::uint32_t shape = 0;
    std::uint32_t depth = 0;
    std::uint32_t priority = 0;  // an index of kPriorities
    TaskState state = TaskState::kQueued;
    LeaseId lease = 0;  // the lease over which the task was sent
    std::uint32_t attempts = 0;
    std::uint32_t children = 0;
    bool waits = false;  // the task waits for its children
  };
  struct ClientLease {
    std::uint32_t demand = 0;
    std::vector<TaskId> sent;
    bool used = false;      // a task was sent over the lease
    bool paused = false;    // its worker is blocked
    bool draining = false;  // the lease goes back when the tasks that were sent have ended
  };
  struct Queue {
    std::deque<TaskId> tasks;
    std::uint32_t announced = 0;  // the count of the demand that the node knows
    std::uint32_t most = 0;       // leases that were ever asked for, those that it had included
    std::uint32_t owed = 0;       // leases that the node has reclaimed and that did not go back yet
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
    bool hello = false;               // the node has read its Hello
    bool noticed = false;             // the node knows of its death
    bool half_noticed = false;        // the node has seen the EOF of its socket only
    std::uint32_t stopped_until = 0;  // stopped before this step
    std::uint32_t mute_until = 0;     // its socket is not read before this step
    std::uint32_t to_submit = 0;      // root tasks that a driver has yet to submit
    WorkerKeyId key = 0;
    Channel up;
    Channel down;
    std::map<std::uint32_t, Queue> queues;
    std::map<LeaseId, ClientLease> leases;
    // For workers.
    std::deque<TaskId> run_queue;
    LeaseId serving = 0;
    TaskId running = 0;
    std::vector<TaskId> children;
    bool started = false;  // the running task has submitted its children
    bool blocked = false;
    std::uint32_t calls_left = 0;
    ProcessId hosts = 0;   // the home of the actor that the worker hosts
    bool waiting = false;  // the actor waits for the results of its tasks
  };
  struct Actor {
    ProcessId root = 0;  // 0 for a detached actor
    std::uint32_t demand = 0;
    std::uint32_t restarts = 0;
    LeaseId lease = 0;
    bool over = false;
  };
  enum class Act : std::uint8_t {
    kUp,
    kDown,
    kToWorker,
    kToClient,
    kRun,
    kSubmit,
    kSpawn,
    kNotice,
    kDecide,
    kCreate,
    kReserve
  };
  struct Choice {
    Act act;
    std::uint64_t subject = 0;
  };

  // lease_world.cc: the schedule and the node.
  void crowd();
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
  ResourceSet kept_by_reservations_before(const Demand& row, const ResourceSet& available) const;
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
  static std::uint32_t leases_of(const Process& process, std::uint32_t demand);
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

  // lease_world_reservations.cc: reservations.
  void make_reservation();
  void end_reservation(ProcessId home);
  void end_reservations_of(ProcessId root);
  bool end_any_reservation();
  void check_reservations() const;
  static ResourceSet tenths_of(std::string_view name, std::int64_t tenths) {
    ResourceSet set;
    set.set_units(name, tenths * ResourceSet::kUnitsPerOne / 10);
    return set;
  }

  // The number of a demand stands for a shape, a depth and a priority.
  static constexpr std::uint32_t kDepths = 16;
  static constexpr std::int32_t kPriorities[] = {-2, 0, 0, 3};  // most tasks have the same priority
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
  bool crowded_ = false;  // see crowd()
  std::uint32_t failing_starts_ = 0;
  std::vector<WorkShape> shapes_;
  std::uint32_t plain_of_other_key_ = 0;  // the shape that asks for nothing, of key 1
  std::vector<Task> tasks_;
  std::map<ProcessId, Actor> actors_;  // by home
  std::uint32_t actors_to_come_ = 0;
  std::map<ProcessId, ProcessId> reservations_;  // the root of each that has not ended, by home; 0: it is detached
  std::uint32_t reservations_to_come_ = 0;
  std::map<ProcessId, Process> processes_;
  std::map<LeaseId, Direct> directs_;
  std::deque<WorkerKeyId> to_spawn_;
  ProcessId next_process_ = 1;
  Moment clock_{0};
  bool undecided_ = false;  // the table has had events since commands were taken from it
  AuditedLeaseTable table_;
};

}  // namespace fray::scheduler
