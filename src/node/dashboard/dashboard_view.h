// DashboardView: what a page that looks at a node is told; docs/formats/dashboard.md has the documents.
//
// Whoever holds a look, and for kLook whoever asked for a document, looks; for kLookOfRunTimes whoever asked for those, as
// Prometheus does every minute or more often. While nobody looks nothing is counted.
//
// Threading:  the node's loop.
// Ownership:  the node must outlive those who ask. A look is its holder's to leave.
// Failure:    kInvalidArgument for a sort key that is none, with those that there are; kNotFound for what is not there.
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
  std::string sort;  // empty: the list's own
  bool descending = true;
  std::size_t limit = 200;
  std::size_t after = 0;  // rows to pass over
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
  // The same as text, made once at each tick for all who look.
  virtual const std::string& now_text() = 0;
  virtual nlohmann::json history(double seconds) = 0;
  virtual nlohmann::json tasks(std::uint64_t after, std::size_t limit) = 0;
  // The `after` with which tasks() has what ended in the last seconds.
  virtual std::uint64_t tasks_since(double seconds) = 0;
  virtual Result<nlohmann::json> task(const std::string& name) = 0;
  virtual Result<nlohmann::json> functions(const ListQuery& query) = 0;
  // By function, what only ever grows: runs by outcome, and how many took up to each of some times. The first functions are
  // there by name, and the others together, so that a number never moves from one to another.
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
  // Where it spends its CPU time for so long.
  virtual void flame(std::int32_t pid, std::uint64_t seconds, OnDocument on_document) = 0;
};

}  // namespace fray::node
