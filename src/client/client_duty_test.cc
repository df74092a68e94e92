// A client whose node is played by the test: what it promises to the worker's duty.
#include <atomic>
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

#include "client/client_test_node.h"
#include "wire/lease.h"

namespace fray::client {
namespace {

struct SlowDuty : WorkerDuty {
  void lease_arrived(LeaseId, ProcessId, double, os::Fd) override {}
  void actor_arrived(wire::HostActor) override {}
  void devices_bound(const wire::BindDevices&) override {}
  void node_gone() override {}
  DutyPlan look() override {
    if (!entered.exchange(true)) {
      began.release();
      may_end.acquire();
      ended = true;
    }
    return {};
  }
  int watch_fd() override { return -1; }
  void blocked() override {}
  void unblocked() override {}
  bool flush_answers() override { return true; }
  void wake() override {}
  void abandon() override {}

  std::atomic<bool> entered{false};
  std::atomic<bool> ended{false};
  std::binary_semaphore began{0};
  std::binary_semaphore may_end{0};
};

TEST(ClientDuty, IsNotCalledAnyMoreOnceItHasBeenTakenAway) {
  PlayedNode node;
  SlowDuty duty;
  node.client->set_duty(&duty);
  duty.began.acquire();
  std::thread helper([&] { duty.may_end.release(); });
  node.client->set_duty(nullptr);
  EXPECT_TRUE(duty.ended);
  helper.join();
}

}  // namespace
}  // namespace fray::client
