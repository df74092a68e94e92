// ActorWorld: a simulation of a node, drivers, tasks and actors, which drives a real ActorTable through one seeded
// schedule.
//
// Clients (drivers, their tasks, and the actors themselves) create actors, compete for names, connect to actors, pass
// handles on, drop handles and kill actors. Messages stay in channels until they are read, in any order between
// processes. Constructors raise or end their process, processes are killed at any moment, the node notices deaths late,
// and reads a worker's last messages after its death. The simulation decides about leases itself: each request for a
// worker is granted or refused some time later (the scheduler has a simulator of its own, which has dedicated leases).
// It also knows at once which handles a process holds.
//
// When nothing more can happen, every actor that is not dead must be alive, and every client connected. The simulation
// then kills all clients and the detached actors, after which no actor, worker or lease may remain.
//
// Threading:  one thread.
// Ownership:  owns everything it simulates.
// Failure:    throws SimulationViolation.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actor/sim/actor_audit.h"
#include "base/sim/simulation.h"

namespace fray::actor {

class ActorWorld {
 public:
  ActorWorld(std::uint64_t seed, SimulationLog& log);
  void run();

 private:
  enum class Kind : std::uint8_t {
    kCreate,
    kFind,
    kConnect,
    kDrop,
    kKill,
    kKillForRestart,  // up to here from clients
    kConstructed,
    kRaised,  // up to here from the workers of actors
    kStart,
    kEnd,
    kGot,  // up to here from the node
  };
  struct Message {
    Kind kind;
    ActorId actor;
    std::uint32_t incarnation = 0;
    std::optional<ActorSpec> spec;
    std::string name;
  };
  enum class Phase : std::uint8_t { kIdle, kConstructing, kServing };
  struct Process {
    bool is_worker = false;
    bool is_driver = false;
    bool alive = true;
    bool noticed = false;  // the node knows of its death
    std::uint32_t stopped_until = 0;
    ProcessId root = 0;
    std::uint32_t to_do = 0;
    std::deque<Message> up;
    std::deque<Message> down;
    std::set<ActorId> handles;
    // For workers of actors.
    ActorId hosts;
    std::uint32_t incarnation = 0;
    Phase phase = Phase::kIdle;
  };
  struct Nature {              // how an actor's code fails
    std::uint32_t raises = 0;  // in percent
    std::uint32_t dies = 0;
  };
  enum class Act : std::uint8_t { kUp, kDown, kDo, kWork, kGrant, kNotice, kTick };
  struct Choice {
    Act act;
    ProcessId process = 0;
  };

  // actor_world.cc: the schedule and the node.
  std::vector<Choice> choices();
  void step(const Choice& choice);
  void inject_fault();
  bool inject(std::uint32_t kind, const std::vector<ProcessId>& clients, const std::vector<ProcessId>& workers);
  void read_up(ProcessId id);
  void to_table(ProcessId id, const Message& message);
  void create(ProcessId id, const Message& message);
  void carry_out();
  void carry_out(const RequestWorker& command);
  void carry_out(const StartActor& command);
  void carry_out(const EndWorker& command);
  void carry_out(const KillWorker& command);
  void carry_out(const CloseHome& command);
  void carry_out(const Forget& command);
  void carry_out(const Connect&) {}
  void carry_out(const ReportLost&) {}
  void carry_out(const ReportDead&) {}
  void grant(ProcessId home);
  ProcessId start_worker(ProcessId home, ActorId actor);
  void notice(ProcessId id);
  void release(ProcessId id, ActorId actor);
  void look_for_handles(ActorId actor);
  bool begin_end();
  void check_nothing_is_left() const;

  // actor_world_processes.cc: clients and actors.
  Process& at(ProcessId id) { return processes_.at(id); }
  bool active(const Process& process) const { return process.alive && process.stopped_until <= step_; }
  bool has_work(const Process& process) const;
  ProcessId add_client(bool driver, ProcessId root);
  void read_down(ProcessId id);
  void act(ProcessId id);
  ActorSpec draw_spec(ProcessId id);
  std::string draw_name();
  void hand_on(ProcessId id, ActorId actor);
  void work(ProcessId id);
  void kill(ProcessId id);

  SimulationRandom random_;
  SimulationLog& log_;
  std::uint32_t step_ = 0;
  Moment now_{0};
  std::uint32_t faults_left_ = 0;
  std::uint32_t actors_left_ = 0;
  bool home_holds_ = true;  // the home holds the actor's object until the actor is dead
  bool ending_ = false;
  std::uint32_t refusals_ = 0;
  std::uint64_t sequence_ = 0;
  ProcessId next_process_ = 1;
  std::map<ProcessId, Process> processes_;
  std::map<ActorId, Nature> natures_;
  std::map<ProcessId, ActorId> requests_;  // actors that wait for a worker, by home
  std::map<ProcessId, ProcessId> leases_;  // workers, by home
  std::map<ActorId, std::set<ProcessId>> holders_;
  std::map<ActorId, ActorSpec> known_;  // actors that the table has not forgotten
  std::set<ActorId> closed_;
  AuditedActorTable table_;
};

}  // namespace fray::actor
