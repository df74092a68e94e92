#include "node/clusters/clusters.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cluster/spec.h"
#include "http_client/token.h"
#include "model/json_text.h"
#include "node/clusters/program_refusal.h"
#include "os/clock.h"

namespace fray::node {

namespace {

using nlohmann::json;

constexpr std::size_t kMostSpecBytes = 2000;
constexpr std::uint64_t kFreshNs =
    5'000'000'000;  // how long the list of a cluster's jobs is kept before it is asked again
constexpr std::array<const char*, 2> kAddressKeys = {"address", "controller"};
// Where the client of a kind of clusters looks for its token first.
constexpr std::array<std::pair<const char*, const char*>, 2> kTokenVariables = {
    {{"ray", "RAY_AUTH_TOKEN"}, {"iris", "FRAY_IRIS_TOKEN"}}};
constexpr std::array<const char*, 2> kFileKeys = {"ca_file", "token_file"};

// The name of the cluster in URLs of the page, such as "ray-10.0.0.5:8265".
Result<std::string> name_of(const cluster::Spec& spec) {
  for (const char* key : kFileKeys) {
    auto found = spec.keys.find(key);
    if (found != spec.keys.end() && !found->second.starts_with('/')) {
      return Status(
          StatusCode::kInvalidArgument,
          fmt::format("{} is {}; write the whole path, because the node has a folder of its own", key, found->second));
    }
  }
  for (const char* key : kAddressKeys) {
    auto found = spec.keys.find(key);
    if (found == spec.keys.end()) continue;
    std::string_view address = found->second;
    if (const std::size_t scheme = address.find("://"); scheme != std::string_view::npos) {
      address.remove_prefix(scheme + 3);
    }
    while (address.ends_with('/')) address.remove_suffix(1);
    return fmt::format("{}-{}", spec.scheme, address);
  }
  return Status(StatusCode::kInvalidArgument,
                fmt::format("'{}' names no cluster beside this node; write ray?address=http://HOST:PORT, "
                            "iris?controller=http://HOST:PORT or local?address=ADDRESS",
                            spec.scheme));
}

Result<OwnPrograms::Variables> token_variables(const std::string& scheme, const std::string& token) {
  if (token.empty()) return OwnPrograms::Variables();
  FRAY_RETURN_IF_ERROR(http_client::check_token({token, "the request"}));
  for (const auto& [kind, variable] : kTokenVariables) {
    if (scheme == kind) return OwnPrograms::Variables{{variable, token}};
  }
  return Status(StatusCode::kInvalidArgument, fmt::format("a cluster of the kind {} takes no token", scheme));
}

// The jobs in what `fray job … --json` printed.
Result<json> document_in(const Result<OwnPrograms::Answer>& answer) {
  if (!answer.is_ok()) return answer.status();
  FRAY_RETURN_IF_ERROR(refusal_in(answer.value()));
  json document = parse_json(answer.value().output);
  if (document.is_object()) return document;
  return Status(StatusCode::kInternal, "the program that asks the cluster printed no JSON");
}

Result<json> only_job(const Result<json>& jobs) {
  if (!jobs.is_ok()) return jobs.status();
  const json list = jobs.value().value("jobs", json::array());
  if (list.size() == 1) return list[0];
  return Status(StatusCode::kNotFound, "the cluster has no such job");
}

}  // namespace

// A question to a cluster, with the callbacks that wait for its answer.
struct Clusters::Question {
  std::vector<OnDocument> waiting;
};

Clusters::Clusters(event::Loop& loop, OwnPrograms& programs) : loop_(loop), programs_(programs) {}

Clusters::~Clusters() = default;

Result<const Clusters::Cluster*> Clusters::find(const std::string& name) const {
  auto found = clusters_.find(name);
  if (found != clusters_.end()) return &found->second;
  std::string others;
  for (const auto& [other, cluster] : clusters_) others += (others.empty() ? "; there are " : ", ") + other;
  return Status(
      StatusCode::kNotFound,
      fmt::format("this node was told of no cluster {}{}; `fray dashboard --cluster …` names one", name, others));
}

void Clusters::add(const std::string& text, const std::string& token, OnDocument on_document) {
  if (text.size() > kMostSpecBytes) {
    return on_document(
        Status(StatusCode::kInvalidArgument,
               fmt::format("the name of a cluster has {} bytes; it may have {}", text.size(), kMostSpecBytes)));
  }
  auto spec = cluster::Spec::parse(text);
  if (!spec.is_ok()) return on_document(spec.status());
  auto name = name_of(*spec);
  if (!name.is_ok()) return on_document(name.status());
  auto variables = token_variables(spec->scheme, token);
  if (!variables.is_ok()) return on_document(variables.status());
  if (clusters_.size() >= kMost && !clusters_.contains(*name)) {
    return on_document(
        Status(StatusCode::kResourceExhausted, fmt::format("the node knows {} clusters already", kMost)));
  }
  Cluster named;
  named.scheme = spec->scheme;
  named.spec = text;
  named.variables = std::move(*variables);
  ask(named, {"list"}, [this, name = *name, named, on_document](const Result<json>& jobs) {
    if (!jobs.is_ok() && jobs.status().code() == StatusCode::kInvalidArgument) return on_document(jobs.status());
    const Cluster& cluster = clusters_[name] = named;
    note(name, jobs);
    json document = told(name, cluster);
    document["schema"] = "fray/v1";
    on_document(std::move(document));
  });
}

Result<json> Clusters::remove(const std::string& name) {
  FRAY_ASSIGN_OR_RETURN(const Cluster* cluster, find(name));
  json document = told(name, *cluster);
  document["schema"] = "fray/v1";
  clusters_.erase(name);
  return document;
}

json Clusters::list() {
  json rows = json::array();
  const std::uint64_t now = os::monotonic_ns();
  for (auto& [name, cluster] : clusters_) {
    rows.push_back(told(name, cluster));
    if (now - cluster.asked_ns > kFreshNs) jobs(name, [](const Result<json>&) {});
  }
  return {{"schema", "fray/v1"}, {"clusters", std::move(rows)}};
}

json Clusters::told(const std::string& name, const Cluster& cluster) const {
  json counts = json::object();
  for (const auto& [status, count] : cluster.counts) counts[status] = count;
  return {{"name", name},
          {"kind", cluster.scheme},
          {"spec", cluster.spec},
          {"answers", cluster.answers},
          {"problem", cluster.problem.empty() ? json(nullptr) : json(cluster.problem)},
          {"jobs", std::move(counts)}};
}

// While a cluster does not answer, its last list of jobs stays.
void Clusters::note(const std::string& name, const Result<json>& jobs) {
  auto found = clusters_.find(name);
  if (found == clusters_.end()) return;
  Cluster& cluster = found->second;
  cluster.asked_ns = os::monotonic_ns();
  cluster.answers = jobs.is_ok();
  cluster.problem = jobs.is_ok() ? "" : jobs.status().message();
  if (!jobs.is_ok()) return;
  cluster.counts = {{"pending", 0}, {"running", 0}, {"succeeded", 0}, {"failed", 0}, {"stopped", 0}};
  for (const json& job : jobs.value().value("jobs", json::array())) ++cluster.counts[job.value("status", "")];
}

void Clusters::ask(const Cluster& cluster, std::vector<std::string> verb, OnDocument on_document) {
  std::vector<std::string> words = {"job", verb.front(), "--json", "--cluster", cluster.spec, "--"};
  words.insert(words.end(), verb.begin() + 1, verb.end());
  const std::pair key(words, cluster.variables);
  std::unique_ptr<Question>& question = asked_[key];
  if (question) return question->waiting.push_back(std::move(on_document));
  question = std::make_unique<Question>();
  question->waiting.push_back(std::move(on_document));
  auto answer = [this, key](const Result<OwnPrograms::Answer>& told) {
    const std::unique_ptr<Question> answered = std::move(asked_.extract(key).mapped());
    const Result<json> document = document_in(told);
    for (const OnDocument& callback : answered->waiting) callback(document);
  };
  auto started = programs_.ask(words, kPatience, answer, cluster.variables);
  if (!started.is_ok()) answer(started.status());
}

void Clusters::jobs(const std::string& cluster, OnDocument on_document) {
  auto found = find(cluster);
  if (!found.is_ok()) return on_document(found.status());
  clusters_.at(cluster).asked_ns = os::monotonic_ns();
  ask(**found, {"list"}, [this, cluster, on_document](const Result<json>& jobs) {
    note(cluster, jobs);
    on_document(jobs);
  });
}

void Clusters::job(const std::string& cluster, const std::string& id, OnDocument on_document) {
  auto found = find(cluster);
  if (!found.is_ok()) return on_document(found.status());
  ask(**found, {"status", id}, std::move(on_document));
}

void Clusters::stop(const std::string& cluster, const std::string& id, OnDocument on_document) {
  change("stop", cluster, id, std::move(on_document));
}

void Clusters::forget(const std::string& cluster, const std::string& id, OnDocument on_document) {
  change("delete", cluster, id, std::move(on_document));
}

void Clusters::change(const char* verb, const std::string& cluster, const std::string& id, OnDocument on_document) {
  auto found = find(cluster);
  if (!found.is_ok()) return on_document(found.status());
  ask(**found, {verb, id}, [on_document](const Result<json>& jobs) { on_document(only_job(jobs)); });
}

Result<std::unique_ptr<ClusterLog>> Clusters::open_log(const std::string& cluster, const ClusterLog::Place& place) {
  FRAY_ASSIGN_OR_RETURN(const Cluster* found, find(cluster));
  OwnPrograms::Words words = {"job", "logs", "--json", "--cluster", found->spec};
  if (place.follow) words.emplace_back("--follow");
  if (place.attempt != 0) words.insert(words.end(), {"--attempt", std::to_string(place.attempt)});
  if (place.tail_lines) words.insert(words.end(), {"--tail", std::to_string(*place.tail_lines)});
  words.insert(words.end(), {"--", place.id});
  return ClusterLog::open(loop_, programs_, words, place, found->variables);
}

}  // namespace fray::node
