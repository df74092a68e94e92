// parse_json() parses a text from outside; json_text() writes a document. Both are instantiated only here, because each
// unit that does so takes two seconds longer to compile.
//
//   json options = parse_json(text);
//   if (!options.is_object()) return Status(StatusCode::kInvalidArgument, "the options are no JSON object");
//
// Copying and writing a document needs stack for each level, and a level costs its sender one byte. So texts that are
// nested more deeply than a limit are refused. The limit is far above the depth of any document of Fray.
//
// Threading:  any thread.
// Ownership:  the document is the caller's.
// Failure:    a text that is not JSON, or nests too deeply, is a discarded document: is_discarded(), and of no
//             other type.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace fray {

inline constexpr std::size_t kMostJsonDepth = 200;

// Whether arrays and objects lie in each other more than `most` times; of a text that is no JSON, anything.
bool nests_deeper_than(std::string_view text, std::size_t most);

nlohmann::json parse_json(std::string_view text);

// The document as text, on one line, or on lines that are indented by so many spaces for each level. Bytes that are no
// UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& document, int indent = -1);

}  // namespace fray
