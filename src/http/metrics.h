// metrics_text(): translates a node's status document into metrics in the text format of Prometheus.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    metrics whose values are missing in the document are left out.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace fray::http {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// `jobs`: the array of jobs, or null.
std::string metrics_text(const nlohmann::json& status, const nlohmann::json& jobs);

}  // namespace fray::http
