#include "base/amount_text.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace fray {

namespace {

// Without an exponent: resources have at most four decimals, see ResourceSet::kUnitsPerOne.
// Larger numbers are not written out: nobody reads so many digits.
constexpr double kLargestPlain = 1e15;

std::string plain_number(double number) {
  if (std::abs(number) >= kLargestPlain) return fmt::format("{:.4g}", number);
  std::string text = fmt::format("{:.4f}", number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  if (std::abs(bytes) >= kLargestPlain) return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string amount_text(std::string_view resource, double amount) {
  return resource == "memory" ? bytes_text(amount) : plain_number(amount);
}

std::string amount_text(std::string_view resource, double amount, double beside) {
  std::string text = amount_text(resource, amount);
  if (amount == beside || text != amount_text(resource, beside)) return text;
  return plain_number(amount) + (resource == "memory" ? " B" : "");
}

}  // namespace fray
