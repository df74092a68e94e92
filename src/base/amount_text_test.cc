#include "base/amount_text.h"

#include <gtest/gtest.h>

namespace fray {
namespace {

TEST(AmountText, MemoryIsGivenInTheUnitThatPeopleWouldWrite) {
  EXPECT_EQ(amount_text("memory", 25'276'500'000), "23.5 GiB");
  EXPECT_EQ(amount_text("memory", 1000), "1000 B");
  EXPECT_EQ(amount_text("memory", -536'870'912), "-512.0 MiB");
}

TEST(AmountText, OtherAmountsHaveNoExponent) {
  EXPECT_EQ(amount_text("CPU", 2), "2");
  EXPECT_EQ(amount_text("GPU", 0.0001), "0.0001");
  EXPECT_EQ(amount_text("licence", 25'000'000), "25000000");
  EXPECT_EQ(amount_text("CPU", 0), "0");
}

TEST(AmountText, NobodyReadsHundredsOfDigits) {
  EXPECT_EQ(amount_text("CPU", 1e300), "1e+300");
  EXPECT_EQ(amount_text("memory", 1e300), "8.674e+281 EiB");
}

TEST(AmountText, AmountsThatDifferReadDifferently) {
  const double eight_gib = 8.0 * (1ull << 30);
  EXPECT_EQ(amount_text("memory", eight_gib + 1, eight_gib), "8589934593 B");
  EXPECT_EQ(amount_text("memory", eight_gib, eight_gib + 1), "8589934592 B");
  EXPECT_EQ(amount_text("memory", eight_gib, eight_gib), "8.0 GiB");
  EXPECT_EQ(amount_text("memory", eight_gib, 2 * eight_gib), "8.0 GiB");
}

}  // namespace
}  // namespace fray
