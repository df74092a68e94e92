// Help for tests that fill the store of a node over the wire.
//
// Threading:  the test's.
// Ownership:  what is published belongs to the client that publishes.
// Failure:    a gtest failure.
#pragma once

#include <string>

#include <fcntl.h>
#include <sys/mman.h>

#include "node/node_test_client.h"
#include "wire/memory.h"
#include "wire/object.h"
#include "wire/value.h"

namespace fray::node {

// A segment fills most of a small store, so that there is room for one.
constexpr std::uint64_t kSegmentBytes = 8u << 20;
constexpr const char* kSmallStore = R"({"cpus": 1, "store_memory_bytes": 10485760})";

inline os::Fd make_segment(char fill) {
  os::Fd fd(::memfd_create("test-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::string bytes(kSegmentBytes, fill);
  EXPECT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
  return fd;
}

// Why there is no memory for `bytes`; empty when there is.
inline std::string reserve(TestClient& client, std::uint64_t ticket, std::uint64_t bytes) {
  client.send(wire::ControlType::kReserve, ticket, wire::Reserve{bytes});
  auto answer = client.expect<wire::Reserved>(wire::ControlType::kReserved);
  return answer ? answer->error : "no answer";
}

// An object that fills a segment of its own.
inline wire::Complete publish(TestClient& client, const wire::Welcome& welcome, std::uint32_t number) {
  EXPECT_EQ(reserve(client, number, kSegmentBytes), "");
  SegmentId segment{welcome.session.process, number};
  wire::SegmentInfo announced{segment, kSegmentBytes, ""};
  client.send(wire::ControlType::kAnnounceSegment, 0, announced, make_segment('m'));
  wire::Complete complete;
  complete.object = {welcome.session.epoch, welcome.session.process, number};
  complete.holder = welcome.session.process;
  complete.value.encoding = wire::Encoding::kBytes;
  complete.value.kind = wire::ValueKind::kSealed;
  complete.value.object = complete.object;
  complete.value.location = {segment, 0, kSegmentBytes};
  client.send(wire::ControlType::kComplete, 0, complete);
  return complete;
}

}  // namespace fray::node
