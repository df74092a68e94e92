// AuditedActorTable: an ActorTable whose answers and commands are checked against bookkeeping of our own, for the
// simulator.
//
// Every event goes into the books and to the table. The books say which actors must be over by now and which name
// belongs to whom; the table has to agree after each event. Each command is checked: one living incarnation an actor,
// ascending, never more restarts than allowed nor sooner than the back-off has it; one actor a worker; who connects is
// connected to the present incarnation or told the death, once; nothing is asked for a dead actor, its worker is told to
// end, its home is closed once, when the worker is gone.
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
  void disconnect(ProcessId client, ActorId actor);
  void kill(ActorId actor, bool no_restart);
  void unreferenced(ActorId actor);
  void forgotten(ActorId actor);
  void granted(ActorId actor, ProcessId worker);
  void refused(ActorId actor);
  void constructed(ActorId actor, std::uint32_t incarnation, Moment now);
  void constructor_raised(ActorId actor, std::uint32_t incarnation);
  void exits(ActorId actor, std::uint32_t incarnation);
  void worker_lost(ActorId actor, ProcessId worker, Moment now);
  void tick(Moment now);
  std::vector<Command> take_commands(Moment now);

  const ActorTable& table() const { return table_; }
  // At rest: nobody who connects waits for nothing.
  void check_at_rest() const;
  static void list_possible(SimulationLog& log);

 private:
  struct Link {
    std::uint32_t connected = 0;  // to this incarnation; 0: waits
  };
  struct Book {
    ActorSpec spec;
    bool over = false;       // dead to everybody
    bool must_kill = false;  // its worker may not finish
    bool told = false;       // its worker was told to end
    bool killed = false;     // its worker was killed
    bool closed = false;
    bool forgotten = false;
    bool requested = false;
    bool ready = false;       // constructed
    bool deliberate = false;  // kill() with a restart was asked for this worker
    ProcessId worker = 0;
    std::uint32_t started = 0;     // incarnations
    std::uint32_t quick_ends = 0;  // in a row
    Moment ready_since{0};
    Moment earliest{0};  // of the next request
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
  std::map<std::string, ActorId> names_;  // of actors that are not over
  std::set<ProcessId> clients_;
  std::set<std::pair<ProcessId, ActorId>> strays_;  // asked for an actor that is not known
};

}  // namespace fray::actor
