// `fray dashboard`: opens the page of a started node in the browser, logged in.
//
// The link works once. A browser is not given it by its command line, which other users of the machine can read, but by a
// file that only this user can.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/log_line.h"
#include "cli/clusters.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/node_endpoint.h"
#include "cli/options.h"
#include "cli/python_program.h"
#include "model/json_text.h"
#include "os/files/whole_file.h"
#include "os/process/spawn.h"

namespace fray::cli {

namespace {

using nlohmann::json;

struct DashboardArguments {
  NodeOption socket;
  std::vector<std::string> clusters;
  bool no_open = false;
  bool json = false;
};

int dashboard_failed(const Status& why, int code) {
  log_line("fray dashboard: {}\n", why.message());
  return code;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// Empty: there is no screen, or nothing that opens a browser on it.
std::string browser_opener() {
  if (is_set("SSH_CONNECTION") || !(is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))) return {};
  return find_program("xdg-open");
}

bool open_in_browser(const std::string& url, const std::string& folder) {
  const std::string opener = browser_opener();
  if (opener.empty()) return false;
  const std::string path = folder + "/dashboard.html";
  const std::string page = fmt::format(
      "<!doctype html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0; url={0}\">\n"
      "<title>Fray</title>\n<p><a href=\"{0}\">To the dashboard</a></p>\n",
      url);
  if (!os::write_file(path, page, os::Durability::kNone).is_ok()) return false;
  os::SpawnRequest request;
  request.command = {opener, "file://" + path};
  request.environment = os::own_environment();
  return os::spawn(request).is_ok();
}

// Asks the node for something; the exit code, after saying what went wrong.
int post(const http_client::Endpoint& endpoint, const char* path, const json& body, json* answered) {
  http_client::Request request;
  request.method = "POST";
  request.path = path;
  request.body = json_text(body);
  bool arrived = false;
  auto answer = http_client::exchange(endpoint, request, &arrived);
  if (!answer.is_ok()) return dashboard_failed(answer.status(), exit_code_of(answer.status().code()));
  if (answer->status != 200) return dashboard_failed(refusal_of(*answer), exit_code_of_http(answer->status));
  *answered = parse_json(answer->body);
  return kExitOk;
}

// Tells the node of the clusters whose jobs its page is to show. `*view`: where the page opens, at the jobs of the last.
int name_clusters(const http_client::Endpoint& endpoint, const std::vector<std::string>& specs, std::string* view) {
  for (const std::string& spec : specs) {
    auto token = token_of_environment(spec);
    if (!token.is_ok()) return dashboard_failed(token.status(), exit_code_of(token.status().code()));
    json order = {{"spec", spec}};
    if (!token->empty()) order["token"] = *token;
    json told;
    if (const int code = post(endpoint, "/api/v1/clusters", order, &told); code != kExitOk) return code;
    if (!told.value("answers", false)) log_line("fray dashboard: {}\n", told.value("problem", ""));
    *view = "jobs?cluster=" + http_client::path_segment(told.value("name", ""));
  }
  return kExitOk;
}

int run_dashboard(const DashboardArguments& arguments) {
  auto endpoint = endpoint_of_node(arguments.socket, "and so has no dashboard");
  if (!endpoint.is_ok()) return dashboard_failed(endpoint.status(), exit_code_of(endpoint.status().code()));
  std::string view;
  if (const int code = name_clusters(*endpoint, arguments.clusters, &view); code != kExitOk) return code;
  json link;
  const int code = post(*endpoint, "/api/v1/dashboard/login-links", {{"view", view}}, &link);
  if (code != kExitOk) return code;
  const std::string url = link.value("url", "");
  const std::string token_file = endpoint->token.origin;
  const bool opened =
      !arguments.no_open && !arguments.json && open_in_browser(url, token_file.substr(0, token_file.rfind('/')));
  if (arguments.json) {
    fmt::print("{}\n", json_text(link, 2));
  } else if (opened) {
    fmt::print("the dashboard opens in your browser\n");
  } else {
    fmt::print("{}\n", url);
    log_line("the link works once, within {} minutes\n", link.value("expires_seconds", 0) / 60);
  }
  return kExitOk;
}

Command::Run add_dashboard(CLI::App& command) {
  auto arguments = std::make_shared<DashboardArguments>();
  add_node_option(command, arguments->socket, true);
  command.add_option(
      "--cluster", arguments->clusters,
      "Show the jobs of this cluster too: ray?address=http://HOST:PORT, iris?controller=http://HOST:PORT "
      "or local?address=ADDRESS; may be given several times");
  command.add_flag("--no-open", arguments->no_open, "Print the link; open no browser");
  command.add_flag("--json", arguments->json, "One JSON document with the link; open no browser");
  return [arguments] { return run_dashboard(*arguments); };
}

const Command kDashboard("dashboard", "Open the page of a started node in the browser", add_dashboard);

}  // namespace

}  // namespace fray::cli
