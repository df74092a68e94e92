#include "client/threads/worker_seat.h"

#include <utility>

namespace fray::client {

void WorkerSeat::set_duty(WorkerDuty* duty, ClientLock& lock) {
  left_.wait(lock, [this]() FRAY_REQUIRES(client_mutex) { return !busy_; });
  duty_ = duty;
  deliver();
}

DutyPlan WorkerSeat::look() {
  WorkerDuty* duty = duty_;
  if (duty == nullptr) return {};
  busy_ = true;
  mutex_.unlock();
  const DutyPlan plan = duty->look();
  mutex_.lock();
  busy_ = false;
  left_.notify_all();
  return plan;
}

void WorkerSeat::lease_arrived(LeaseId lease, const wire::Lease& message, os::Fd fd) {
  early_leases_.push_back({lease, message.client, message.cpus, std::move(fd)});
  deliver();
}

void WorkerSeat::devices_bound(wire::BindDevices binding) {
  early_devices_ = std::move(binding);
  deliver();
}

void WorkerSeat::actor_arrived(wire::HostActor actor) {
  early_actor_ = std::move(actor);
  deliver();
}

void WorkerSeat::deliver() {
  if (duty_ == nullptr) return;
  if (early_devices_) duty_->devices_bound(*std::exchange(early_devices_, std::nullopt));
  for (EarlyLease& early : early_leases_) {
    duty_->lease_arrived(early.lease, early.client, early.cpus, std::move(early.fd));
  }
  early_leases_.clear();
  if (early_actor_) duty_->actor_arrived(std::move(*early_actor_));
  early_actor_.reset();
}

void WorkerSeat::abandon() {
  if (duty_ != nullptr) duty_->abandon();
}

}  // namespace fray::client
