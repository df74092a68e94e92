// DashboardView: the documents that a page of the dashboard gets of a node (docs/formats/dashboard.md).
//
// A page looks while it holds a look, for kLook after it asked for a document, and for kLookOfRunTimes after it asked for
// run times, as Prometheus does every minute or more often. While nobody looks nothing is counted.
//
// Threading:  the node's loop.
// Ownership:  the node must outlive those that ask. The holder of a look has to leave() it.
// Failure:    kInvalidArgument for an unknown sort key, with the known ones; kNotFound for an unknown process or object.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"

namespace fray::node {

// Which rows of a list, in which order.
struct ListQuery {
  std::string sort;  // empty: the default of the list
  bool descending = true;
  std::size_t limit = 200;
  std::size_t after = 0;  // how many rows to leave out
  std::string search;     // part of a name
};

class DashboardView {
 public:
  static constexpr std::chrono::seconds kLook{5};
  static constexpr std::chrono::seconds kLookOfRunTimes{90};
  static constexpr std::chrono::milliseconds kTick{500};
  static constexpr std::size_t kMostLines = 2000;
  using LookId = std::uint64_t;

  virtual ~DashboardView() = default;

  // Calls back every kTick, until leave().
  virtual LookId look(std::function<void()> on_tick) = 0;
  virtual void leave(LookId look) = 0;

  virtual nlohmann::json session() = 0;
  virtual nlohmann::json now() = 0;
  // The same as text, which is made once at each tick for all that look.
  virtual const std::string& now_text() = 0;
  virtual nlohmann::json history(double seconds) = 0;
  virtual nlohmann::json tasks(std::uint64_t after, std::size_t limit) = 0;
  // The `after` with which tasks() contains the tasks that have ended in the last seconds.
  virtual std::uint64_t tasks_since(double seconds) = 0;
  virtual Result<nlohmann::json> task(const std::string& name) = 0;
  virtual Result<nlohmann::json> functions(const ListQuery& query) = 0;
  // Counters by function, which never decrease: runs by outcome, and how many took up to each of several times. The first
  // functions have counters of their own, and all others share some, so that no count moves from one to another.
  virtual nlohmann::json run_times() = 0;
  virtual Result<nlohmann::json> actors(const ListQuery& query) = 0;
  virtual Result<nlohmann::json> objects(const ListQuery& query) = 0;
  virtual Result<nlohmann::json> workers(const ListQuery& query) = 0;
  // The last lines of the node's log, and where they end.
  virtual nlohmann::json log(std::size_t lines, std::uint64_t* end) = 0;
  // The lines after `end`, which moves to the new end of the log.
  virtual nlohmann::json log_after(std::uint64_t* end) = 0;
  // The stack of a worker or a driver, later.
  using OnDocument = std::function<void(Result<nlohmann::json> document)>;
  virtual void stack(std::int32_t pid, OnDocument on_document) = 0;
  // Where a worker or a driver spends its CPU time, measured for that long.
  virtual void flame(std::int32_t pid, std::uint64_t seconds, OnDocument on_document) = 0;
};

}  // namespace fray::node
