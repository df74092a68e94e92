// ProcessSet: a small ascending set of processes. Most objects have one or two holders, so two are kept in place.
//
// Threading:  a value.
// Ownership:  owns its memory; moves, does not copy.
// Failure:    none.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "model/ids.h"

namespace fray::object {

class ProcessSet {
 public:
  // False when it was there already.
  bool insert(ProcessId process);
  // False when it was not there.
  bool erase(ProcessId process);
  bool contains(ProcessId process) const;
  bool empty() const { return many_ == nullptr ? few_[0] == 0 : many_->empty(); }
  std::vector<ProcessId> values() const;

 private:
  ProcessId few_[2] = {0, 0};  // ascending, 0 behind the last; unused once there were more
  std::unique_ptr<std::vector<ProcessId>> many_;
};

}  // namespace fray::object
