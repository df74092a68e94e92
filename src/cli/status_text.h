// status_text(): a node's status document as text for people.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    what is missing in the document is left out.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace fray::cli {

std::string status_text(const nlohmann::json& report);

}  // namespace fray::cli
