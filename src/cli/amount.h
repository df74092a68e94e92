// Amounts as people write them on the command line: sizes ("4GiB"), times ("30s") and resources ("TPU:4,head_node:1").
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    kInvalidArgument says what was given and which forms are allowed. fray.init reads sizes by the same
//             rules.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"

namespace fray::cli {

// Bytes: a number with B, KB, MB, GB, TB (powers of 1000), K, M, G, T, KiB, MiB, GiB, TiB (of 1024) or nothing.
Result<std::uint64_t> parse_size(const std::string& option, const std::string& text);
// Seconds: "90", "30s", "10m", "2h", "1d".
Result<double> parse_span(const std::string& option, const std::string& text);
// The names and amounts in a JSON object, or in a text of the form NAME:AMOUNT,...
Result<nlohmann::json> parse_resources(const std::string& option, const std::string& text);

}  // namespace fray::cli
