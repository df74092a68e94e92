// parse_json(): the document that a text from outside is; json_text(): the text of a document. Here alone, for each unit
// that instantiates either takes two seconds longer to compile.
//
//   json options = parse_json(text);
//   if (!options.is_object()) return Status(StatusCode::kInvalidArgument, "the options are no JSON object");
//
// Copying and writing a document takes stack for each level of it, and a level costs its writer one byte. So texts that
// nest deeper than a limit are no documents: the limit is far above what any document of ours has.
//
// Threading:  any thread.
// Ownership:  the document is the caller's.
// Failure:    what is no JSON, or nests too deeply, is a discarded document (is_discarded(), and of no other type).
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
