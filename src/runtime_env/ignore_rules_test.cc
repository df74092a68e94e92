#include "runtime_env/ignore_rules.h"

#include <string>

#include <gtest/gtest.h>

namespace fray::runtime_env {
namespace {

TEST(IgnoreRules, RulesOfAFolderHoldBelowItAlone) {
  IgnoreRules rules;
  rules.enter("", IgnoreFile::parse("*.log"));
  EXPECT_FALSE(rules.ignores("sub", true));
  rules.enter("sub", IgnoreFile::parse("*.txt\n/here"));
  EXPECT_TRUE(rules.ignores("sub/a.txt", false));
  EXPECT_TRUE(rules.ignores("sub/here", true));
  EXPECT_TRUE(rules.ignores("sub/a.log", false));
  rules.enter("sub/deep", IgnoreFile());
  EXPECT_TRUE(rules.ignores("sub/deep/a.txt", false));
  EXPECT_FALSE(rules.ignores("sub/deep/here", true));
  rules.leave();
  rules.leave();
  EXPECT_FALSE(rules.ignores("a.txt", false));
  EXPECT_FALSE(rules.ignores("subway", true));
}

TEST(IgnoreRules, DeeperFoldersAndLaterFilesWin) {
  IgnoreRules rules;
  rules.enter("", IgnoreFile::parse("*.log\n!mine.log"));
  rules.enter("", IgnoreFile::parse("mine.log"));
  EXPECT_TRUE(rules.ignores("mine.log", false));
  rules.enter("sub", IgnoreFile::parse("!keep.log"));
  EXPECT_FALSE(rules.ignores("sub/keep.log", false));
  EXPECT_TRUE(rules.ignores("sub/mine.log", false));
}

TEST(IgnoreRules, PatternOfManyStarsEndsSoon) {
  std::string stars;
  for (int i = 0; i < 200; ++i) stars += "*a";
  IgnoreRules rules;
  rules.enter("", IgnoreFile::parse(stars + "b"));
  EXPECT_FALSE(rules.ignores(std::string(4000, 'a'), false));
}

}  // namespace
}  // namespace fray::runtime_env
