#include "object/process_set.h"

#include <algorithm>
#include <utility>

namespace fray::object {

bool ProcessSet::insert(ProcessId process) {
  if (contains(process)) return false;
  if (many_ != nullptr) {
    many_->insert(std::lower_bound(many_->begin(), many_->end(), process), process);
  } else if (few_[0] == 0) {
    few_[0] = process;
  } else if (few_[1] == 0) {
    few_[1] = process;
    if (few_[0] > few_[1]) std::swap(few_[0], few_[1]);
  } else {
    many_ = std::make_unique<std::vector<ProcessId>>(std::vector<ProcessId>{few_[0], few_[1], process});
    std::sort(many_->begin(), many_->end());
  }
  return true;
}

bool ProcessSet::erase(ProcessId process) {
  if (!contains(process)) return false;
  if (many_ != nullptr) {
    std::erase(*many_, process);
  } else {
    if (few_[0] == process) few_[0] = few_[1];
    few_[1] = 0;
  }
  return true;
}

bool ProcessSet::contains(ProcessId process) const {
  if (many_ != nullptr) return std::binary_search(many_->begin(), many_->end(), process);
  return process != 0 && (few_[0] == process || few_[1] == process);
}

std::vector<ProcessId> ProcessSet::values() const {
  if (many_ != nullptr) return *many_;
  std::vector<ProcessId> values;
  for (ProcessId process : few_) {
    if (process != 0) values.push_back(process);
  }
  return values;
}

}  // namespace fray::object
