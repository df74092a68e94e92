#include "cli/status_command.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/node_choice.h"
#include "cli/node_query.h"
#include "cli/status_text.h"
#include "model/json_text.h"
#include "os/run_folder.h"

namespace fray::cli {

namespace {

constexpr std::chrono::seconds kStatusPatience{5};

}  // namespace

int run_status(const StatusArguments& arguments) {
  if (Status checked = os::check_home(); !checked.is_ok()) {
    fmt::print(stderr, "fray status: {}\n", checked.message());
    return kExitFailed;
  }
  std::string socket = choose_node("status", arguments.socket);
  if (socket.empty()) return kExitUnreachable;
  auto reply = ask_status(socket, kStatusPatience);
  if (!reply.is_ok()) {
    fmt::print(stderr, "fray status: {}\n", reply.status().message());
    return exit_code_of(reply.status());
  }
  nlohmann::json report = parse_json(*reply);
  if (!report.is_object()) {
    fmt::print(stderr, "fray status: the node at {} answered with something that is no JSON object\n", socket);
    return kExitFailed;
  }
  fmt::print("{}\n", arguments.json ? json_text(report, 2) : status_text(report));
  return kExitOk;
}

}  // namespace fray::cli
