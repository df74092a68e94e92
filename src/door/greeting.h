// Connects to a node, and exchanges the first messages with it.
//
//   FRAY_ASSIGN_OR_RETURN(os::Fd fd, connect_to_node(path, patience));
//   wire::FrameSocket socket(std::move(fd));
//   socket.queue(hello_frame(wire::Role::kObserver));     // what is queued behind it leaves with it
//   FRAY_ASSIGN_OR_RETURN(std::string body, await_welcome(socket, patience));      // of a wire::Welcome
//
// Threading:  any thread; the waits block in poll().
// Ownership:  the caller owns the socket. A node that closes its end while we wait is seen at once.
// Failure:    kUnavailable when nothing listens at the path, when the listener belongs to another user, or when the
//             node goes away; kResourceExhausted without a free descriptor; kTimedOut and kCancelled as Patience says;
//             the node's own reason when it refuses us, most often kVersionMismatch.
#pragma once

#include <chrono>
#include <string>

#include "base/status.h"
#include "door/patience.h"
#include "os/fd.h"
#include "wire/session.h"
#include "wire/socket.h"

namespace fray::door {

// With a node that is there but says nothing.
inline constexpr std::chrono::seconds kHelloPatience{20};

// Waits while the node has no time for further connections.
Result<os::Fd> connect_to_node(const std::string& socket_path, const Patience& patience);

// `process`: the number that a worker was given; others have none.
std::string hello_frame(wire::Role role, ProcessId process = 0);
// The body of the node's answer; see wire/welcome.h.
Result<std::string> await_welcome(wire::FrameSocket& socket, const Patience& patience);

// The next frame. Its body is valid until the next call.
Result<wire::Incoming> next_frame(wire::FrameSocket& socket, const Patience& patience);

// Says that nothing more will come, and waits until the node hangs up; what it still sends is dropped. An embedded node keeps
// the socket of its last client until it has killed its processes and removed its folder.
void take_leave(const os::Fd& socket, const Patience& patience);

// What kept us out of the node at this path, after await_welcome() has said `why`. A node of a release whose frames we do
// not understand just hangs up: then the release that it wrote down beside its socket says more.
Status explain_silence(const std::string& socket_path, Status why);

}  // namespace fray::door
