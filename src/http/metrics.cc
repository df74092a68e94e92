#include "http/metrics.h"

#include <map>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace fray::http {

namespace {

using nlohmann::json;

// A value as it stands between quotes; bytes that are not UTF-8, which Prometheus refuses, become U+FFFD.
std::string label(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    std::string_view rest = value;
    const bool is_text = take_code_point(rest).has_value();
    const std::string_view taken = value.substr(0, is_text ? value.size() - rest.size() : 1);
    value.remove_prefix(taken.size());
    if (taken == "\\" || taken == "\"") text += '\\';
    text += !is_text ? "\uFFFD" : taken == "\n" ? "\\n" : std::string(taken);
  }
  return text;
}

// The value at this path of keys, or null.
json at(const json& document, std::initializer_list<const char*> keys) {
  json found = document;
  for (const char* key : keys) found = found.is_object() ? found.value(key, json()) : json();
  return found;
}

class Text {
 public:
  void family(const char* name, const char* type, const char* help) {
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
    name_ = name;
  }
  void sample(double value) { text_ += fmt::format("{} {}\n", name_, value); }
  // `labels` is the text between the braces.
  void sample(std::string_view labels, double value, const char* suffix = "") {
    text_ += fmt::format("{}{}{{{}}} {}\n", name_, suffix, labels, value);
  }
  void sample(const char* key, std::string_view text, double value) {
    sample(fmt::format("{}=\"{}\"", key, label(text)), value);
  }
  void number(const char* name, const char* type, const char* help, const json& value) {
    if (!value.is_number()) return;
    family(name, type, help);
    sample(value.get<double>());
  }
  void gauge(const char* name, const char* help, const json& value) { number(name, "gauge", help, value); }
  void counter(const char* name, const char* help, const json& value) { number(name, "counter", help, value); }
  // Writes a gauge for each number of an object except `without`.
  void gauges(const char* name, const char* help, const char* key, const json& numbers, std::string_view without = {}) {
    if (!numbers.is_object()) return;
    family(name, "gauge", help);
    for (const auto& [text, value] : numbers.items()) {
      if (value.is_number() && text != without) sample(key, text, value.get<double>());
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
};

json count_by(const json& rows, const char* key) {
  json counts = json::object();
  if (!rows.is_array()) return counts;
  for (const json& row : rows) {
    const json value = at(row, {key});
    const std::string text = value.is_string() ? value.get<std::string>() : "unknown";
    counts[text] = counts.value(text, 0) + 1;
  }
  return counts;
}

void add_node(Text& text, const json& status) {
  const json release = at(status, {"node", "release"});
  text.family("fray_node_info", "gauge", "The node; its release is a label.");
  text.sample("release", release.is_string() ? release.get<std::string>() : "", 1);
  text.gauge("fray_uptime_seconds", "Time since the node started.", at(status, {"node", "uptime_seconds"}));
  text.counter("fray_connections_total", "Connections that the node has accepted.",
               at(status, {"counters", "accepted"}));
  text.counter("fray_broken_frames_total", "Connections that the node has closed for what they sent.",
               at(status, {"counters", "broken_frames"}));
}

void add_resources(Text& text, const json& now) {
  const json total = at(now, {"resources", "total"});
  const json free = at(now, {"resources", "free"});
  text.gauges("fray_resource_capacity", "What tasks, actors and jobs may hold, by resource; memory is apart.",
              "resource", total, "memory");
  text.gauges("fray_resource_free", "What of it is free.", "resource", free, "memory");
  text.gauge("fray_memory_capacity_bytes", "Memory that tasks, actors and jobs may ask for.", at(total, {"memory"}));
  text.gauge("fray_memory_free_bytes", "What of it is free.", at(free, {"memory"}));
  text.gauge("fray_machine_cpus_busy", "What all programs of the machine compute with, in CPUs.",
             at(now, {"cpus", "busy"}));
  text.gauge("fray_machine_memory_limit_bytes", "Memory of the machine, or of its container.",
             at(now, {"memory", "limit_bytes"}));
  text.gauge("fray_machine_memory_used_bytes", "What of it is in use.", at(now, {"memory", "used_bytes"}));
  text.gauge("fray_store_limit_bytes", "Shared memory for objects, beyond which they spill.",
             at(now, {"store", "limit_bytes"}));
  text.gauge("fray_store_used_bytes", "Shared memory in use.", at(now, {"store", "used_bytes"}));
  text.gauge("fray_store_spilled_bytes", "Bytes of objects that lie on disk.", at(now, {"store", "spilled_bytes"}));
  text.gauge("fray_store_objects", "Objects that several processes know of.", at(now, {"store", "objects"}));
}

void add_processes(Text& text, const MetricsDocuments& documents) {
  json workers = at(documents.now, {"workers"});
  if (workers.is_object()) workers.erase("total");
  text.gauges("fray_workers", "Worker processes by state.", "state", workers);
  text.gauges("fray_actors", "Living actors by state.", "state", count_by(at(documents.status, {"actors"}), "state"));
  text.gauge("fray_drivers", "Programs that are connected.", at(documents.now, {"drivers"}));
  if (documents.jobs.is_array()) {
    text.gauges("fray_jobs", "Jobs that the node remembers, by status.", "status", count_by(documents.jobs, "status"));
  }
  text.gauge("fray_tasks_running", "Workers that run a task or a call of an actor.",
             at(documents.now, {"tasks", "running"}));
  text.gauge("fray_tasks_waiting", "Tasks for which workers are asked.", at(documents.now, {"tasks", "waiting"}));
  text.gauge("fray_tasks_unfinished", "Tasks and calls that were submitted and have not ended.",
             at(documents.now, {"tasks", "unfinished"}));
}

// The counters of runs, by function.
void add_runs(Text& text, const json& runs) {
  const json functions = at(runs, {"functions"});
  const json bounds = at(runs, {"bounds_seconds"});
  if (!functions.is_array() || !bounds.is_array()) return;
  text.family("fray_task_runs_total", "counter", "Runs of tasks and calls of actors that have ended, by outcome.");
  for (const json& row : functions) {
    for (const char* outcome : {"ok", "failed", "cancelled", "timed_out", "retried"}) {
      text.sample(fmt::format("function=\"{}\",outcome=\"{}\"", label(row["name"].get<std::string>()), outcome),
                  row[outcome].get<double>());
    }
  }
  text.family("fray_task_cpu_seconds_total", "counter", "CPU time of the runs for which it was measured.");
  for (const json& row : functions) {
    text.sample("function", row["name"].get<std::string>(), row["cpu_seconds"].get<double>());
  }
  text.family("fray_task_duration_seconds", "histogram", "How long runs took, from their start to their end.");
  for (const json& row : functions) {
    const std::string function = fmt::format("function=\"{}\"", label(row["name"].get<std::string>()));
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      text.sample(fmt::format("{},le=\"{}\"", function, bounds[i].get<double>()), row["up_to"][i].get<double>(),
                  "_bucket");
    }
    text.sample(function + ",le=\"+Inf\"", row["count"].get<double>(), "_bucket");
    text.sample(function, row["seconds_total"].get<double>(), "_sum");
    text.sample(function, row["count"].get<double>(), "_count");
  }
}

}  // namespace

std::string metrics_text(const MetricsDocuments& documents) {
  Text text;
  add_node(text, documents.status);
  add_resources(text, documents.now);
  add_processes(text, documents);
  add_runs(text, documents.runs);
  return text.take();
}

}  // namespace fray::http
