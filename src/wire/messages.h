// The table of all messages between a client and the node, and between the node and its fork servers, with their
// bodies.
//
//   visit_messages([](const auto& message) {
//     message.kType; message.id;                         // its number, and what FrameHeader::id names
//     using Body = typename std::remove_cvref_t<decltype(message)>::Body;
//   });
//
// The fuzz target, the tests and the page docs/formats/messages.md go through this list.
//
// Threading:  pure.
// Ownership:  texts are constants of the program.
// Failure:    none.
#pragma once

#include <string_view>

#include "wire/actor.h"
#include "wire/call_wait.h"
#include "wire/create_actor.h"
#include "wire/demand.h"
#include "wire/job.h"
#include "wire/lease.h"
#include "wire/memory.h"
#include "wire/object.h"
#include "wire/process.h"
#include "wire/reservation.h"
#include "wire/runs.h"
#include "wire/session.h"
#include "wire/welcome.h"
#include "wire/worker_key.h"

namespace fray::wire {

struct NoBody {
  static void visit(auto&, auto&&) {}
};

template <ControlType kNumber, typename Fields = NoBody>
struct Message {
  static constexpr ControlType kType = kNumber;
  using Body = Fields;

  std::string_view way;
  std::string_view id = "";  // empty: nothing
  std::string_view meaning = "";
};

inline constexpr std::string_view kToNode = "client to node";
inline constexpr std::string_view kToClient = "node to client";
inline constexpr std::string_view kForkServer = "between the node and a fork server";

void visit_messages_to_node(auto&& visit) {
  using enum ControlType;
  visit(Message<kHello, Hello>{kToNode, "", "the first of every connection"});
  visit(Message<kDefineKey, DefineKey>{kToNode, "", "key 0 is what the client itself is like"});
  visit(Message<kDemand, Demand>{kToNode, "", "how many more leases of a shape could be used now; replaces the last"});
  visit(Message<kReturnLease>{kToNode, "lease"});
  visit(Message<kKillLease>{kToNode, "lease", "a cancel with force, or a task past its timeout: the worker is killed"});
  visit(Message<kBlocked>{kToNode, "", "from workers, and from drivers that are processes of a job"});
  visit(Message<kUnblocked>{kToNode});
  visit(Message<kRetiring>{kToNode, "", "from a worker that will exit by itself: it is granted to nobody any more"});
  visit(Message<kRegister, ObjectIds>{kToNode, "", "pending or not, the sender holds each of them"});
  visit(Message<kHold, ObjectIds>{kToNode, "", "the sender holds each of them"});
  visit(Message<kRelease, ObjectIds>{kToNode, "", "the sender holds each of them no longer"});
  visit(Message<kComplete, Complete>{kToNode, "", "an object's value is known"});
  visit(Message<kWant, ObjectIds>{kToNode, "", "asks for kObjectReady or kObjectLost of each, when known"});
  visit(Message<kAnnounceSegment, SegmentInfo>{kToNode, "", "with the segment's descriptor"});
  visit(Message<kOpenSegment, SegmentName>{kToNode, "ticket"});
  visit(Message<kReserve, Reserve>{kToNode, "ticket", "asks for new shared memory"});
  visit(Message<kUnreserve, Reserve>{kToNode});
  visit(Message<kEvicted, SegmentName>{kToNode, "", "the answer to kEvict"});
  visit(Message<kStatusRequest>{kToNode, "ticket"});
  visit(Message<kShutdown>{kToNode});
  visit(Message<kForgetSegment, SegmentName>{kToNode, "", "the writer dropped an announced segment"});
  visit(Message<kMemoryYielded>{kToNode, "", "the answer to kYieldMemory"});
  visit(Message<kForgetKey>{kToNode, "worker key", "the client will not name that number again"});
  visit(Message<kLeaseBroken>{kToNode, "lease", "its direct socket has ended: a worker that lives on is killed"});
  visit(Message<kHoldOutput>{kToNode, "", "send no more of what workers print, so that they wait in `print`"});
  visit(Message<kTakeOutput>{kToNode, "", "go on"});
  visit(Message<kCallWaits, CallWaits>{kToNode, "wait", "a call waits, with no limit of time"});
  visit(Message<kCallWaitEnded>{kToNode, "wait"});
  visit(Message<kCancelObject, CancelObject>{kToNode, "", "by a process that has not submitted the object's task"});
  visit(Message<kRunsTold, RunsTold>{kToNode, "", "the answer to kTellRuns"});
  visit(Message<kSetAside, SetAside>{kToNode, "", "resources for what the program runs inside of the reservation"});
  visit(Message<kPutBack, PutBack>{kToNode, "", "the reservation ends, and what runs inside of it"});
  visit(Message<kCreateActor, CreateActor>{kToNode, "ticket, or 0 when no answer is wanted"});
  visit(Message<kConstructActor, ConstructActor>{kToNode});
  visit(Message<kConnectActor, ActorName>{kToNode});
  visit(Message<kKillActor, ActorName>{kToNode, "ticket, or 0 when no answer is wanted"});
  visit(Message<kFindActor, FindActor>{kToNode, "ticket"});
  visit(Message<kListActors>{kToNode, "ticket"});
  visit(Message<kActorReady>{kToNode, "", "from the actor's worker"});
  visit(Message<kActorFailed, ActorFailure>{kToNode, "", "from the actor's worker"});
  visit(Message<kSubmitJob, SubmitJob>{kToNode, "ticket"});
  visit(Message<kGetJobs, JobNames>{kToNode, "ticket"});
  visit(Message<kWaitJobs, JobNames>{kToNode, "ticket"});
  visit(Message<kStopJob, JobNames>{kToNode, "ticket"});
  visit(Message<kDeleteJob, JobNames>{kToNode, "ticket"});
  visit(Message<kOpenJobLog, OpenJobLog>{kToNode, "ticket"});
  visit(Message<kReadJobLog, ReadJobLog>{kToNode, "ticket"});
}

void visit_messages_to_client(auto&& visit) {
  using enum ControlType;
  visit(Message<kWelcome, Welcome>{kToClient, "", "the answer to kHello"});
  visit(Message<kGrant, Grant>{kToClient, "lease", "with a socket to the worker"});
  visit(Message<kLease, Lease>{kToClient, "lease", "to the worker, with the other end of that socket"});
  visit(Message<kReclaim, Reclaim>{kToClient, "", "others wait: leases of a demand are asked back"});
  visit(Message<kWorkerLost, WorkerLost>{kToClient, "lease"});
  visit(Message<kObjectReady, ObjectReady>{kToClient});
  visit(Message<kObjectLost, ObjectLost>{kToClient});
  visit(Message<kSegmentOpened, SegmentInfo>{kToClient, "ticket",
                                             "with the segment's descriptor, unless there is an error"});
  visit(Message<kFreeRange, FreeRange>{kToClient});
  visit(Message<kReserved, Reserved>{kToClient, "ticket"});
  visit(Message<kEvict, SegmentName>{kToClient});
  visit(Message<kLog, Log>{kToClient, "", "lines that a worker has printed"});
  visit(Message<kDemandRefused, DemandRefused>{kToClient, "", "the demand can never be met"});
  visit(Message<kRefused, Text>{kToClient, "", "the connection is refused, and ends"});
  visit(Message<kStatusReply, Text>{kToClient, "ticket", "a JSON document"});
  visit(
      Message<kYieldMemory, YieldMemory>{kToClient, "", "memory or descriptors are short: what is warm is given back"});
  visit(Message<kBindDevices, BindDevices>{kToClient, "", "to a worker, before the lease or the actor that it is for"});
  visit(Message<kProbeWaits>{kToClient, "probe", "says anew which calls wait"});
  visit(Message<kWaitRefused, Text>{kToClient, "wait", "why it can never end"});
  visit(Message<kCancelWanted, CancelObject>{kToClient, "", "another process has cancelled a task of this one"});
  visit(Message<kTellRuns, TellRuns>{kToClient, "", "somebody looks at the dashboard: what ran since then?"});
  visit(Message<kActorAnswer, ActorAnswer>{kToClient, "ticket"});
  visit(Message<kActorNames, ActorNames>{kToClient, "ticket"});
  visit(Message<kActorConnected, ActorConnected>{kToClient, "", "with a socket to the actor"});
  visit(Message<kActorLost, ActorLost>{kToClient});
  visit(Message<kHostActor, HostActor>{kToClient, "", "to the worker that becomes an actor"});
  visit(Message<kJobAnswer, JobAnswer>{kToClient, "ticket"});
  visit(Message<kJobLogOpened, JobLogOpened>{kToClient, "ticket"});
  visit(Message<kJobLogPieces, JobLogPieces>{kToClient, "ticket"});
}

void visit_messages_of_fork_servers(auto&& visit) {
  using enum ControlType;
  visit(Message<kSpawn>{kForkServer, "process",
                        "with five descriptors: control socket, stdout, stderr, worker page, guardian's program"});
  visit(Message<kSpawned, Spawned>{kForkServer, "process"});
  visit(Message<kExited, Exited>{kForkServer, "process"});
  visit(Message<kServerReady>{kForkServer});
  visit(Message<kLoadLoop>{kForkServer, "", "to the server: what event loops need is loaded before it forks again"});
  visit(Message<kLoadActors>{kForkServer, "", "to the server: what actors need is loaded before it forks again"});
}

void visit_messages(auto&& visit) {
  visit_messages_to_node(visit);
  visit_messages_to_client(visit);
  visit_messages_of_fork_servers(visit);
}

}  // namespace fray::wire
