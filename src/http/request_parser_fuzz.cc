// Arbitrary bytes as the input of a client, split at a place that the bytes choose: the parser must not crash, and must
// read a request the same way however it is split.
#include <cstddef>
#include <cstdint>

#include "base/fuzz_script.h"
#include "http/guard.h"
#include "http/request_parser.h"
#include "http/sessions.h"
#include "websocket/frames.h"

namespace {

using Progress = fray::http::RequestParser::Progress;

// The body of the first request, or a word for how it went wrong.
std::string first_body(std::string_view bytes, std::size_t step) {
  fray::http::RequestParser parser;
  std::string input;
  fray::http::Sessions sessions;
  while (true) {
    switch (parser.advance(input)) {
      case Progress::kWhole:
        return "whole " + parser.request().method + parser.request().body;
      case Progress::kBad:
        return "bad";
      case Progress::kHead:
        (void)fray::http::Guard("token", 1, sessions).refuse(parser.request(), [] {
          return fray::http::Access::kSession;
        });
        break;
      case Progress::kMore:
        if (bytes.empty()) return "more";
        input += bytes.substr(0, step);
        bytes.remove_prefix(std::min(step, bytes.size()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fray::FuzzScript script(data, size);
  const std::size_t step = 1u + script.byte();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string at_once = first_body(bytes, size + 1);
  const std::string in_parts = first_body(bytes, step);
  if (at_once.starts_with("whole") && in_parts.starts_with("whole") && at_once != in_parts) __builtin_trap();
  (void)fray::websocket::ControlReader().take(bytes);
  std::string rest;
  (void)fray::websocket::as_text(bytes, &rest);
  if (rest.size() > 3) __builtin_trap();
  return 0;
}
