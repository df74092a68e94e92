#include "dashboard/growth.h"

#include <gtest/gtest.h>

namespace fray::dashboard {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
const Growth::Kind kLeak{1, "load"};
const Growth::Kind kSteady{1, ""};

class GrowthTest : public testing::Test {
 protected:
  // For so many seconds, every half second: the sums at that time.
  template <typename SumAt>
  void pass(double seconds, SumAt sum_at) {
    for (const double end = time_ + seconds; time_ < end; time_ += 0.5) growth_.add(time_, sum_at(time_));
  }

  Growth growth_;
  double time_ = 1000;
};

TEST_F(GrowthTest, what_grows_for_a_minute_is_told_with_its_beginning) {
  const auto sums = [](double time) {
    const auto more = static_cast<std::uint64_t>(std::max(0.0, time - 1100));
    return std::map<Growth::Kind, Growth::Sum>{{kLeak, {10 + more, (10 + more) * kMiB}}, {kSteady, {5, 99 * kMiB}}};
  };
  pass(100, sums);
  EXPECT_TRUE(growth_.rows().empty()) << "it is large, and does not grow";
  pass(50, sums);
  EXPECT_TRUE(growth_.rows().empty()) << "what grows for less than a minute may be how a program begins";
  pass(100, sums);
  const std::vector<Growth::Row> rows = growth_.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].kind, kLeak);
  EXPECT_NEAR(rows[0].since, 1100, 2 * Growth::kStep);
  EXPECT_EQ(rows[0].then.bytes, 10 * kMiB);
  EXPECT_GT(rows[0].now.count, 100u);
}

TEST_F(GrowthTest, what_goes_up_and_down_does_not_grow_unless_its_least_does) {
  pass(300, [](double time) {
    const auto part = static_cast<std::uint64_t>(time * 2) % 10;
    return std::map<Growth::Kind, Growth::Sum>{{kSteady, {part, (1 + part) * kMiB}}};
  });
  EXPECT_TRUE(growth_.rows().empty());
  pass(300, [](double time) {
    const auto part = static_cast<std::uint64_t>(time * 2) % 10;
    const auto more = static_cast<std::uint64_t>((time - 1300) / 10);
    return std::map<Growth::Kind, Growth::Sum>{{kSteady, {part, (1 + part + more) * kMiB}}};
  });
  EXPECT_EQ(growth_.rows().size(), 1u);
}

TEST_F(GrowthTest, what_has_ended_to_grow_or_has_fallen_is_not_told) {
  std::uint64_t mib = 1;
  const auto sums = [&mib](double) { return std::map<Growth::Kind, Growth::Sum>{{kLeak, {1, mib * kMiB}}}; };
  for (; mib < 200; ++mib) pass(1, sums);
  ASSERT_EQ(growth_.rows().size(), 1u);
  pass(90, sums);
  EXPECT_TRUE(growth_.rows().empty()) << "it stays as it is";
  for (; mib < 400; ++mib) pass(1, sums);
  ASSERT_EQ(growth_.rows().size(), 1u);
  mib = 2;
  pass(30, sums);
  EXPECT_TRUE(growth_.rows().empty()) << "it was let go of";
}

TEST_F(GrowthTest, little_is_no_leak_and_a_gap_begins_anew) {
  pass(300, [](double time) {
    return std::map<Growth::Kind, Growth::Sum>{{kLeak, {1, static_cast<std::uint64_t>(time)}}};
  });
  EXPECT_TRUE(growth_.rows().empty());
  const auto fast = [](double time) {
    return std::map<Growth::Kind, Growth::Sum>{{kLeak, {1, static_cast<std::uint64_t>(time) * kMiB}}};
  };
  pass(200, fast);
  ASSERT_EQ(growth_.rows().size(), 1u);
  time_ += 600;  // nobody looked
  pass(30, fast);
  EXPECT_TRUE(growth_.rows().empty());
}

TEST_F(GrowthTest, many_small_objects_are_told_and_kinds_have_an_end) {
  pass(200, [](double time) {
    const auto count = static_cast<std::uint64_t>((time - 1000) * 100);
    std::map<Growth::Kind, Growth::Sum> sums{{kSteady, {count, count}}};
    for (ProcessId owner = 2; owner < 1000; ++owner) sums[{owner, "f"}] = {1, 1};
    return sums;
  });
  EXPECT_EQ(growth_.rows().size(), 1u);
}

}  // namespace
}  // namespace fray::dashboard
