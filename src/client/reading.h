// Reading: reads a client's sockets and acts on what arrives: it hands each frame to the part of the client that it is
// for, and tells those that wait for an object when the object became ready. Which thread reads, and when, is decided
// by the WaitKernel, whose `Sources` this is.
//
// Threading:  under the client's mutex.
// Ownership:  holds a count of each object that became ready until settle() has told those that wait; borrows all parts.
// Failure:    a frame that breaks the format, or the end of the socket, is the end of the node: what is unfinished
//             fails, and every wait ends.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>

#include "client/objects/node_memory.h"
#include "client/objects/object_table.h"
#include "client/output/worker_output.h"
#include "client/session/node_connection.h"
#include "client/tasks/actor_table.h"
#include "client/tasks/task_table.h"
#include "client/tasks/timeline.h"
#include "client/threads/worker_seat.h"
#include "client/waits/call_waits.h"
#include "client/waits/side_waits.h"
#include "wire/runs.h"

namespace fray::wire {
struct ActorConnected;
struct ActorLost;
struct BindDevices;
struct CancelObject;
struct DemandRefused;
struct FreeRange;
struct Grant;
struct HostActor;
struct Lease;
struct Log;
struct ObjectLost;
struct ObjectReady;
struct Reclaim;
struct SegmentInfo;
struct SegmentName;
struct Text;
struct WorkerLost;
struct YieldMemory;
}  // namespace fray::wire

namespace fray::client {

class Reading {
 public:
  struct Parts {
    NodeConnection& connection;
    ReadingKernel& kernel;
    NodeMemory& node_memory;
    ObjectTable& objects;
    TaskLedger& ledger;
    TaskTable& tasks;
    ActorTable& actors;
    WorkerSeat& seat;
    SideWaits& side_waits;
    CallWaits& call_waits;
    WorkerOutput& output;
    const Timeline& timeline;
  };
  explicit Reading(const Parts& parts)
      : connection_(parts.connection),
        link_(parts.connection.link()),
        kernel_(parts.kernel),
        node_memory_(parts.node_memory),
        objects_(parts.objects),
        ledger_(parts.ledger),
        tasks_(parts.tasks),
        actors_(parts.actors),
        seat_(parts.seat),
        side_waits_(parts.side_waits),
        call_waits_(parts.call_waits),
        output_(parts.output),
        timeline_(parts.timeline) {}

  // ---- What became ready ----
  void became_ready(Object* object) FRAY_REQUIRES(client_mutex);
  // Tells those that wait of all objects that became ready, and of those that became ready by that, until there are none.
  void settle() FRAY_REQUIRES(client_mutex);
  // Fails what is unfinished and ends every wait.
  void end(Status why) FRAY_REQUIRES(client_mutex);
  // Tells the node, before the client leaves, what ran since the node asked last, if somebody looks at its dashboard.
  void tell_last_runs() FRAY_REQUIRES(client_mutex);

  // ---- Sources of the kernel ----
  bool is_open() const { return connection_.is_open(); }
  bool is_quiet() const FRAY_REQUIRES(client_mutex) { return ledger_.is_quiet() && !link_.has_output(); }
  bool has_unsent() const FRAY_REQUIRES(client_mutex) {
    return link_.has_output() || !ledger_.unflushed().empty() || node_memory_.has_returned();
  }
  void flush() FRAY_REQUIRES(client_mutex) {
    node_memory_.return_memory();
    ledger_.flush();
  }
  void flush_some() FRAY_REQUIRES(client_mutex) {
    node_memory_.return_memory();
    ledger_.flush_some();
  }
  void read_all() FRAY_REQUIRES(client_mutex);
  void read_workers() FRAY_REQUIRES(client_mutex);
  void watch(std::vector<pollfd>& set) FRAY_REQUIRES(client_mutex);
  std::uint64_t watch_version() const FRAY_REQUIRES(client_mutex) { return ledger_.sockets().version(); }
  void watch_busy(std::vector<pollfd>& set) FRAY_REQUIRES(client_mutex);
  void watch_node(std::vector<pollfd>& set) FRAY_REQUIRES(client_mutex);
  void watch_unsent(std::vector<pollfd>& set) FRAY_REQUIRES(client_mutex);
  void watch_duty(std::vector<pollfd>& set) FRAY_REQUIRES(client_mutex);
  void deliver() FRAY_REQUIRES(client_mutex) { output_.deliver(); }
  void serve(Clock::time_point now) FRAY_REQUIRES(client_mutex);
  std::optional<Clock::time_point> next_due() const FRAY_REQUIRES(client_mutex);
  std::size_t awaited_by_loops() const FRAY_REQUIRES(client_mutex) { return call_waits_.awaited_by_loops(); }
  bool has_duty() const FRAY_REQUIRES(client_mutex) { return seat_.is_taken(); }
  DutyPlan look_at_duty() FRAY_REQUIRES(client_mutex) { return seat_.look(); }

 private:
  void node_lost(std::string why) FRAY_REQUIRES(client_mutex) { end({StatusCode::kUnavailable, std::move(why)}); }
  void read_lease(Lease* lease) FRAY_REQUIRES(client_mutex);
  void watch_unsent_tasks(std::vector<pollfd>& set) FRAY_REQUIRES(client_mutex);
  void handle(wire::Incoming& frame) FRAY_REQUIRES(client_mutex);
  // Reads the body as this message, and acts on it.
  template <typename Message>
  void take(wire::Incoming& frame) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::Grant& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::Lease& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::BindDevices& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::Reclaim& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::WorkerLost& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::DemandRefused& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::CancelObject& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::ObjectReady& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::ObjectLost& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::SegmentInfo& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::FreeRange& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::SegmentName& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::TellRuns& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::Text& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::YieldMemory& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::Log& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::ActorConnected& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::ActorLost& message) FRAY_REQUIRES(client_mutex);
  void on(wire::Incoming& frame, wire::HostActor& message) FRAY_REQUIRES(client_mutex);
  // kProbeWaits: the node asks whether the waits that it was told of go on.
  void probed(const wire::Incoming& frame) FRAY_REQUIRES(client_mutex);
  void tell_runs(const wire::TellRuns& question) FRAY_REQUIRES(client_mutex);
  void object_arrived(ObjectId id, wire::Value value) FRAY_REQUIRES(client_mutex);

  NodeConnection& connection_;
  NodeLink& link_ FRAY_GUARDED_BY(client_mutex);
  ReadingKernel& kernel_;
  NodeMemory& node_memory_;
  ObjectTable& objects_ FRAY_GUARDED_BY(client_mutex);
  TaskLedger& ledger_ FRAY_GUARDED_BY(client_mutex);
  TaskTable& tasks_ FRAY_GUARDED_BY(client_mutex);
  ActorTable& actors_ FRAY_GUARDED_BY(client_mutex);
  WorkerSeat& seat_ FRAY_GUARDED_BY(client_mutex);
  SideWaits& side_waits_ FRAY_GUARDED_BY(client_mutex);
  CallWaits& call_waits_ FRAY_GUARDED_BY(client_mutex);
  WorkerOutput& output_ FRAY_GUARDED_BY(client_mutex);
  const Timeline& timeline_ FRAY_GUARDED_BY(client_mutex);
  std::vector<Object*> newly_ready_ FRAY_GUARDED_BY(client_mutex);  // counted
  // The question that the node would ask next, and when it asked last.
  wire::TellRuns next_question_ FRAY_GUARDED_BY(client_mutex);
  std::optional<Clock::time_point> last_asked_ FRAY_GUARDED_BY(client_mutex);
};

}  // namespace fray::client
