// ControlType: the messages between a client (driver or worker) and the node, and between the node and its fork servers.
//
//   socket.queue(frame(ControlType::kReclaim, 0, Reclaim{3}));     // a whole frame
//
// Each message is a struct that lists its fields (wire/codec.h), in a header of its subject: session.h, welcome.h,
// worker_key.h, demand.h, lease.h, object.h, memory.h, process.h, call_wait.h, actor.h, create_actor.h, job.h. What a
// message is about travels in FrameHeader::id and is listed there and here as "id:".
//
// Threading:  values.
// Ownership:  a frame is a string. Descriptors travel beside a frame (wire/socket.h), in the order given here.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>

#include "wire/codec.h"
#include "wire/frame.h"

namespace fray::wire {

enum class ControlType : std::uint8_t {
  // client -> node
  kHello = 1,
  kDefineKey,
  kDemand,
  kReturnLease,  // id: lease; no body
  kKillLease,    // id: lease; no body. Kills the worker (cancel with force, a task past its timeout)
  kBlocked,      // no body. From workers, and from drivers that are processes of a job
  kUnblocked,    // no body
  kRetiring,     // worker only; no body. It will exit by itself; grant it to nobody
  kRegister,     // ObjectIds: pending or not, the sender holds each of them
  kHold,         // ObjectIds: the sender holds each of them
  kRelease,      // ObjectIds: the sender holds each of them no longer
  kComplete,
  kWant,             // ObjectIds: send ObjectReady or ObjectLost for each, when known
  kAnnounceSegment,  // with one descriptor
  kOpenSegment,
  kReserve,
  kUnreserve,
  kEvicted,
  kStatusRequest,  // no body
  kShutdown,       // no body
  kForgetSegment,  // SegmentName: the writer dropped an announced segment
  kMemoryYielded,  // no body: the answer to kYieldMemory
  kForgetKey,      // id: the client's number of a worker key, which it will not name again; no body
  kLeaseBroken,    // id: lease; no body. Its direct socket has ended: a worker that lives on is killed
  kHoldOutput,     // no body: send no more of what workers print, so that they wait in `print`
  kTakeOutput,     // no body: go on
  kCallWaits,      // id: the process's number of the wait (wire/call_wait.h)
  kCallWaitEnded,  // id: the same; no body
  // client -> node, about actors (wire/actor.h)
  kCreateActor = 40,  // id: ticket of the answer; 0: none wanted
  kConstructActor,
  kConnectActor,  // ActorName
  kKillActor,     // id: ticket; 0: no answer wanted
  kFindActor,     // id: ticket
  kListActors,    // id: ticket; no body
  kActorReady,    // from the actor's worker; no body
  kActorFailed,   // from the actor's worker: ActorFailure
  // client or observer -> node, about jobs (wire/job.h); id: ticket of the answer
  kSubmitJob = 50,
  kGetJobs,    // JobNames
  kWaitJobs,   // JobNames
  kStopJob,    // JobNames
  kDeleteJob,  // JobNames
  kOpenJobLog,
  kReadJobLog,
  // node -> client
  kWelcome = 64,
  kGrant,  // with one descriptor
  kLease,  // with one descriptor; to a worker
  kReclaim,
  kWorkerLost,
  kObjectReady,
  kObjectLost,
  kSegmentOpened,  // with one descriptor when ok
  kFreeRange,
  kReserved,
  kEvict,
  kLog,
  kDemandRefused,
  kRefused,  // the connection is refused: a reason, then EOF
  kStatusReply,
  kYieldMemory,  // memory or descriptors are short; give back what is warm, then say so
  kBindDevices,  // to a worker, before the lease or the actor that it is for
  kProbeWaits,   // id: number of the probe; no body. Say anew which calls wait
  kWaitRefused,  // id: the process's number of the wait; Text: why it can never end
  // node -> client, about actors
  kActorAnswer = 100,  // id: ticket
  kActorNames,         // id: ticket
  kActorConnected,     // with one descriptor
  kActorLost,
  kHostActor,  // to the worker that becomes an actor
  // node -> client, about jobs; id: ticket
  kJobAnswer = 110,
  kJobLogOpened,
  kJobLogPieces,
  // node <-> fork server
  kSpawn = 128,  // with four descriptors: control socket, stdout, stderr, worker page. id: process
  kSpawned,      // id: process
  kExited,       // id: process
  kServerReady,  // no body
  kLoadLoop,     // to the server; no body. What event loops need is loaded before further workers are forked
};
constexpr ControlType last_of(ControlType) { return ControlType::kLoadLoop; }

// A whole frame: header and body. `fds` says how many descriptors will travel with it. Empty: see set_length().
template <typename Message>
std::string frame(ControlType type, std::uint64_t id, const Message& message, std::uint8_t fds = 0) {
  FrameHeader header;
  header.type = static_cast<std::uint8_t>(type);
  header.fds = fds;
  header.id = id;
  std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
  ByteWriter writer(out);
  encode(writer, message);
  set_length(out, 0);
  return out;
}

std::string frame(ControlType type, std::uint64_t id = 0);

}  // namespace fray::wire
