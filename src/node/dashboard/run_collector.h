// RunCollector: asks clients which tasks they had run, while somebody looks at the dashboard, and gathers the runs on a
// RunBoard.
//
// Each client has one open question at most. A client without new runs is asked less often; a worker that has begun no task
// since it was asked is not asked, because only its tasks submit further ones. A client that closes while somebody looks
// tells its last runs without being asked.
//
// Threading:  the node's loop.
// Ownership:  owns the board; roster and processes must outlive it.
// Failure:    a client that does not answer is not asked again; its runs come with its answer.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "dashboard/run_board.h"
#include "node/sessions/roster.h"
#include "node/workers/worker_processes.h"
#include "wire/runs.h"

namespace fray::node {

class RunCollector {
 public:
  RunCollector(Roster& roster, const WorkerProcesses& processes) : roster_(roster), processes_(processes) {}

  // Called when somebody looks after a time in which nobody did: the next answers contain the runs that ended in that time.
  void begin();
  // Called every half second.
  void ask();
  // Called when a driver has joined while somebody looks. It has run nothing yet; the question tells the driver to report
  // its runs when it leaves.
  void greet(Connection& driver);
  void told(ProcessId client, const wire::RunsTold& message);
  void client_left(ProcessId client);

  dashboard::RunBoard& board() { return board_; }
  const dashboard::RunBoard& board() const { return board_; }
  // 0: no living worker has this pid.
  ProcessId process_of(std::int32_t pid) const;

 private:
  struct Client {
    std::uint64_t since = 0;
    std::uint64_t failures = 0;
    bool asked = false;
    bool is_news = true;      // of its next answer
    std::uint32_t pause = 1;  // how many ticks pass from an answer to the next question
    std::uint32_t rest = 0;   // how many ticks of the present pause are left
    std::uint64_t begun = 0;  // for a worker: the last task that had begun when the worker was asked
  };

  bool may_have_news(Client& client, const Connection& connection) const;

  Roster& roster_;
  const WorkerProcesses& processes_;
  dashboard::RunBoard board_;
  std::unordered_map<ProcessId, Client> clients_;
  std::unordered_map<std::int32_t, ProcessId> by_pid_;  // workers that live, as of the last question
};

}  // namespace fray::node
