#include "client/leases/lease_order.h"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace fray::client {
namespace {

Lease* anybody(const LeaseOrder& order) {
  return order.first([](const Lease&) { return true; });
}

TEST(LeaseOrder, GivesTheLeaseWithTheFewestTasksAndTheOneIdleForLongest) {
  LeaseOrder order;
  Lease leases[3];
  EXPECT_EQ(anybody(order), nullptr);
  for (Lease& lease : leases) order.place(&lease);
  EXPECT_EQ(anybody(order), &leases[2]);  // the last one that became idle
  EXPECT_EQ(order.longest_idle(), &leases[0]);
  leases[2].sent.resize(3);
  leases[0].sent.resize(1);
  order.place(&leases[2]);
  order.place(&leases[0]);
  EXPECT_EQ(anybody(order), &leases[1]);
  EXPECT_EQ(order.longest_idle(), &leases[1]);
  order.remove(&leases[1]);
  EXPECT_EQ(anybody(order), &leases[0]);
  EXPECT_FALSE(order.has_idle());
  EXPECT_EQ(order.usable(), 2u);
  EXPECT_EQ(order.behind(), 2u);
}

TEST(LeaseOrder, LooksAtFewOfThoseThatDoNotFitAndFindsWhoAnswersNext) {
  LeaseOrder order;
  std::vector<Lease> leases(200);
  for (Lease& lease : leases) {
    lease.sent.resize(1);
    lease.stalled = true;
    order.place(&lease);
  }
  int looks = 0;
  const auto fits = [&looks](const Lease& lease) { return ++looks > 0 && !lease.stalled; };
  leases[0].stalled = false;  // the last one in the list
  EXPECT_EQ(order.first(fits), nullptr);
  EXPECT_LT(looks, 20);
  order.place(&leases[0]);  // as when it has answered
  EXPECT_EQ(order.first(fits), &leases[0]);
}

// The same answers as a look through all leases gives.
TEST(LeaseOrder, AgreesWithALookThroughAllWhateverHappens) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&random](std::size_t below) { return random() % below; };
    LeaseOrder order;
    std::vector<std::unique_ptr<Lease>> leases;
    Clock::time_point now{};
    for (int step = 0; step < 400; ++step) {
      now += std::chrono::microseconds(1 + draw(3));
      if (leases.empty() || draw(6) == 0) {
        leases.push_back(std::make_unique<Lease>());
        leases.back()->last_answer = now;
        order.place(leases.back().get());
      }
      const std::size_t chosen = draw(leases.size());
      Lease& lease = *leases[chosen];
      switch (draw(6)) {
        case 0:
          lease.blocked = !lease.blocked;
          break;
        case 1:
          lease.draining = true;
          break;
        case 2:
          lease.recalls = 1 - lease.recalls;
          break;
        case 3:
          lease.sent.resize(draw(20));
          break;
        case 4:
          lease.last_answer = now;
          break;
        default:
          order.remove(&lease);
          leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(chosen));
          chosen < leases.size() ? order.place(leases[chosen].get()) : void();
          continue;
      }
      order.place(&lease);
      const auto count = [&leases](auto&& holds) {
        return std::count_if(leases.begin(), leases.end(), [&](const auto& each) { return holds(*each); });
      };
      EXPECT_EQ(order.usable(), count([](const Lease& each) { return each.usable(); }));
      EXPECT_EQ(order.has_idle(), count([](const Lease& each) { return each.usable() && each.idle(); }) > 0);
      std::size_t behind = 0;
      std::size_t fewest = 1000;
      Clock::time_point silent = Clock::time_point::max();
      for (const auto& each : leases) {
        if (each->usable()) fewest = std::min(fewest, each->sent.size());
        if (each->usable() && !each->idle()) behind += each->sent.size() - 1;
        if (each->may_return()) silent = std::min(silent, each->last_answer);
      }
      EXPECT_EQ(order.behind(), behind);
      Lease* first = anybody(order);
      EXPECT_EQ(first == nullptr ? 1000 : first->sent.size(), fewest);
      Lease* longest = order.longest_silent();
      EXPECT_EQ(longest == nullptr ? Clock::time_point::max() : longest->last_answer, silent);
      EXPECT_EQ(order.returnable().size(), count([](const Lease& each) { return each.may_return(); }));
      EXPECT_EQ(order.has_worth_sharing(),
                count([](const Lease& each) { return each.may_return() && each.sent.size() >= kWorthSharing; }) > 0);
    }
  }
}

}  // namespace
}  // namespace fray::client
