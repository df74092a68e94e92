// ResourceSet: amounts of named resources, as asked by a task or owned by a node.
//
// Amounts are fixed-point, in ten-thousandths, so that fractions add up exactly (Ray's granularity is the same: 0.0001).
// `memory` is in bytes and is kept whole: its unit is one byte.
//
// Threading:  a value.
// Ownership:  owns its names.
// Failure:    from_amount refuses negative, NaN and infinite amounts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fray {

class ResourceSet {
 public:
  static constexpr std::int64_t kUnitsPerOne = 10'000;

  // Amount 0 is kept out of the set: asking for none is not asking.
  Status set(std::string_view name, double amount);
  double amount(std::string_view name) const;
  bool empty() const { return units_.empty(); }

  // Whether every amount of `asked` is at most the amount here.
  bool covers(const ResourceSet& asked) const;
  // Amounts may go below zero (a resumed task never waits to resume).
  void add(const ResourceSet& other);
  void subtract(const ResourceSet& other);

  const std::map<std::string, std::int64_t, std::less<>>& units() const { return units_; }
  std::int64_t units(std::string_view name) const;  // 0 of what it has none of
  void set_units(std::string_view name, std::int64_t units);
  // "CPU 1, GPU 0.5, memory 1048576"; "nothing" when empty.
  std::string to_string() const;

  friend bool operator==(const ResourceSet&, const ResourceSet&) = default;
  friend bool operator<(const ResourceSet& a, const ResourceSet& b) { return a.units_ < b.units_; }

 private:
  std::map<std::string, std::int64_t, std::less<>> units_;
};

}  // namespace fray
