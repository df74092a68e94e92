// Any bytes into every decoder of control and direct messages: none may crash, read outside or reserve absurd memory.
#include <cstddef>
#include <cstdint>

#include "wire/actor.h"
#include "wire/create_actor.h"
#include "wire/demand.h"
#include "wire/direct.h"
#include "wire/job.h"
#include "wire/lease.h"
#include "wire/memory.h"
#include "wire/object.h"
#include "wire/process.h"
#include "wire/welcome.h"
#include "wire/worker_key.h"

namespace {

template <typename... Messages>
void decode_all(std::string_view body) {
  (void(fray::wire::decode<Messages>(body)), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fray::wire;
  std::string_view body(reinterpret_cast<const char*>(data), size);
  decode_all<Hello, Welcome, DefineKey, Demand, Grant, Lease, BindDevices, Reclaim, WorkerLost, ObjectIds, Complete,
             ObjectReady, ObjectLost, SegmentInfo, SegmentName, FreeRange, Reserve, Reserved, Log, DemandRefused, Text,
             Spawned, Exited>(body);
  decode_all<CreateActor, ConstructActor, ActorName, FindActor, ActorFailure, ActorAnswer, ActorNames, ActorConnected,
             ActorLost, ActorDeath, HostActor>(body);
  decode_all<SubmitJob, JobNames, JobAnswer, OpenJobLog, JobLogOpened, ReadJobLog, JobLogPieces>(body);
  decode_all<Returned>(body);
  ByteReader in(body);
  while (in.ok() && in.left() > 0) {
    ValueView value = decode_value(in);
    if (in.ok()) (void)value.to_value();
  }
  return 0;
}
