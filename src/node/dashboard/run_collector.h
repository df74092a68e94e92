// RunCollector: asks clients what they had run, while somebody looks, and gathers it on a RunBoard.
//
// Each client has one open question at most. One that has nothing new is asked less often; a worker that has begun no task
// since it was asked is not asked at all, for only its tasks submit further ones. A client that closes while somebody looks
// tells the rest unasked.
//
// Threading:  the node's loop.
// Ownership:  owns the board; roster and processes must outlive it.
// Failure:    a client that does not answer is not asked again; what it ran comes when it does.
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

  // Called when somebody looks after a time without lookers: the runs that are told next ended in that time.
  void begin();
  // Every half second.
  void ask();
  // A program that has come while somebody looks: it has run nothing, and knows from here on that it is to tell what it
  // has run when it leaves.
  void greet(Connection& driver);
  void told(ProcessId client, const wire::RunsTold& message);
  void client_left(ProcessId client);

  dashboard::RunBoard& board() { return board_; }
  const dashboard::RunBoard& board() const { return board_; }
  // 0: none that lives.
  ProcessId process_of(std::int32_t pid) const;

 private:
  struct Client {
    std::uint64_t since = 0;
    std::uint64_t failures = 0;
    bool asked = false;
    bool is_news = true;      // of its next answer
    std::uint32_t pause = 1;  // ticks from an answer to the next question
    std::uint32_t rest = 0;   // of the present pause
    std::uint64_t begun = 0;  // of workers: the last task that had begun when it was asked
  };

  bool may_have_news(Client& client, const Connection& connection) const;

  Roster& roster_;
  const WorkerProcesses& processes_;
  dashboard::RunBoard board_;
  std::unordered_map<ProcessId, Client> clients_;
  std::unordered_map<std::int32_t, ProcessId> by_pid_;  // workers that live, as of the last question
};

}  // namespace fray::node
