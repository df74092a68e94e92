// metrics_text(): translates a node's documents into metrics in the text format of Prometheus.
//
// Names end with their unit, counters with _total, and each has a type and a sentence; docs/reference/metrics.md lists them.
// What is counted of tasks is what the dashboard shows, so a node that is scraped counts all the time.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    metrics whose values are missing in the documents are left out.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace fray::http {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

struct MetricsDocuments {
  const nlohmann::json& status;
  const nlohmann::json& now;   // DashboardView::now()
  const nlohmann::json& runs;  // DashboardView::run_times()
  const nlohmann::json& jobs;  // all of them, or null
};

std::string metrics_text(const MetricsDocuments& documents);

}  // namespace fray::http
