// metrics_text(): a node's status document as Prometheus reads it.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    what is missing in the document is left out.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace fray::http {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// `jobs`: the array of jobs, or null.
std::string metrics_text(const nlohmann::json& status, const nlohmann::json& jobs);

}  // namespace fray::http
