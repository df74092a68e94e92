#include "cli/node_session.h"

#include <chrono>

#include "base/log_line.h"
#include "cli/exit_codes.h"
#include "cli/start_node.h"
#include "door/find_node.h"

namespace fray::cli {

namespace {
constexpr std::chrono::seconds kStatusPatience{5};
}  // namespace

Result<std::unique_ptr<NodeSession>> NodeSession::open(const NodeOption& socket) {
  FRAY_ASSIGN_OR_RETURN(door::FoundNode found, door::find_node(socket, door::Others::kTake));
  if (!found.several.empty()) {
    log_line("{} nodes run; this is the newest. Name another by its socket:\n", found.several.size());
    for (const door::SessionInfo& each : found.several) {
      log_line("  {}  (pid {})\n", each.socket, each.process.pid);
    }
  }
  return std::make_unique<NodeSession>(std::move(found.socket));
}

Result<std::unique_ptr<NodeSession>> NodeSession::open_or_start(const NodeOption& socket) {
  Result<door::FoundNode> found = door::find_node(socket, door::Others::kLeave);
  if (found.is_ok()) return std::make_unique<NodeSession>(std::move(found->socket));
  if (socket || door::node_of_this_job() || found.status().code() != StatusCode::kUnavailable) return found.status();
  FRAY_ASSIGN_OR_RETURN(door::SessionInfo started, start_node_of_home());
  return std::make_unique<NodeSession>(std::move(started.socket));
}

Result<std::string> NodeSession::status() { return jobs_.node().status(door::Patience::of(kStatusPatience)); }

int report_failure(const std::string& command, const Status& status) {
  log_line("fray {}: {}\n", command, status.message());
  return exit_code_of_answer(status.code());
}

int report_usage(const std::string& command, const Status& status) {
  log_line("fray {}: {}\n", command, status.message());
  return exit_code_of(status.code());
}

}  // namespace fray::cli
