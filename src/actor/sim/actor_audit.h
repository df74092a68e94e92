// AuditedActorTable: an ActorTable whose answers and commands the simulator checks against records of its own.
//
// Every event goes to the table and into the records. The records say which actors must be dead by now and which actor
// has which name; the table must agree after each event. The commands are checked as well. An actor has one living
// incarnation at a time, incarnations have ascending numbers, and restarts are neither more than allowed nor earlier
// than the back-off permits. A worker hosts one actor. A client that connects is connected to the present incarnation,
// or is told once that the actor is dead. No worker is requested for a dead actor; its worker is told to end, and its
// home is closed once, after the worker has ended.
//
// Threading:  one thread.
// Ownership:  owns the table.
// Failure:    throws SimulationViolation.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actor/actor_table.h"
#include "base/sim/simulation.h"

namespace fray::actor {

class AuditedActorTable {
 public:
  explicit AuditedActorTable(SimulationLog& log) : log_(log) {}

  void client_joined(ProcessId client);
  void client_left(ProcessId client);
  Result<ActorId> create(const ActorSpec& spec);
  Result<ActorId> find(const std::string& name);
  void connect(ProcessId client, ActorId actor);
  void kill(ActorId actor, bool no_restart);
  void unreferenced(ActorId actor);
  void forgotten(ActorId actor);
  void granted(ActorId actor, ProcessId worker);
  void refused(ActorId actor);
  void constructed(ActorId actor, std::uint32_t incarnation, Moment now);
  void constructor_raised(ActorId actor, std::uint32_t incarnation);
  void worker_lost(ActorId actor, ProcessId worker, Moment now);
  void tick(Moment now);
  std::vector<Command> take_commands(Moment now);

  const ActorTable& table() const { return table_; }
  // For the moment when nothing more can happen: checks that no client still waits for a connection.
  void check_at_rest() const;
  static void list_possible(SimulationLog& log);

 private:
  struct Link {
    std::uint32_t connected = 0;  // the incarnation to which the client is connected; 0 while it waits
  };
  struct Book {
    ActorSpec spec;
    bool over = false;       // dead for all clients
    bool must_kill = false;  // its worker must not finish its calls
    bool told = false;       // its worker was told to end
    bool killed = false;     // its worker was killed
    bool closed = false;
    bool forgotten = false;
    bool requested = false;
    bool ready = false;       // its constructor has returned
    bool deliberate = false;  // kill() with a restart was asked for this worker
    ProcessId worker = 0;
    std::uint32_t started = 0;     // number of incarnations
    std::uint32_t quick_ends = 0;  // early deaths in a row
    Moment ready_since{0};
    Moment earliest{0};  // the earliest moment of the next request
    std::map<ProcessId, Link> links;
  };

  Book* book(ActorId actor, std::string_view event);
  Book* running(ActorId actor, std::uint32_t incarnation, std::string_view event);
  void finish(Book& book, bool must_kill);
  void root_left(ProcessId root);
  void lose(Book& book, Moment now);
  void bury(const Book& book);
  void agree() const;
  void settle() const;
  void check(const RequestWorker& command);
  void check(const StartActor& command);
  void check(const EndWorker& command);
  void check(const KillWorker& command);
  void check(const Connect& command);
  void check(const ReportLost& command);
  void check(const ReportDead& command);
  void check(const CloseHome& command);
  void check(const Forget& command);
  Book& known(ActorId actor);

  SimulationLog& log_;
  ActorTable table_;
  Moment now_{0};
  std::map<ActorId, Book> books_;
  std::map<std::string, ActorId> names_;  // the names of actors that are not over
  std::set<ProcessId> clients_;
  std::set<std::pair<ProcessId, ActorId>> strays_;  // clients that asked for an unknown actor
};

}  // namespace fray::actor
