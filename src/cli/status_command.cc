#include "cli/status_command.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/node_session.h"
#include "cli/status_text.h"
#include "model/json_text.h"

namespace fray::cli {

int run_status(const StatusArguments& arguments) {
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("status", session.status());
  auto reply = (*session)->status();
  if (!reply.is_ok()) return report_failure("status", reply.status());
  nlohmann::json report = parse_json(*reply);
  if (!report.is_object()) {
    fmt::print(stderr, "fray status: the node at {} answered with something that is no JSON object\n",
               (*session)->socket());
    return kExitFailed;
  }
  fmt::print("{}\n", arguments.json ? json_text(report, 2) : status_text(report));
  return kExitOk;
}

}  // namespace fray::cli
