// ActorCarrier: carries out what the ActorTable decides: asks the lease table for workers, sends constructors, connects
// callers, and tells them of lost incarnations. It keeps the constructors of actors for their restarts.
//
// Threading:  the node's loop.
// Ownership:  owns the table, constructors and exceptions of constructors. Roster, leases and objects must outlive it.
// Failure:    messages about actors that are gone are answered (dead: unknown actor) or ignored; a caller that cannot be
//             connected, because the node has no free descriptors, is connected later.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "actor/actor_table.h"
#include "event/loop.h"
#include "model/wait_reason.h"
#include "model/worker_page.h"
#include "node/objects/object_carrier.h"
#include "node/sessions/roster.h"
#include "node/workers/lease_carrier.h"
#include "wire/actor.h"
#include "wire/create_actor.h"
#include "wire/lease.h"
#include "wire/value.h"

namespace fray::node {

class ActorCarrier {
 public:
  // Returns the process whose end also ends the actors that the tree of a driver has created.
  using RootOfDriver = std::function<ProcessId(ProcessId driver)>;

  ActorCarrier(event::Loop& loop, Roster& roster, LeaseCarrier& leases, ObjectCarrier& objects,
               RootOfDriver root_of_driver)
      : loop_(loop), roster_(roster), leases_(leases), objects_(objects), root_of_driver_(std::move(root_of_driver)) {}

  // Messages of clients. A Status that is not ok ends the connection: the message contradicts the protocol.
  Status create(Connection& client, std::uint64_t ticket, wire::CreateActor message);
  Status construct(ProcessId client, wire::ConstructActor message);
  void connect(ProcessId client, ActorId actor);
  void kill(Connection& client, std::uint64_t ticket, const wire::ActorName& message);
  void find(Connection& client, std::uint64_t ticket, const wire::FindActor& message);
  void list(Connection& client, std::uint64_t ticket);
  // Messages of the worker that is, or becomes, the actor.
  Status constructed(ProcessId worker);
  Status constructor_raised(ProcessId worker, wire::ActorFailure failure);

  void client_joined(ProcessId client) { table_.client_joined(client); }
  void client_left(ProcessId client);
  void worker_gone(ProcessId worker, const wire::ExitFacts& facts, const WorkerPage& page);
  void forgotten(const ObjectId& object);

  // The answers of the lease table to the demand of an actor's home.
  void granted(ProcessId home, LeaseId lease, ProcessId worker);
  void refused(ProcessId home, StatusCode code, const std::string& reason);

  bool carry_out();  // true when there was something to do

  // Why an actor is not alive yet; empty when it is.
  WaitReason why_waiting(const actor::ActorView& view) const;
  const actor::ActorTable& table() const { return table_; }

 private:
  // The parts of an actor that the table does not need for its decisions.
  struct Kept {
    ProcessId creator = 0;
    std::string description;
    std::string constructor;
    bool has_constructor = false;
    bool wants_worker = false;  // a worker is to be requested when its constructor has arrived
    wire::Value error;          // what its constructor raised
    LeaseId lease = 0;          // of its present worker
  };
  struct LastCalls {
    std::uint64_t started = 0;
    std::uint64_t ended = 0;
  };
  using CallsOfCallers = std::unordered_map<ProcessId, LastCalls>;

  void carry_out(const actor::RequestWorker& command);
  void carry_out(const actor::StartActor& command);
  void carry_out(const actor::EndWorker& command);
  void carry_out(const actor::KillWorker& command);
  void carry_out(const actor::Connect& command);
  void carry_out(const actor::ReportLost& command);
  void carry_out(const actor::ReportDead& command);
  void carry_out(const actor::CloseHome& command);
  void carry_out(const actor::Forget& command);

  void refuse(Connection& client, const ActorId& actor, const std::string& class_name, const std::string& reason);
  ProcessId root_for(ProcessId creator) const;
  void report(const actor::ReportDead& command);
  void report_the_held(const ActorId& actor);
  void answer_kills();
  void request_worker(const ActorId& actor);
  wire::ActorLost lost_message(const ActorId& actor, ProcessId client) const;
  void add_last_calls(wire::ActorLost& message, ProcessId client) const;
  void watch_clock();
  static actor::Moment now();

  event::Loop& loop_;
  Roster& roster_;
  LeaseCarrier& leases_;
  ObjectCarrier& objects_;
  const RootOfDriver root_of_driver_;
  actor::ActorTable table_;
  std::unordered_map<ActorId, Kept> kept_;
  std::unordered_map<ActorId, CallsOfCallers> last_calls_;  // the calls of incarnations that were lost in this round
  struct Kill {
    ProcessId client = 0;
    std::uint64_t ticket = 0;
    ActorId actor;
    ProcessId worker = 0;  // the worker that the actor had; the kill is answered when that has ended
  };
  std::vector<Kill> kills_;
  // Reports that wait until the worker is gone: only then is it known which calls were started.
  std::vector<actor::ReportDead> held_;
  event::TimerId timer_ = 0;
  actor::Moment timer_due_{0};
};

}  // namespace fray::node
