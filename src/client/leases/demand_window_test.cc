// Which demands the node is told: a bounded number at once, and each in its turn.
#include "client/leases/demand_window.h"

#include <vector>

#include <gtest/gtest.h>

namespace fray::client {
namespace {

constexpr std::uint32_t kMost = DemandWindow::kMostTold;

DemandWindow full_window() {
  DemandWindow window;
  for (std::uint32_t demand = 0; demand < kMost; ++demand) EXPECT_TRUE(window.admit(demand));
  return window;
}

TEST(DemandWindow, DemandsBeyondItsSizeWaitInTheOrderInWhichTheyCame) {
  DemandWindow window = full_window();
  for (std::uint32_t demand : {900u, 901u, 900u, 902u}) EXPECT_FALSE(window.admit(demand));
  EXPECT_EQ(window.next(), std::nullopt);
  std::vector<std::uint32_t> told;
  for (std::uint32_t demand = 0; demand < 5; ++demand) {
    window.leave(demand);
    if (auto next = window.next()) told.push_back(*next);
  }
  EXPECT_EQ(told, (std::vector{900u, 901u, 902u}));
  EXPECT_FALSE(window.others_wait());
}

TEST(DemandWindow, ToldDemandMayChangeAtAnyTime) {
  DemandWindow window = full_window();
  EXPECT_FALSE(window.admit(900));
  EXPECT_TRUE(window.admit(3));
}

TEST(DemandWindow, NewDemandDoesNotOvertakeThoseInLine) {
  DemandWindow window = full_window();
  EXPECT_FALSE(window.admit(900));
  window.leave(0);
  EXPECT_FALSE(window.admit(901));
  EXPECT_EQ(window.next(), 900u);
  EXPECT_EQ(window.next(), std::nullopt);
}

TEST(DemandWindow, DemandThatLetsOthersGoFirstComesBehindThem) {
  DemandWindow window = full_window();
  EXPECT_FALSE(window.admit(900));
  window.leave(0);
  EXPECT_EQ(window.next(), 900u);
  EXPECT_FALSE(window.admit(0));
  window.leave(1);
  EXPECT_EQ(window.next(), 0u);
  EXPECT_TRUE(window.admit(0));
}

}  // namespace
}  // namespace fray::client
