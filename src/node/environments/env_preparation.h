// EnvPreparation: makes one runtime env in a process of its own (runtime_env/prepare_protocol.h), so that the node's
// loop never waits for it.
//
//   EnvPreparation making(loop, spawner, spec, environment, {on_state, on_end});
//   making.start();
//
// on_end is called once. After success the process stays until let_go() or the end of this object, and holds the
// environment in the cache. Users of the environment have to take holds of their own before that.
//
// Threading:  the node's loop.
// Ownership:  owns the socket; the process ends with it. The node reaps it like any child.
// Failure:    start() returns why there is no process; a process that dies without an answer is kRuntimeEnv, with the
//             last lines of its output.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/status.h"
#include "event/loop.h"
#include "os/fd.h"
#include "os/process/spawn.h"
#include "runtime_env/prepared_env.h"

namespace fray::node {

class EnvPreparation {
 public:
  struct Events {
    std::function<void()> on_state;
    std::function<void(Result<runtime_env::PreparedEnv>)> on_end;
  };

  EnvPreparation(event::Loop& loop, os::Spawner& spawner, Events events)
      : loop_(loop), spawner_(spawner), events_(std::move(events)) {}
  ~EnvPreparation() { let_go(); }
  EnvPreparation(const EnvPreparation&) = delete;
  EnvPreparation& operator=(const EnvPreparation&) = delete;

  // `spec` as JSON; `environment` whole: the programs that build run in it.
  Status start(const std::string& spec, const runtime_env::Variables& environment, const std::string& folder);
  bool is_running() const { return socket_.is_open() && !ended_; }
  pid_t pid() const { return pid_; }  // also when it has ended
  // What it does now.
  const std::string& state() const { return state_; }
  void let_go();

 private:
  void read();
  void take_line(std::string_view line);
  void end(Result<runtime_env::PreparedEnv> result);

  event::Loop& loop_;
  os::Spawner& spawner_;
  Events events_;
  os::Fd socket_;
  pid_t pid_ = 0;
  std::string input_;
  std::string state_;
  bool ended_ = false;
};

}  // namespace fray::node
