#include "ray/ignore_rules.h"

#include <gtest/gtest.h>

namespace fray::ray {
namespace {

bool ignored(std::string_view lines, const std::string& path, bool is_folder = false) {
  IgnoreRules rules;
  rules.add(lines, "");
  return rules.ignores(path, is_folder);
}

TEST(IgnoreRulesTest, names_match_in_every_folder_and_paths_from_the_root) {
  EXPECT_TRUE(ignored("*.log", "a.log"));
  EXPECT_TRUE(ignored("*.log", "deep/er/a.log"));
  EXPECT_FALSE(ignored("*.log", "a.log.txt"));
  EXPECT_TRUE(ignored("/build", "build"));
  EXPECT_FALSE(ignored("/build", "src/build"));
  EXPECT_TRUE(ignored("src/*.o", "src/a.o"));
  EXPECT_FALSE(ignored("src/*.o", "src/deep/a.o"));
}

TEST(IgnoreRulesTest, a_slash_at_the_end_means_folders_alone) {
  EXPECT_TRUE(ignored("cache/", "cache", true));
  EXPECT_FALSE(ignored("cache/", "cache", false));
}

TEST(IgnoreRulesTest, two_stars_cross_folders) {
  EXPECT_TRUE(ignored("data/**/raw", "data/raw"));
  EXPECT_TRUE(ignored("data/**/raw", "data/a/b/raw"));
  EXPECT_FALSE(ignored("data/**/raw", "data/a/draw"));
  EXPECT_TRUE(ignored("**/tmp", "a/b/tmp"));
  EXPECT_TRUE(ignored("**/tmp", "tmp"));
  EXPECT_TRUE(ignored("logs/**", "logs/a/b"));
}

TEST(IgnoreRulesTest, later_rules_win_and_an_exclamation_mark_takes_back) {
  EXPECT_FALSE(ignored("*.log\n!keep.log", "keep.log"));
  EXPECT_TRUE(ignored("*.log\n!keep.log\nkeep.*", "keep.log"));
}

TEST(IgnoreRulesTest, sets_question_marks_and_escapes_are_read) {
  EXPECT_TRUE(ignored("a[0-9].txt", "a7.txt"));
  EXPECT_FALSE(ignored("a[!0-9].txt", "a7.txt"));
  EXPECT_TRUE(ignored("a?.txt", "ab.txt"));
  EXPECT_TRUE(ignored("\\#x", "#x"));
  EXPECT_TRUE(ignored("\\!x", "!x"));
  EXPECT_TRUE(ignored("a[", "a["));
}

TEST(IgnoreRulesTest, rules_of_a_folder_hold_below_it_alone) {
  IgnoreRules rules;
  rules.add("*.txt\n/here", "sub");
  EXPECT_TRUE(rules.ignores("sub/a.txt", false));
  EXPECT_TRUE(rules.ignores("sub/here", true));
  EXPECT_FALSE(rules.ignores("a.txt", false));
  EXPECT_FALSE(rules.ignores("subway/a.txt", false));
}

TEST(IgnoreRulesTest, comments_and_blank_lines_say_nothing) {
  EXPECT_FALSE(ignored("# a\n\n   \r\n", "# a"));
  EXPECT_FALSE(ignored("# a\n\n   \r\n", "a"));
}

TEST(IgnoreRulesTest, a_pattern_of_many_stars_ends_soon) {
  EXPECT_FALSE(ignored(std::string(200, '*') + "b" + std::string(200, '*') + "c", std::string(4000, 'a')));
}

}  // namespace
}  // namespace fray::ray
