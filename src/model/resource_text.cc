#include "model/resource_text.h"

#include "base/amount_text.h"

namespace fray {

std::string text_beside(const ResourceSet& set, const ResourceSet& other) {
  if (set.empty()) return set.to_string();
  std::string text;
  for (const auto& [name, units] : set.units()) {
    if (!text.empty()) text += ", ";
    text += name + " " + amount_text(name, set.amount(name), other.amount(name));
  }
  return text;
}

}  // namespace fray
