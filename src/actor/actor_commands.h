// Commands of the ActorTable: what the node has to do. Values, compared as such in tests.
//
// Threading:  values.
// Ownership:  they own their strings; processes and actors are named by number.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/status.h"
#include "model/ids.h"

namespace fray::actor {

enum class DeathCause : std::uint8_t {
  kNone,               // it is not dead
  kKilled,             // kill()
  kUnreferenced,       // no handle was left
  kRootGone,           // the program it belonged to has ended
  kConstructorRaised,  // the exception is kept by the node, with the constructor
  kWorkerDied,         // and no restart was left
  kCannotStart,        // no worker could be started for it, or there is nothing to make it of
  kUnknown,            // no such actor here: forgotten, or never was
};

struct Death {
  DeathCause cause = DeathCause::kNone;
  StatusCode code = StatusCode::kOk;
  std::string text;  // one sentence; of kWorkerDied with how the process ended and its last output
  friend bool operator==(const Death&, const Death&) = default;
};

struct RequestWorker {  // demand one dedicated lease in the name of `home`; answered by granted() or refused()
  ActorId actor;
  ProcessId home = 0;
  friend bool operator==(const RequestWorker&, const RequestWorker&) = default;
};
struct
    StartActor {  // send the constructor to this worker; answered by constructed(), constructor_raised(), worker_lost()
  ActorId actor;
  ProcessId worker = 0;
  std::uint32_t incarnation = 0;
  friend bool operator==(const StartActor&, const StartActor&) = default;
};
struct EndWorker {  // let it finish what it has and end; kill it if that takes too long; answered by worker_lost()
  ActorId actor;
  ProcessId worker = 0;
  friend bool operator==(const EndWorker&, const EndWorker&) = default;
};
struct KillWorker {  // answered by worker_lost()
  ActorId actor;
  ProcessId worker = 0;
  friend bool operator==(const KillWorker&, const KillWorker&) = default;
};
struct Connect {  // make a direct socket between them
  ProcessId client = 0;
  ActorId actor;
  ProcessId worker = 0;
  std::uint32_t incarnation = 0;
  friend bool operator==(const Connect&, const Connect&) = default;
};
struct ReportLost {  // this incarnation is gone and there will be another: Connect or ReportDead follows
  ProcessId client = 0;
  ActorId actor;
  std::uint32_t incarnation = 0;
  StatusCode code = StatusCode::kWorkerDied;
  friend bool operator==(const ReportLost&, const ReportLost&) = default;
};
struct ReportDead {  // it answers nobody any more
  ProcessId client = 0;
  ActorId actor;
  Death death;
  friend bool operator==(const ReportDead&, const ReportDead&) = default;
};
struct CloseHome {  // the actor is dead and its worker gone: `home` leaves the tables; its demand and its holds vanish
  ActorId actor;
  ProcessId home = 0;
  friend bool operator==(const CloseHome&, const CloseHome&) = default;
};
struct Forget {  // drop what is kept for the actor: nobody can ask for it any more
  ActorId actor;
  friend bool operator==(const Forget&, const Forget&) = default;
};
using Command =
    std::variant<RequestWorker, StartActor, EndWorker, KillWorker, Connect, ReportLost, ReportDead, CloseHome, Forget>;

}  // namespace fray::actor
