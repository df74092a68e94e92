// ClusterLog: what a job of another cluster prints, read from a program `fray job logs`.
//
//   log->next([](Result<ClusterLog::Lines> lines) { ... });
//
// It reads ahead a little; a reader that is slow lets the program wait.
//
// Threading:  the node's loop. The callback comes from the loop, never from inside next().
// Ownership:  owns the program, which ends with it. The programs must outlive it.
// Failure:    the error of the cluster's client; after it there are no further lines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "event/loop.h"
#include "node/own_programs.h"

namespace fray::node {

class ClusterLog {
 public:
  struct Place {
    std::string id;
    bool follow = false;
    std::uint32_t replica = 0;
    std::uint8_t stream = 1;
    std::uint32_t attempt = 0;  // 0: the newest one
    std::optional<std::uint64_t> tail_lines;
  };
  struct Lines {
    std::string text;  // whole lines of the stream
    bool ended = false;
  };
  using OnLines = std::function<void(Result<Lines> lines)>;

  // `words` and `variables`: those of the command that prints the log as JSON, one line for each line of the log.
  static Result<std::unique_ptr<ClusterLog>> open(event::Loop& loop, OwnPrograms& programs,
                                                  const OwnPrograms::Words& words, const Place& place,
                                                  const OwnPrograms::Variables& variables);
  ~ClusterLog();
  ClusterLog(const ClusterLog&) = delete;
  ClusterLog& operator=(const ClusterLog&) = delete;

  // Calls back with the lines since the last call, once there are some, or with the end. One question at a time.
  void next(OnLines on_lines);

 private:
  static constexpr std::size_t kAhead = 256u << 10;

  ClusterLog(event::Loop& loop, OwnPrograms& programs, const Place& place)
      : loop_(loop), programs_(programs), replica_(place.replica), stream_(place.stream == 2 ? "stderr" : "stdout") {}
  void take(std::string_view bytes);
  void take_line(std::string_view line);
  void end(Result<OwnPrograms::Answer> answer);
  void answer_later();
  void answer();

  event::Loop& loop_;
  OwnPrograms& programs_;
  const std::uint32_t replica_;
  const std::string stream_;
  OwnPrograms::Id program_ = 0;
  std::string rest_;  // the beginning of a line whose end was not read yet
  std::string text_;
  bool ended_ = false;
  Status why_;
  OnLines on_lines_;
  event::TimerId timer_ = 0;
};

}  // namespace fray::node
