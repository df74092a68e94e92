#include "cli/command.h"

#include <algorithm>
#include <string_view>

namespace fray::cli {

const Command* Command::first_ = nullptr;

std::vector<const Command*> Command::all() {
  std::vector<const Command*> found;
  for (const Command* each = first_; each != nullptr; each = each->next_) found.push_back(each);
  std::sort(found.begin(), found.end(),
            [](const Command* a, const Command* b) { return std::string_view(a->name()) < b->name(); });
  return found;
}

}  // namespace fray::cli
