// Dashboard: the node's side of its dashboard: measures and gathers what it shows while somebody looks at it, and makes the
// documents of that.
//
//   looks, documents ──▶ ticks every half second ──▶ RunCollector (asks clients), a sample for the History
//                              └─ none for kLook: no tick
//
// Threading:  the node's loop.
// Ownership:  refers to the parts of the node, which must outlive it; owns the gathered data.
// Failure:    as DashboardView.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include <nlohmann/json_fwd.hpp>

#include "dashboard/growth.h"
#include "dashboard/history.h"
#include "event/loop.h"
#include "node/dashboard/dashboard_view.h"
#include "node/dashboard/run_collector.h"
#include "node/own_programs.h"
#include "node/status_report.h"
#include "os/machine/cpu_gauge.h"
#include "os/memory/memory_gauge.h"

namespace fray::node {

class Dashboard : public DashboardView {
 public:
  struct Parts {
    event::Loop& loop;
    Roster& roster;
    const WorkerProcesses& processes;
    std::function<StatusSources()> sources;
    OwnPrograms& programs;
    std::string socket;  // the path of the node's socket
    std::string node;    // a text that differs for each start of a node
  };
  explicit Dashboard(Parts parts);
  ~Dashboard() override;
  Dashboard(const Dashboard&) = delete;
  Dashboard& operator=(const Dashboard&) = delete;

  // kRunsTold.
  void told(ProcessId client, const wire::RunsTold& message) { collector_.told(client, message); }
  void driver_joined(Connection& driver) {
    if (is_looked_at()) collector_.greet(driver);
  }
  void client_left(ProcessId client) { collector_.client_left(client); }

  // DashboardView.
  LookId look(std::function<void()> on_tick) override;
  void leave(LookId look) override;
  nlohmann::json session() override;
  nlohmann::json now() override;
  const std::string& now_text() override;
  nlohmann::json history(double seconds) override;
  nlohmann::json tasks(std::uint64_t after, std::size_t limit) override;
  std::uint64_t tasks_since(double seconds) override;
  Result<nlohmann::json> task(const std::string& name) override;
  Result<nlohmann::json> functions(const ListQuery& query) override;
  nlohmann::json run_times() override;
  Result<nlohmann::json> actors(const ListQuery& query) override;
  Result<nlohmann::json> objects(const ListQuery& query) override;
  Result<nlohmann::json> workers(const ListQuery& query) override;
  nlohmann::json log(std::size_t lines, std::uint64_t* end) override;
  nlohmann::json log_after(std::uint64_t* end) override;
  void stack(std::int32_t pid, OnDocument on_document) override;
  void flame(std::int32_t pid, std::uint64_t seconds, OnDocument on_document) override;

 private:
  void glance(std::chrono::seconds look = kLook);  // somebody has asked for a document
  bool is_looked_at() const;
  void tick();
  void take_sample();
  void note_objects();
  // The number of the function whose run has made an object, for runs that are known. By object, without its epoch.
  using Makers = std::unordered_map<ObjectId, std::uint32_t>;
  Makers makers() const;
  std::string maker_name(const Makers& makers, const ObjectId& object) const;
  nlohmann::json growing_json() const;
  double unix_seconds(std::uint64_t monotonic_ns) const;
  double time_now() const;

  // Asks `fray stack` about a worker or driver; `read` makes the document out of the answer.
  using ReadStack = Result<nlohmann::json> (*)(const Result<OwnPrograms::Answer>& answer);
  void look_into(std::int32_t pid, std::vector<std::string> more, std::chrono::seconds patience, ReadStack read,
                 const OnDocument& on_document);
  static std::int32_t pid_of(const StatusSources& sources, ProcessId process);  // 0: the process is gone
  nlohmann::json process_json(ProcessId process) const;
  nlohmann::json drivers_json(const StatusSources& sources) const;

  Parts parts_;
  RunCollector collector_;
  dashboard::History history_;
  dashboard::Growth growth_;
  std::uint64_t growth_due_ns_ = 0;
  os::CpuGauge cpus_;
  const os::MemoryGauge memory_;
  const std::int64_t unix_offset_ns_;
  std::map<LookId, std::function<void()>> looks_;
  LookId last_look_ = 0;
  std::uint64_t look_until_ns_ = 0;  // until then whoever asked for a document counts as looking
  std::uint64_t since_ns_ = 0;       // when counting began; 0: it has not
  event::TimerId timer_ = 0;
  dashboard::History::Sample sample_;  // the latest one
  std::string now_text_;               // the document of this tick; empty: nobody has asked for it yet
};

}  // namespace fray::node
