#include "http/metrics.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fray::http {

namespace {

using nlohmann::json;

std::string label(std::string_view value) {
  std::string text;
  for (char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? "\\n" : std::string(1, c);
  }
  return text;
}

class Text {
 public:
  void family(const char* name, const char* type, const char* help) {
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
    name_ = name;
  }
  void sample(double value) { text_ += fmt::format("{} {}\n", name_, value); }
  void sample(const char* key, std::string_view text, double value) {
    text_ += fmt::format("{}{{{}=\"{}\"}} {}\n", name_, key, label(text), value);
  }
  void number(const char* name, const char* type, const char* help, const json& object, const char* key) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return;
    family(name, type, help);
    sample(object[key].get<double>());
  }
  void amounts(const char* name, const char* help, const json& amounts) {
    if (!amounts.is_object()) return;
    family(name, "gauge", help);
    for (const auto& [resource, amount] : amounts.items()) {
      if (amount.is_number()) sample("resource", resource, amount.get<double>());
    }
  }
  void counts(const char* name, const char* help, const char* key, const std::map<std::string, double>& counts) {
    family(name, "gauge", help);
    for (const auto& [value, count] : counts) sample(key, value, count);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
};

json member(const json& object, const char* key) { return object.is_object() ? object.value(key, json()) : json(); }

std::map<std::string, double> count_by(const json& rows, const char* key) {
  std::map<std::string, double> counts;
  if (!rows.is_array()) return counts;
  for (const json& row : rows) counts[member(row, key).is_string() ? row[key].get<std::string>() : "unknown"] += 1;
  return counts;
}

double waiting_tasks(const json& rows) {
  double count = 0;
  if (!rows.is_array()) return count;
  for (const json& row : rows) count += member(row, "count").is_number() ? row["count"].get<double>() : 0;
  return count;
}

}  // namespace

std::string metrics_text(const json& status, const json& jobs) {
  Text text;
  const json node = member(status, "node");
  text.family("fray_node_info", "gauge", "The node; its release is a label.");
  text.sample("release", member(node, "release").is_string() ? node["release"].get<std::string>() : "", 1);
  text.number("fray_uptime_seconds", "gauge", "Since the node started.", node, "uptime_seconds");
  text.amounts("fray_resource_total", "What the node has, memory in bytes.",
               member(member(status, "resources"), "total"));
  text.amounts("fray_resource_free", "What of it is free.", member(member(status, "resources"), "free"));
  text.counts("fray_workers", "Worker processes by state.", "state", count_by(member(status, "workers"), "state"));
  text.counts("fray_actors", "Living actors by state.", "state", count_by(member(status, "actors"), "state"));
  text.family("fray_clients", "gauge", "Connected drivers.");
  text.sample(static_cast<double>(member(status, "clients").size()));
  text.family("fray_waiting_tasks", "gauge", "Tasks that wait for workers, as far as their clients have said.");
  text.sample(waiting_tasks(member(status, "waiting")));
  text.number("fray_objects", "gauge", "Objects that several processes know of.", member(status, "objects"), "count");
  const json store = member(status, "store");
  text.number("fray_store_used_bytes", "gauge", "Shared memory in use.", store, "used_bytes");
  text.number("fray_store_limit_bytes", "gauge", "Shared memory before objects spill.", store, "limit_bytes");
  text.number("fray_store_spilled_bytes", "gauge", "Objects on disk.", store, "spilled_bytes");
  const json counters = member(status, "counters");
  text.number("fray_connections_total", "counter", "Connections accepted.", counters, "accepted");
  text.number("fray_broken_frames_total", "counter", "Connections closed for what they sent.", counters,
              "broken_frames");
  if (jobs.is_array()) text.counts("fray_jobs", "Jobs by status.", "status", count_by(jobs, "status"));
  return text.take();
}

}  // namespace fray::http
