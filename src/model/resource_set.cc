#include "model/resource_set.h"

#include <cmath>

#include <fmt/format.h>

#include "base/amount_text.h"

namespace fray {

namespace {
constexpr double kLargestAmount = 1.0e14;  // in ones; keeps sums of units far from overflow
}

Status ResourceSet::set(std::string_view name, double amount) {
  if (name.empty()) return Status(StatusCode::kInvalidArgument, "a resource needs a name");
  if (!std::isfinite(amount) || amount < 0 || amount > kLargestAmount) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("resource {} was given as {}; allowed is a finite number from 0 on", name, amount));
  }
  set_units(name, std::llround(amount * static_cast<double>(kUnitsPerOne)));
  return Status::ok();
}

void ResourceSet::set_units(std::string_view name, std::int64_t units) {
  if (units == 0) {
    if (auto found = units_.find(name); found != units_.end()) units_.erase(found);
    return;
  }
  units_.insert_or_assign(std::string(name), units);
}

std::int64_t ResourceSet::units(std::string_view name) const {
  auto found = units_.find(name);
  return found == units_.end() ? 0 : found->second;
}

double ResourceSet::amount(std::string_view name) const {
  return static_cast<double>(units(name)) / static_cast<double>(kUnitsPerOne);
}

bool ResourceSet::covers(const ResourceSet& asked) const {
  for (const auto& [name, units] : asked.units_) {
    auto found = units_.find(name);
    if (found == units_.end() || found->second < units) return false;
  }
  return true;
}

void ResourceSet::add(const ResourceSet& other) {
  for (const auto& [name, units] : other.units_) set_units(name, this->units(name) + units);
}

void ResourceSet::subtract(const ResourceSet& other) {
  for (const auto& [name, units] : other.units_) set_units(name, this->units(name) - units);
}

std::string ResourceSet::to_string() const {
  if (units_.empty()) return "nothing";
  std::string text;
  for (const auto& [name, units] : units_) {
    if (!text.empty()) text += ", ";
    text += name + " " + amount_text(name, static_cast<double>(units) / static_cast<double>(kUnitsPerOne));
  }
  return text;
}

}  // namespace fray
