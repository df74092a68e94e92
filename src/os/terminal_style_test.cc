#include "os/terminal_style.h"

#include <gtest/gtest.h>

namespace fray::os {
namespace {

TEST(TerminalStyle, FollowsTheUsualVariablesInTheirOrder) {
  Surroundings terminal{"", "", "xterm", "C.UTF-8", true};
  EXPECT_TRUE(choose_style("auto", terminal).colour);
  EXPECT_FALSE(choose_style("never", terminal).colour);
  terminal.no_color = "1";
  EXPECT_FALSE(choose_style("always", terminal).colour);
  EXPECT_FALSE(choose_style("auto", {"", "", "dumb", "", true}).colour);
  EXPECT_FALSE(choose_style("auto", {"", "", "xterm", "", false}).colour);
  EXPECT_TRUE(choose_style("auto", {"", "1", "", "", false}).colour);
  EXPECT_TRUE(choose_style("always", {"", "", "", "", false}).colour);
  EXPECT_TRUE(choose_style("auto", {"", "", "", "C", true}).unicode);
  EXPECT_FALSE(choose_style("auto", {"", "", "", "de_DE.ISO-8859-1", true}).unicode);
}

TEST(TerminalStyle, PaintsOnlyWithColour) {
  EXPECT_EQ((TerminalStyle{true, true}.red("x")), "\x1b[31mx\x1b[0m");
  EXPECT_EQ((TerminalStyle{false, true}.red("x")), "x");
}

TEST(TerminalStyle, AProcessKeepsItsColour) {
  TerminalStyle style{true, true};
  EXPECT_EQ(style.of_process("x", 7), style.of_process("x", 7));
  EXPECT_NE(style.of_process("x", 7), style.of_process("x", 8));
  EXPECT_EQ((TerminalStyle{}.of_process("x", 7)), "x");
}

}  // namespace
}  // namespace fray::os
