// `fray env`: lists, removes and makes the environments and snapshots in the cache.
//
//   fray env list               lists them; the one that was used last comes first
//   fray env prune              removes those that were used longest ago, until the cache is within its limit
//   fray env snapshot FOLDER    makes a snapshot of a folder and prints its path
//   fray env prepare --fd N     prepares an environment for a node (runtime_env/prepare_protocol.h)
#include <ctime>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/amount_text.h"
#include "base/log_line.h"
#include "cli/amount.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "model/json_text.h"
#include "runtime_env/env_cache.h"
#include "runtime_env/prepare_protocol.h"
#include "runtime_env/snapshot.h"

namespace fray::cli {

namespace {

struct EnvArguments {
  std::string verb;
  bool json = false;
  bool all = false;    // prune
  std::string limit;   // prune
  std::string folder;  // snapshot
  int fd = -1;         // prepare
};

using nlohmann::json;
using runtime_env::EnvCache;
using runtime_env::EnvEntry;

constexpr std::size_t kShownContent = 60;

int failed(const EnvArguments& arguments, const Status& why) {
  log_line("fray env {}: {}\n", arguments.verb, why.message());
  return why.code() == StatusCode::kNotFound ? kExitNotFound : kExitFailed;
}

std::string time_text(std::int64_t seconds) { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds)); }

json row_of(const EnvEntry& entry) {
  return {{"name", entry.name},   {"kind", entry.kind},     {"content", entry.content},
          {"bytes", entry.bytes}, {"in_use", entry.in_use}, {"used_at", time_text(entry.used_at)}};
}

std::string text_of(const EnvEntry& entry) {
  std::string content = entry.content;
  if (content.size() > kShownContent) content = content.substr(0, kShownContent - 3) + "...";
  return fmt::format("{:<42} {:<12} {:>10}  {}  {}  {}\n", entry.name, entry.kind, bytes_text(entry.bytes),
                     time_text(entry.used_at), entry.in_use ? "in use" : "      ", content);
}

void show(const EnvArguments& arguments, const EnvCache& cache, const char* key, const std::vector<EnvEntry>& entries) {
  if (arguments.json) {
    json rows = json::array();
    for (const EnvEntry& entry : entries) rows.push_back(row_of(entry));
    json document = {{"schema", "fray/v1"}, {"folder", cache.folder()}, {key, std::move(rows)}};
    fmt::print("{}\n", json_text(document, 2));
    return;
  }
  std::uint64_t total = 0;
  for (const EnvEntry& entry : entries) {
    total += entry.bytes;
    fmt::print("{}", text_of(entry));
  }
  log_line("{} {}, {} in {}\n", entries.size(), key, bytes_text(total), cache.folder());
}

int prune(const EnvArguments& arguments, const EnvCache& cache) {
  std::uint64_t limit = arguments.all ? 0 : EnvCache::kDefaultLimit;
  if (!arguments.limit.empty()) {
    auto parsed = parse_size("--limit", arguments.limit);
    if (!parsed.is_ok()) {
      log_line("fray env prune: {}\n", parsed.status().message());
      return kExitUsage;
    }
    limit = *parsed;
  }
  show(arguments, cache, "removed", cache.prune(limit));
  return kExitOk;
}

int snapshot(const EnvArguments& arguments, const EnvCache& cache) {
  auto taken = runtime_env::take_snapshot(cache, arguments.folder, runtime_env::BuildWatch());
  if (!taken.is_ok()) return failed(arguments, taken.status());
  fmt::print("{}\n", taken->path());
  return kExitOk;
}

int run_env(const EnvArguments& arguments) {
  if (arguments.verb == "prepare") return runtime_env::answer_preparation(os::Fd(arguments.fd));
  auto cache = EnvCache::open();
  if (!cache.is_ok()) return failed(arguments, cache.status());
  if (arguments.verb == "snapshot") return snapshot(arguments, *cache);
  if (arguments.verb == "prune") return prune(arguments, *cache);
  show(arguments, *cache, "environments", cache->list());
  return kExitOk;
}

Command::Run add_env(CLI::App& command) {
  auto arguments = std::make_shared<EnvArguments>();
  command.require_subcommand(1);
  auto add = [&](const char* verb, const char* text) {
    CLI::App* added = command.add_subcommand(verb, text);
    added->callback([arguments, verb] { arguments->verb = verb; });
    return added;
  };
  add("list", "What is there, what was used last first")->add_flag("--json", arguments->json, "One JSON document");
  CLI::App* prune = add("prune", "Remove what was used longest ago and is not in use");
  prune->add_flag("--json", arguments->json, "One JSON document");
  prune->add_flag("--all", arguments->all, "Everything that is not in use");
  prune->add_option("--limit", arguments->limit, "How much may stay, such as 5GiB; 20GiB if it is not given")
      ->excludes("--all");
  CLI::App* snapshot = add("snapshot", "Take a snapshot of a folder or an archive, and print where it is");
  snapshot->add_option("FOLDER", arguments->folder, "The folder, or a .zip, .tar.gz and the like")->required();
  CLI::App* prepare = add("prepare", "Make an environment (started by nodes)");
  prepare->group("");  // internal
  prepare->add_option("--fd", arguments->fd, "Where the description comes from")->required();
  return [arguments] { return run_env(*arguments); };
}

const Command kEnv("env", "Environments of tasks, actors and jobs, as they lie in the cache", add_env);

}  // namespace

}  // namespace fray::cli
