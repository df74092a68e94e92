// ControlType: the messages between a client (driver or worker) and the node, and between the node and its fork servers.
//
//   socket.queue(frame(ControlType::kReclaim, 0, Reclaim{3}));     // a whole frame
//
// Each message is a struct that lists its fields (wire/codec.h), in a header of its subject: session.h, welcome.h,
// worker_key.h, demand.h, lease.h, reservation.h, object.h, memory.h, process.h, call_wait.h, actor.h, create_actor.h,
// job.h, runs.h. What a message is about travels in FrameHeader::id; wire/messages.h says what it is, and the rest of each.
//
// Threading:  values.
// Ownership:  a frame is a string. Descriptors travel beside a frame (wire/socket.h).
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
  kReturnLease,
  kKillLease,
  kBlocked,
  kUnblocked,
  kRetiring,
  kRegister,
  kHold,
  kRelease,
  kComplete,
  kWant,
  kAnnounceSegment,
  kOpenSegment,
  kReserve,
  kUnreserve,
  kEvicted,
  kStatusRequest,
  kShutdown,
  kForgetSegment,
  kMemoryYielded,
  kForgetKey,
  kLeaseBroken,
  kHoldOutput,
  kTakeOutput,
  kCallWaits,
  kCallWaitEnded,
  kCancelObject,
  kRunsTold,
  kSetAside,
  kPutBack,
  // client -> node, about actors
  kCreateActor = 40,
  kConstructActor,
  kConnectActor,
  kKillActor,
  kFindActor,
  kListActors,
  kActorReady,
  kActorFailed,
  // client or observer -> node, about jobs
  kSubmitJob = 50,
  kGetJobs,
  kWaitJobs,
  kStopJob,
  kDeleteJob,
  kOpenJobLog,
  kReadJobLog,
  kWelcome = 64,
  kGrant,
  kLease,
  kReclaim,
  kWorkerLost,
  kObjectReady,
  kObjectLost,
  kSegmentOpened,
  kFreeRange,
  kReserved,
  kEvict,
  kLog,
  kDemandRefused,
  kRefused,
  kStatusReply,
  kYieldMemory,
  kBindDevices,
  kProbeWaits,
  kWaitRefused,
  kCancelWanted,
  kTellRuns,
  // node -> client, about actors
  kActorAnswer = 100,
  kActorNames,
  kActorConnected,
  kActorLost,
  kHostActor,
  // node -> client, about jobs
  kJobAnswer = 110,
  kJobLogOpened,
  kJobLogPieces,
  kSpawn = 128,
  kSpawned,
  kExited,
  kServerReady,
  kLoadLoop,
  kLoadActors,
};
constexpr ControlType last_of(ControlType) { return ControlType::kLoadActors; }

// A whole frame, header and body. `fds` says how many descriptors travel with it. The string is empty when the body is
// larger than a message may be (set_length()).
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

// The same of a message without a body.
std::string frame(ControlType type, std::uint64_t id = 0, std::uint8_t fds = 0);

}  // namespace fray::wire
