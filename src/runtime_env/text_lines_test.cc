#include "runtime_env/text_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::runtime_env {
namespace {

using testing::ElementsAre;

TEST(TextLines, EndsAreTakenOffWhateverTheyAre) {
  EXPECT_THAT(lines_of("a\r\nb\n\nc"), ElementsAre("a", "b", "", "c"));
  EXPECT_TRUE(lines_of("").empty());
}

TEST(TextLines, TheLastOnesAreKept) {
  EXPECT_EQ(last_lines("a\nb\nc\n", 2), "b\nc");
  EXPECT_EQ(last_lines("a\nb", 50), "a\nb");
  EXPECT_EQ(last_lines("", 50), "");
}

TEST(TextLines, PasswordsInAddressesAreNotShown) {
  EXPECT_EQ(without_passwords("at https://me:hunter2@index.example/simple: 401"),
            "at https://****@index.example/simple: 401");
  EXPECT_EQ(without_passwords("git+ssh://token@host/a http://a/b@c"), "git+ssh://****@host/a http://a/b@c");
  EXPECT_EQ(without_passwords("a@b https://x y@z"), "a@b https://x y@z");
  EXPECT_EQ(without_passwords("https://me:p@ss@host"), "https://****@host");
  EXPECT_EQ(without_passwords("://"), "://");
}

}  // namespace
}  // namespace fray::runtime_env
