// `fray top`: becomes the Python module that shows the figures of nodes live in a terminal.
//
// The figures are documents of the node; the widgets are Textual's, which is Python. See docs/decisions/0031-dashboard.md.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/log_line.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/node_endpoint.h"
#include "cli/python_program.h"

namespace fray::cli {

namespace {

struct TopArguments {
  std::vector<std::string> sockets;
  std::string python;
  double interval = 1;
  bool once = false;
};

int top_failed(const Status& why) {
  log_line("fray top: {}\n", why.message());
  return exit_code_of(why.code());
}

int run_top(const TopArguments& arguments) {
  auto python = find_python(arguments.python);
  if (!python.is_ok()) return top_failed(python.status());
  std::vector<std::string> words = {*python,     "-P",         "-m",
                                    "fray._top", "--interval", fmt::format("{}", arguments.interval)};
  if (arguments.once) words.push_back("--once");
  words.push_back("--");
  std::vector<NodeOption> nodes(arguments.sockets.begin(), arguments.sockets.end());
  if (nodes.empty()) nodes.emplace_back();
  for (const NodeOption& node : nodes) {
    auto endpoint = endpoint_of_node(node, "and so tells no figures");
    if (!endpoint.is_ok()) return top_failed(endpoint.status());
    const std::string& token_file = endpoint->token.origin;
    words.push_back(token_file.substr(0, token_file.rfind('/')));
  }
  return become_program("fray top", words);
}

Command::Run add_top(CLI::App& command) {
  auto arguments = std::make_shared<TopArguments>();
  command.footer(
      "Keys: q quits, space pauses, s sorts by the next column, r reverses, n shows the next node. Needs the extra\n"
      "fray[top] in a terminal; without a terminal the figures are printed once");
  command.add_option("SOCKET", arguments->sockets,
                     "The nodes: their sockets, their homes, or 'auto'; by default the one of this job, of this home, "
                     "or the newest of this user");
  command.add_flag("--once", arguments->once, "Print the figures once, as text");
  command.add_option("--interval", arguments->interval, "Seconds from one look to the next")
      ->check(CLI::Range(0.1, 3600.0));
  command.add_option("--python", arguments->python, "The interpreter; else that of this program's environment");
  return [arguments] { return run_top(*arguments); };
}

const Command kTop("top", "The figures of a started node, live in the terminal", add_top);

}  // namespace

}  // namespace fray::cli
