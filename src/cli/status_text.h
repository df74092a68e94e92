// status_text(): turns the status document of a node into text for people.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    parts that are missing in the document are missing in the text.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace fray::cli {

std::string status_text(const nlohmann::json& report);

}  // namespace fray::cli
