#include "cli/line_pattern.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

namespace fray::cli {

namespace {

// For matches that begin at one place of a line.
constexpr std::uint32_t kMostSteps = 10'000'000;
constexpr std::uint32_t kMostMemoryKib = 512 * 1024;

constexpr std::chrono::seconds kPatience{5};  // for one line
constexpr std::size_t kFirstPlaces = 64;
constexpr std::chrono::milliseconds kShort{20};  // after so short a search the next one covers more places
constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_USE_OFFSET_LIMIT;

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

}  // namespace

void LinePattern::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }
void LinePattern::Free::operator()(pcre2_real_match_context_8* context) const { pcre2_match_context_free(context); }
void LinePattern::Free::operator()(pcre2_real_match_data_8* data) const { pcre2_match_data_free(data); }

LinePattern::LinePattern(std::string expression, pcre2_real_code_8* code)
    : expression_(std::move(expression)),
      code_(code),
      limits_(pcre2_match_context_create(nullptr)),
      found_(pcre2_match_data_create(1, nullptr)) {
  pcre2_set_match_limit(limits_.get(), kMostSteps);
  pcre2_set_heap_limit(limits_.get(), kMostMemoryKib);
}

Result<LinePattern> LinePattern::compile(const std::string& expression) {
  int error = 0;
  PCRE2_SIZE at = 0;
  auto* bytes = reinterpret_cast<PCRE2_SPTR>(expression.data());
  pcre2_code* code = pcre2_compile(bytes, expression.size(), kOptions, &error, &at, nullptr);
  if (code == nullptr) {
    return Status(StatusCode::kInvalidArgument, fmt::format("{} is no regular expression: {}, at character {}",
                                                            expression, message_of(error), at + 1));
  }
  return LinePattern(expression, code);
}

// Each search covers matches that begin at some places only, so that the clock can be looked at in between: an
// expression such as `x*[yz]` takes few steps at each place of a long line, and the square of its length at all of them.
Result<bool> LinePattern::is_in(std::string_view line) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  auto* bytes = reinterpret_cast<PCRE2_SPTR>(line.data());
  std::size_t places = kFirstPlaces;
  Clock::time_point before = start;
  for (std::size_t from = 0, next = 0; from <= line.size(); from = next) {
    next = from + places;
    pcre2_set_offset_limit(limits_.get(), next - 1);
    const int end = pcre2_match(code_.get(), bytes, line.size(), from, 0, found_.get(), limits_.get());
    if (end >= 0) return true;
    if (end != PCRE2_ERROR_NOMATCH) return takes_too_long(line);
    const Clock::time_point now = Clock::now();
    if (now - start > kPatience) return takes_too_long(line);
    if (now - before < kShort) places *= 2;
    before = now;
  }
  return false;
}

Status LinePattern::takes_too_long(std::string_view line) const {
  return Status(
      StatusCode::kInvalidArgument,
      fmt::format("{} takes too long on a line of {} characters; begin it with what no repetition repeats, and "
                  "write no repetition inside of another",
                  expression_, line.size()));
}

}  // namespace fray::cli
