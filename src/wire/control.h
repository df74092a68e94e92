// Messages between a client (driver or worker) and the node, and between the node and its fork servers.
//
// Each message is a struct with its type number, encode() and decode(). `frame()` makes a whole frame of it. A field that
// names the frame's subject travels in FrameHeader::id and is listed here as "id:".
//
// Threading:  values.
// Ownership:  messages own their strings. Descriptors travel beside a frame (wire/socket.h), in the order given here.
// Failure:    decode() returns kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/device_set.h"
#include "model/ids.h"
#include "model/resource_set.h"
#include "model/work_shape.h"
#include "wire/bytes.h"
#include "wire/frame.h"
#include "wire/value.h"

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
  kDeadlock,
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

enum class Role : std::uint8_t { kDriver = 0, kWorker = 1, kObserver = 2 };

void encode(ByteWriter& out, const ResourceSet& resources);
ResourceSet decode_resource_set(ByteReader& in);
void encode(ByteWriter& out, const WorkShape& shape);
WorkShape decode_work_shape(ByteReader& in);

// First message of every connection.
struct Hello {
  static constexpr ControlType kType = ControlType::kHello;
  Role role = Role::kDriver;
  std::int32_t pid = 0;
  ProcessId process = 0;  // workers: the number given at the spawn; others: 0
  std::string release;    // "0.1.0"; client and node must agree
  void encode(ByteWriter& out) const;
  static Result<Hello> decode(std::string_view body);
};

struct Welcome {
  static constexpr ControlType kType = ControlType::kWelcome;
  std::uint32_t epoch = 0;
  ProcessId process = 0;
  std::uint32_t max_workers = 0;
  std::uint64_t store_limit_bytes = 0;
  ResourceSet total;
  std::string release;
  std::string session_folder;
  bool in_job = false;  // the client is a process of a job, and says when it waits (kBlocked, kUnblocked)
  void encode(ByteWriter& out) const;
  static Result<Welcome> decode(std::string_view body);
};

// What a worker process must be like. Equal keys share a fork server.
struct WorkerKey {
  std::vector<std::string> command;      // interpreter and its flags; the fork server's entry is appended by the node
  std::vector<std::string> module_path;  // sys.path
  std::string folder;                    // cwd
  std::vector<std::pair<std::string, std::string>> environment;  // whole; values are never logged
  std::string runtime_env;  // what else it is to find, as JSON (model/runtime_env_spec.h); empty: nothing

  friend bool operator==(const WorkerKey&, const WorkerKey&) = default;
  friend auto operator<=>(const WorkerKey&, const WorkerKey&) = default;
};

// id: the client's own number of this key, used in its demands. Key 0 is what the client itself is like.
struct DefineKey {
  static constexpr ControlType kType = ControlType::kDefineKey;
  std::uint32_t key = 0;
  std::uint32_t prestart = 0;  // how many workers to start at once, before any demand
  WorkerKey description;
  void encode(ByteWriter& out) const;
  static Result<DefineKey> decode(std::string_view body);
};

// How many *more* leases the client could use now, for one shape. Absolute; replaces the last one of
// the same number. A grant lowers it by one.
struct Demand {
  static constexpr ControlType kType = ControlType::kDemand;
  std::uint32_t demand = 0;  // the client's own number
  std::uint32_t count = 0;
  WorkShape shape;
  void encode(ByteWriter& out) const;
  static Result<Demand> decode(std::string_view body);
};

struct Grant {  // id: lease
  static constexpr ControlType kType = ControlType::kGrant;
  std::uint32_t demand = 0;
  ProcessId worker = 0;
  std::int32_t pid = 0;
  void encode(ByteWriter& out) const;
  static Result<Grant> decode(std::string_view body);
};

struct Lease {  // id: lease
  static constexpr ControlType kType = ControlType::kLease;
  ProcessId client = 0;
  double cpus = 0;  // what the lease holds
  void encode(ByteWriter& out) const;
  static Result<Lease> decode(std::string_view body);
};

// The worker's devices for the rest of its life, and what its environment is to say about them.
struct BindDevices {
  static constexpr ControlType kType = ControlType::kBindDevices;
  DeviceSet devices;
  std::vector<std::pair<std::string, std::string>> environment;
  void encode(ByteWriter& out) const;
  static Result<BindDevices> decode(std::string_view body);
};

// Others wait: give back up to `count` leases, idle ones at once, busy ones when what was sent to them is done.
struct Reclaim {
  static constexpr ControlType kType = ControlType::kReclaim;
  std::uint32_t count = 0;
  std::uint32_t demand = 0;  // those granted for this demand
  void encode(ByteWriter& out) const;
  static Result<Reclaim> decode(std::string_view body);
};

// How a process ended, as far as its parent can know.
struct ExitFacts {
  std::int32_t pid = 0;
  std::int32_t exit_code = 0;  // when signal is 0
  std::int32_t signal = 0;
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t last_task = 0;  // number of the task it started last; those sent after it never started
  std::string task;             // name of the task it ran, empty when idle
  std::string log_tail;         // last lines of its output
  std::string out_of_memory;    // by whom it was killed for its memory, and why; else empty
  std::string why_killed;       // by the node, for another reason; else empty
};

struct WorkerLost {  // id: lease
  static constexpr ControlType kType = ControlType::kWorkerLost;
  bool expected = false;  // it retired or was killed on request
  ExitFacts facts;
  void encode(ByteWriter& out) const;
  static Result<WorkerLost> decode(std::string_view body);
};

struct ObjectIds {  // kRegister, kHold, kRelease, kWant
  std::vector<ObjectId> ids;
  void encode(ByteWriter& out) const;
  static Result<ObjectIds> decode(std::string_view body);
};

// The object's value is known. Sent by whoever made it: the worker (large results, results with refs inside) or the
// owner (its registered objects). Registers the object with `holder` as its holder if it was not known.
struct Complete {
  static constexpr ControlType kType = ControlType::kComplete;
  ObjectId object;
  ProcessId holder = 0;
  Value value;
  void encode(ByteWriter& out) const;
  static Result<Complete> decode(std::string_view body);
};

struct ObjectReady {
  static constexpr ControlType kType = ControlType::kObjectReady;
  ObjectId object;
  Value value;
  void encode(ByteWriter& out) const;
  static Result<ObjectReady> decode(std::string_view body);
};

struct ObjectLost {
  static constexpr ControlType kType = ControlType::kObjectLost;
  ObjectId object;
  StatusCode code = StatusCode::kObjectLost;
  std::string message;
  void encode(ByteWriter& out) const;
  static Result<ObjectLost> decode(std::string_view body);
};

struct SegmentInfo {  // kAnnounceSegment (client -> node), kSegmentOpened (node -> client)
  SegmentId segment;
  std::uint64_t size = 0;
  std::string error;  // kSegmentOpened: why there is no descriptor; else empty
  void encode(ByteWriter& out) const;
  static Result<SegmentInfo> decode(std::string_view body);
};

struct SegmentName {  // kOpenSegment, kEvict, kEvicted, kForgetSegment
  SegmentId segment;
  bool ok = true;  // kEvicted: the writer has no map and no view of it any more
  void encode(ByteWriter& out) const;
  static Result<SegmentName> decode(std::string_view body);
};

struct FreeRange {
  static constexpr ControlType kType = ControlType::kFreeRange;
  Location location;
  bool reuse = true;  // false: somebody may still look at it, so it must not be written again
  void encode(ByteWriter& out) const;
  static Result<FreeRange> decode(std::string_view body);
};

struct Reserve {  // kReserve, kUnreserve; bytes of new (cold) shared memory
  std::uint64_t bytes = 0;
  void encode(ByteWriter& out) const;
  static Result<Reserve> decode(std::string_view body);
};

struct Reserved {
  static constexpr ControlType kType = ControlType::kReserved;
  std::uint64_t bytes = 0;
  std::string error;  // empty: granted; else the store is full, and who holds it
  void encode(ByteWriter& out) const;
  static Result<Reserved> decode(std::string_view body);
};

struct YieldMemory {
  static constexpr ControlType kType = ControlType::kYieldMemory;
  bool announce = true;  // memory is short: announce what is yours alone, so that it can be spilled
  void encode(ByteWriter& out) const;
  static Result<YieldMemory> decode(std::string_view body);
};

struct Log {
  static constexpr ControlType kType = ControlType::kLog;
  std::int32_t pid = 0;
  std::uint8_t stream = 1;  // 1 stdout, 2 stderr
  std::string task;
  std::string text;  // whole lines
  void encode(ByteWriter& out) const;
  static Result<Log> decode(std::string_view body);
};

// The demand can never be met: its queued tasks fail with `code` and `reason`.
struct Deadlock {
  static constexpr ControlType kType = ControlType::kDeadlock;
  std::uint32_t demand = 0;
  StatusCode code = StatusCode::kDeadlock;  // kUnavailable: its workers cannot be started
  std::string reason;
  void encode(ByteWriter& out) const;
  static Result<Deadlock> decode(std::string_view body);
};

struct Text {                                  // kRefused: why; kStatusReply: a JSON document
  StatusCode code = StatusCode::kUnavailable;  // kRefused only
  std::string text;
  void encode(ByteWriter& out) const;
  static Result<Text> decode(std::string_view body);
};

struct Spawned {  // id: process
  static constexpr ControlType kType = ControlType::kSpawned;
  std::int32_t pid = 0;
  std::string error;  // empty when the fork succeeded
  void encode(ByteWriter& out) const;
  static Result<Spawned> decode(std::string_view body);
};

struct Exited {  // id: process
  static constexpr ControlType kType = ControlType::kExited;
  std::int32_t pid = 0;
  std::int32_t wait_status = 0;  // as from waitpid
  std::uint64_t peak_memory_bytes = 0;
  void encode(ByteWriter& out) const;
  static Result<Exited> decode(std::string_view body);
};

// A whole frame: header and body. `fds` says how many descriptors will travel with it. Empty: see set_length().
template <typename Message>
std::string frame(ControlType type, std::uint64_t id, const Message& message, std::uint8_t fds = 0) {
  FrameHeader header;
  header.type = static_cast<std::uint8_t>(type);
  header.fds = fds;
  header.id = id;
  std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
  ByteWriter writer(out);
  message.encode(writer);
  set_length(out, 0);
  return out;
}

std::string frame(ControlType type, std::uint64_t id = 0);

}  // namespace fray::wire
