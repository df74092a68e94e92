// A host with many CPUs, played: what the node's decisions cost for each worker, lease and actor must not grow with their
// number. Measured is the processor time of this thread, so other work on the machine counts little.
#include <ctime>

#include <chrono>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scheduler/lease_table.h"

namespace fray::scheduler {
namespace {

constexpr ProcessId kDriver = 1;
constexpr WorkerKeyId kKey = 1;
constexpr double kMostUs = 40;  // of any step, on a slow and busy machine in a build with asserts

double thread_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Carries out what the table decides, with a decision after each event, as if each came in a round of its own.
class LargeHost {
 public:
  explicit LargeHost(std::uint32_t cpus) : table_({.total = amount(cpus), .max_workers = cpus}) {
    table_.client_joined(kDriver);
  }

  void ask(ProcessId client, std::uint32_t count, bool for_actor = false) {
    DemandChange wanted{.count = count, .dedicated = for_actor};
    wanted.shape.key = kKey;
    if (!for_actor) wanted.shape.resources = amount(1);
    table_.demand_changed(client, wanted);
    decide();
  }
  void start_all() {
    while (!starting_.empty()) {
      const ProcessId worker = starting_.back();
      starting_.pop_back();
      table_.worker_ready(worker);
      table_.client_joined(worker);
      decide();
    }
  }
  void join(ProcessId client) { table_.client_joined(client, kDriver); }
  void give_back(std::size_t place) {
    const GrantLease lease = granted_[place];
    granted_[place] = granted_.back();
    granted_.pop_back();
    table_.lease_returned(lease.client, lease.lease);
    decide();
  }
  std::size_t granted() const { return granted_.size(); }
  std::uint64_t contradictions() const { return table_.state().contradictions; }

 private:
  static ResourceSet amount(std::uint32_t cpus) {
    ResourceSet set;
    set.set_units("CPU", static_cast<std::int64_t>(cpus) * ResourceSet::kUnitsPerOne);
    return set;
  }
  void decide() {
    table_.tick(now_ += std::chrono::microseconds(50));
    for (auto commands = table_.take_commands(); !commands.empty(); commands = table_.take_commands()) {
      for (const Command& command : commands) {
        if (std::holds_alternative<StartWorker>(command)) {
          starting_.push_back(++last_worker_);
          table_.worker_starting(last_worker_, kKey);
        }
        if (const auto* grant = std::get_if<GrantLease>(&command)) granted_.push_back(*grant);
      }
    }
  }

  LeaseTable table_;
  Moment now_{0};
  ProcessId last_worker_ = 1'000'000;
  std::vector<ProcessId> starting_;
  std::vector<GrantLease> granted_;
};

// Microseconds for each lease that goes from one to the next while all others run and nothing else is asked for.
double lease_us(std::uint32_t cpus) {
  LargeHost host(cpus);
  host.ask(kDriver, cpus);
  host.start_all();
  EXPECT_EQ(host.granted(), cpus);
  constexpr int kTurns = 2000;
  const double begin = thread_us();
  for (int turn = 0; turn < kTurns; ++turn) {
    host.give_back(static_cast<std::size_t>(turn) % cpus);
    host.ask(kDriver, 1);
  }
  const double us = (thread_us() - begin) / kTurns;
  EXPECT_EQ(host.granted(), cpus);
  EXPECT_EQ(host.contradictions(), 0u);
  return us;
}

// Microseconds for each lease that is given back while those before it are idle.
double idle_us(std::uint32_t cpus) {
  LargeHost host(cpus);
  host.ask(kDriver, cpus);
  host.start_all();
  const double begin = thread_us();
  while (host.granted() > 0) host.give_back(host.granted() - 1);
  return (thread_us() - begin) / cpus;
}

// Microseconds for each of so many actors, from the demand to the lease.
double actor_us(std::uint32_t actors) {
  LargeHost host(2);
  const double begin = thread_us();
  for (ProcessId home = 10; home < 10 + actors; ++home) {
    host.join(home);
    host.ask(home, 1, true);
  }
  host.start_all();
  const double us = (thread_us() - begin) / actors;
  EXPECT_EQ(host.granted(), actors);
  return us;
}

void expect_flat(const char* what, double few, double many) {
  SCOPED_TRACE(fmt::format("{}: {:.2f} us each of few, {:.2f} us each of many", what, few, many));
  ::testing::Test::RecordProperty(fmt::format("{}_few_us", what), fmt::format("{:.2f}", few));
  ::testing::Test::RecordProperty(fmt::format("{}_many_us", what), fmt::format("{:.2f}", many));
  fmt::print("{}: {:.2f} us each of few, {:.2f} us each of many\n", what, few, many);
  EXPECT_LT(many, kMostUs);
  EXPECT_LT(many, 4 * few + 2);
}

TEST(LargeHost, ALeaseOfAHostWith256CpusCostsTheNodeAsMuchAsOneOf8) {
  expect_flat("lease_128", lease_us(8), lease_us(128));
  expect_flat("lease_256", lease_us(8), lease_us(256));
}

TEST(LargeHost, AnIdleWorkerOf256CostsTheNodeAsMuchAsOneOf8) { expect_flat("idle_256", idle_us(8), idle_us(256)); }

TEST(LargeHost, AnActorOfTwoThousandCostsTheNodeAsMuchAsOneOfTwenty) {
  expect_flat("actor_2000", actor_us(20), actor_us(2000));
}

}  // namespace
}  // namespace fray::scheduler
