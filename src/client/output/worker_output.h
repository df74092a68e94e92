// WorkerOutput: takes what the workers of this client print out of the node's messages, and hands it to the program's
// output.
//
// Threading:  under the client's mutex, but for drain() and end(), which wait.
// Ownership:  owns lines that are held back (client/output/line_folder.h); borrows the writer.
// Failure:    without a writer everything is dropped. Where nobody reads the output, drain() gives up after some seconds
//             and end() after half a second.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/output/line_folder.h"
#include "client/output/output_writer.h"
#include "client/session/node_connection.h"

namespace fray::client {

class WorkerOutput {
 public:
  // `writer`: null where the output is not wanted. `fold`: lines that repeat are shown once, with their number.
  WorkerOutput(ClientMutex& mutex, NodeConnection& connection, OutputWriter* writer, bool fold)
      : mutex_(mutex), connection_(connection), writer_(writer), fold_(fold) {}

  void arrived(wire::Log log) FRAY_REQUIRES(client_mutex);
  // `all`: also the lines that are held back.
  void deliver(bool all = false) FRAY_REQUIRES(client_mutex);
  // When a line that is held back is to be delivered.
  std::optional<Clock::time_point> next_due() const FRAY_REQUIRES(client_mutex) { return folder_.next_due(); }
  bool is_held() const FRAY_REQUIRES(client_mutex) { return held_; }
  // Waits a short time for output that workers wrote before their results arrived, and then, as long as somebody reads
  // the program's output, until all of it is written.
  void drain(WaitHooks& hooks);
  // The same for lines that came after that, of workers that were just ending, when the client has stopped reading. The
  // writer's thread, which they have begun again, ends with them.
  void end();

 private:
  void hold() FRAY_REQUIRES(client_mutex);

  ClientMutex& mutex_;
  NodeConnection& connection_;
  OutputWriter* writer_;
  const bool fold_;
  std::vector<wire::Log> logs_ FRAY_GUARDED_BY(client_mutex);
  std::uint64_t logs_seen_ FRAY_GUARDED_BY(client_mutex) = 0;
  LineFolder folder_ FRAY_GUARDED_BY(client_mutex);
  bool held_ FRAY_GUARDED_BY(client_mutex) = false;  // workers wait in `print`
};

}  // namespace fray::client
