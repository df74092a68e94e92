#include "client/leases/worker_keys.h"

namespace fray::client {

void WorkerKeys::hold_own(const wire::WorkerKey& key) {
  auto [known, is_new] = numbers_.emplace(key, 0);
  if (is_new) uses_.emplace(0, Use{known, 1});
}

WorkerKeys::Held WorkerKeys::hold(const wire::WorkerKey& key) {
  auto [known, is_new] = numbers_.emplace(key, next_);
  if (is_new) uses_.emplace(next_++, Use{known, 0});
  ++uses_.at(known->second).holds;
  return {known->second, is_new};
}

void WorkerKeys::hold_again(std::uint32_t number) {
  if (auto use = uses_.find(number); use != uses_.end()) ++use->second.holds;
}

bool WorkerKeys::release(std::uint32_t number) {
  auto use = uses_.find(number);
  if (use == uses_.end() || --use->second.holds > 0) return false;
  numbers_.erase(use->second.key);
  uses_.erase(use);
  return true;
}

}  // namespace fray::client
