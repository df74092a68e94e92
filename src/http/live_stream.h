// LiveStream: sends a page what changes on a node, as server-sent events: `hello`, then `now`, `tasks` and `log`, as far as
// the page has asked for them.
//
// While it is open somebody looks. The next events are made when everything was sent, so a page that is slow gets fewer of
// them and costs the memory of one.
//
// Threading:  the loop's.
// Ownership:  holds a look at the node, until its client goes. It keeps itself alive while it is called.
// Failure:    none of its own: a client that takes nothing is closed by its connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "http/connection.h"
#include "node/dashboard/dashboard_view.h"

namespace fray::http {

class LiveStream : public Stream, public std::enable_shared_from_this<LiveStream> {
 public:
  struct Topics {
    bool now = false;
    bool tasks = false;
    bool log = false;
  };

  // `tasks_after`: where the page had got to; nothing: it begins.
  LiveStream(node::DashboardView& dashboard, Topics topics, std::optional<std::uint64_t> tasks_after,
             std::shared_ptr<std::size_t> open);
  ~LiveStream() override;

  void start(Outlet& outlet) override;
  void drained() override { busy_ = false; }
  void abandoned() override;

 private:
  static constexpr int kSignOfLifeTicks = 20;

  void tick();
  std::string hello();
  std::string tasks_event();
  std::string log_event();
  void keep_new(nlohmann::json& rows, std::set<std::uint32_t>& known);
  void send(const std::string& events);

  node::DashboardView& dashboard_;
  const Topics topics_;
  std::optional<std::uint64_t> tasks_after_;
  const std::shared_ptr<std::size_t> open_;  // how many there are
  Outlet* outlet_ = nullptr;                 // until it has gone
  node::DashboardView::LookId look_ = 0;
  std::optional<std::uint64_t> log_end_;
  std::set<std::uint32_t> functions_;  // that it was told the names of
  std::set<std::uint32_t> workers_;
  bool was_running_ = false;
  bool busy_ = false;
  int silent_ticks_ = 0;
};

}  // namespace fray::http
