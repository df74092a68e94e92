#include "cli/amount.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray::cli {

namespace {

using nlohmann::json;

struct Unit {
  const char* name;
  double factor;
};
constexpr double kKibi = 1024;
constexpr std::array<Unit, 14> kUnits = {{{"", 1},
                                          {"b", 1},
                                          {"kb", 1e3},
                                          {"mb", 1e6},
                                          {"gb", 1e9},
                                          {"tb", 1e12},
                                          {"k", kKibi},
                                          {"m", kKibi* kKibi},
                                          {"g", kKibi* kKibi* kKibi},
                                          {"t", kKibi* kKibi* kKibi* kKibi},
                                          {"kib", kKibi},
                                          {"mib", kKibi* kKibi},
                                          {"gib", kKibi* kKibi* kKibi},
                                          {"tib", kKibi* kKibi* kKibi* kKibi}}};

Status wrong(const std::string& option, const std::string& text, const char* form) {
  return Status(StatusCode::kInvalidArgument, fmt::format("{} must be {}, got '{}'", option, form, text));
}

// The number at the front of `text`, digits and one point only; `rest` is what follows.
bool leading_number(std::string_view text, double* number, std::string_view* rest) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, std::chars_format::fixed);
  if (error != std::errc()) return false;
  *rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::string lower_unit(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::string unit(text);
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return unit;
}

}  // namespace

Result<std::uint64_t> parse_size(const std::string& option, const std::string& text) {
  constexpr const char* kForm = "a number of bytes above 0 or a size such as 4GiB or 512MB";
  double number = 0;
  std::string_view rest;
  if (!leading_number(text, &number, &rest)) return wrong(option, text, kForm);
  const std::string name = lower_unit(rest);
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&name](const Unit& each) { return name == each.name; });
  if (unit == kUnits.end()) return wrong(option, text, kForm);
  const double bytes = number * unit->factor;
  constexpr auto kMost = static_cast<double>(std::numeric_limits<std::int64_t>::max());
  if (bytes < 1 || bytes >= kMost) return wrong(option, text, kForm);
  return static_cast<std::uint64_t>(bytes);
}

Result<json> parse_resources(const std::string& option, const std::string& text) {
  constexpr const char* kForm = R"(an object such as {"TPU": 4}, or TPU:4,head_node:1)";
  json amounts = parse_json(text);
  if (!amounts.is_discarded()) {
    if (!amounts.is_object()) return wrong(option, text, kForm);
    return amounts;
  }
  amounts = json::object();
  std::string_view left = text;
  while (!left.empty()) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string_view part = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    const std::size_t colon = part.rfind(':');
    double amount = 0;
    std::string_view rest;
    if (colon == std::string_view::npos || colon == 0 || !leading_number(part.substr(colon + 1), &amount, &rest) ||
        !rest.empty()) {
      return wrong(option, text, kForm);
    }
    amounts[std::string(part.substr(0, colon))] = amount;
  }
  if (amounts.empty()) return wrong(option, text, kForm);
  return amounts;
}

Result<double> parse_span(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  double factor = -1;
  if (unit.empty() || unit == "s") factor = 1;
  if (unit == "m" || unit == "min") factor = 60;
  if (unit == "h") factor = 3600;
  if (unit == "d") factor = 86400;
  if (end == text.c_str() || factor < 0 || !std::isfinite(number) || number < 0) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} must be a time such as 30, 30s, 10m, 2h or 1d, got '{}'", option, text));
  }
  return number * factor;
}

}  // namespace fray::cli
