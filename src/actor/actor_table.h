// ActorTable: decides when actors start, restart and end, which actor has which name, and which clients are connected
// to it.
//
//   table.client_joined(1);
//   Result<ActorId> actor = table.create(spec);    // RequestWorker{actor, home}
//   table.granted(*actor, 100);                    // StartActor{actor, 100, 1}
//   table.connect(1, *actor);
//   table.constructed(*actor, 1, now);             // Connect{1, actor, 100, 1}
//
//             create                granted                constructed
//   (none) ───────────▶ pending ─────────────▶ starting ─────────────────▶ alive
//                        │   ▲                  │   │                      │   │
//                        │   │ due              │   │      worker lost,    │   │
//                        │   └──── backing off ◀┼───┴──── restarts left ───┘   │
//                        │              │       │                              │
//                        │              │       └───────────┬──────────────────┘
//                  refused, killed,     │       killed, root gone, unreferenced,
//                  root gone,           │       constructor raised
//                  unreferenced         │                   ▼
//                        │              │                ending ──┐ worker lost
//                        └──────────────┴─────────▶ dead ◀────────┘ (also from starting and alive, when no restart
//                                                     │              is left)
//                                                     └─ forgotten ──▶ (none)
//
// To its callers an ending actor is dead: its name is free, and they were told. Only its worker is still there: it was
// killed, or (unreferenced, constructor raised) it finishes the calls that it has.
//
// Rules (docs/concepts/actors.md). An actor that is not detached ends with its root, whichever process created it; one
// without a name also ends when no handle is left outside itself. A constructor that raises ends it at once; a worker
// that dies is replaced max_restarts times, as actor/restart_policy.h says. A client that connects is told Connect or
// ReportDead, in the order of connecting. A client that is connected when a worker is lost is told ReportLost, and is
// connected to the next incarnation without asking again.
//
// The node has to make a process that gets an id from create() or find() a holder of that object in the same step. As
// long as the object has a holder, the table knows why a dead actor has ended.
//
// Threading:  confined to the node's loop (or a test).
// Ownership:  values only; refers to processes by number. Constructors and exceptions are kept by the node until Forget.
// Failure:    a request that cannot be is answered with a Status. Events that contradict the state (a late message of a
//             worker that was replaced, an unknown actor) are ignored and counted in contradictions().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actor/actor_commands.h"
#include "actor/name_table.h"
#include "actor/restart_policy.h"
#include "base/status.h"
#include "model/actor_spec.h"
#include "model/ids.h"

namespace fray::actor {

enum class ActorState : std::uint8_t { kPending, kStarting, kAlive, kBackingOff, kEnding, kDead };
std::string_view to_string(ActorState state);

// One actor, for `fray status`, errors and tests.
struct ActorView {
  ActorId id;
  ActorState state = ActorState::kPending;
  ProcessId home = 0;
  ProcessId root = 0;
  ProcessId creator = 0;
  std::string name_space;
  std::optional<std::string> name;
  std::string class_name;
  bool detached = false;
  ProcessId worker = 0;  // 0: none at present
  std::uint32_t incarnation = 0;
  std::uint32_t restarts = 0;
  std::int32_t max_restarts = 0;
  std::string reason;         // while it is neither alive nor dead: what it waits for
  std::optional<Moment> due;  // while backing off: of the restart
  Death death;                // once it is ending or dead
};

class ActorTable {
 public:
  // Processes that may own actors (as their root) or connect to them: drivers, and workers once they are ready. The home
  // of a detached actor may own actors as well, without having joined.
  void client_joined(ProcessId client);
  // It is connected to nobody any more. Actors whose root it is are killed, unless they are detached.
  void client_left(ProcessId client);

  // The id of the new actor, or, with get_if_exists, of the living one that has the name.
  Result<ActorId> create(ActorSpec spec);
  Result<ActorId> find(std::string_view name_space, std::string_view name);
  Result<ActorId> find(ActorId id);
  void connect(ProcessId client, ActorId actor);
  // With no_restart the actor is dead now. Otherwise its worker is lost, as if it had died by itself.
  void kill(ActorId actor, bool no_restart);
  void unreferenced(ActorId actor);  // no handle is left outside the actor itself
  void forgotten(ActorId actor);     // its object is held by nobody, not even by the actor or its home

  // The lease for `home` was granted; or it can never start, for a reason that is told as it is.
  void granted(ActorId actor, ProcessId worker);
  void refused(ActorId actor, StatusCode code, std::string_view reason);
  // Messages of its worker.
  void constructed(ActorId actor, std::uint32_t incarnation, Moment now);
  void constructor_raised(ActorId actor, std::uint32_t incarnation, std::string_view exception);
  // `how`: how the process ended, with its last output if there was any.
  // `code`: kWorkerDied, or kWorkerOutOfMemory.
  void worker_lost(ActorId actor, ProcessId worker, std::string_view how, Moment now,
                   StatusCode code = StatusCode::kWorkerDied);

  // Restarts that are due are begun. The node calls it at next_due(), if there is one.
  void tick(Moment now);
  std::optional<Moment> next_due() const;

  std::vector<Command> take_commands();

  // Views. Unknown actors and processes are answered with nothing.
  std::optional<ActorView> view(ActorId actor) const;
  const ActorSpec* spec(ActorId actor) const;
  std::optional<ActorId> actor_of_home(ProcessId home) const;
  std::optional<ActorId> actor_of_worker(ProcessId worker) const;
  std::vector<ActorView> views() const;  // in the order of creation, the dead included
  std::vector<NamedActor> named(std::optional<std::string_view> name_space) const { return names_.list(name_space); }
  std::size_t size() const { return actors_.size(); }  // the dead included
  std::uint64_t contradictions() const { return contradictions_; }

 private:
  struct Actor {
    explicit Actor(ActorSpec asked) : spec(std::move(asked)), policy(spec.max_restarts) {}

    ActorSpec spec;
    std::uint64_t order = 0;  // of creation
    ActorState state = ActorState::kPending;
    ProcessId worker = 0;
    std::uint32_t incarnation = 0;
    RestartPolicy policy;
    Moment due{0};            // while backing off
    bool kill_asked = false;  // of the present worker
    bool unheld = false;      // nobody holds its object: it goes once it is dead
    std::string last_exit;    // of the incarnation before
    Death death;
    std::vector<ProcessId> clients;  // connected, or to be connected, in the order of asking
  };

  void contradict() { ++contradictions_; }
  // nullptr (and counted) when there is none.
  Actor* entry(ActorId actor);
  // Starting or alive, and of this incarnation; nullptr (and counted) otherwise.
  Actor* running(ActorId actor, std::uint32_t incarnation);
  Status check(const ActorSpec& spec) const;
  Status taken(const Actor& holder) const;
  void pend(Actor& actor);
  // `kill`: its worker at once. The actor may be gone from the table afterwards.
  void end(Actor& actor, Death death, bool kill);
  void kill_worker(Actor& actor);
  void bury(Actor& actor);
  void remove(ActorId actor);
  static std::string reason(const Actor& actor);
  static ActorView view_of(const Actor& actor);

  std::unordered_map<ActorId, Actor> actors_;
  NameTable names_;
  std::map<ProcessId, std::set<ActorId>> clients_;  // joined; with the actors they want or are connected to
  std::map<ProcessId, std::set<ActorId>> roots_;    // actors that end with this process
  std::unordered_map<ProcessId, ActorId> homes_;
  std::unordered_map<ProcessId, ActorId> workers_;
  std::set<std::pair<Moment, ActorId>> due_;
  std::vector<Command> commands_;
  std::uint64_t created_ = 0;
  std::uint64_t contradictions_ = 0;
};

}  // namespace fray::actor
