// LogRelay: forwards what workers print to their drivers, in whole lines, and keeps the last lines for the report of a
// worker's death.
//
// Threading:  the node's loop.
// Ownership:  owns the reading ends of the workers' pipes.
// Failure:    a line without an end is cut at kLongestLine. While a driver has more than kPauseBacklog bytes unread, or
//             says that it cannot write what it has, no pipe is read: a worker that prints then waits in write(), and
//             nothing is lost.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "event/loop.h"
#include "model/worker_page.h"
#include "node/sessions/connection.h"
#include "node/workers/log_tail.h"

namespace fray::node {

class LogRelay {
 public:
  static constexpr std::size_t kLongestLine = 64u << 10;
  static constexpr std::size_t kPauseBacklog = 4u << 20;

  // The drivers that get what this worker prints.
  using Audience = std::function<std::vector<Connection*>(ProcessId worker)>;

  LogRelay(event::Loop& loop, Audience audience) : loop_(loop), audience_(std::move(audience)) {}
  ~LogRelay();

  // `page` must stay mapped until finish().
  Status attach(ProcessId worker, os::Fd standard_output, os::Fd standard_error, const WorkerPage* page);
  void set_pid(ProcessId worker, std::int32_t pid);
  // Sends a line of the node about this worker to the drivers that get what it prints.
  void note(ProcessId worker, const std::string& line);
  // The worker is dead: reads what is left in its pipes and returns its last lines.
  std::string finish(ProcessId worker);

  // Called after each round: reads again when drivers have caught up.
  void resume();

 private:
  struct Stream {
    os::Fd pipe;
    std::string line;  // the beginning of a line whose end was not read yet
    bool watched = false;
  };
  struct Source {
    std::int32_t pid = 0;
    const WorkerPage* page = nullptr;
    std::array<Stream, 2> streams;
    LogTail tail;
  };

  Status watch(ProcessId worker, std::size_t index);
  void ready(ProcessId worker, std::size_t index);
  // False at the end of the output, or when nothing is there.
  bool read_once(ProcessId worker, Source& source, std::size_t index, bool* ended);
  void forward(ProcessId worker, Source& source, std::size_t index, bool all);
  void stop_watching(Stream& stream);
  bool must_pause(ProcessId worker) const;

  event::Loop& loop_;
  Audience audience_;
  std::unordered_map<ProcessId, std::unique_ptr<Source>> sources_;
  std::vector<std::pair<ProcessId, std::size_t>> paused_;
};

}  // namespace fray::node
