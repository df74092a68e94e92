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

}  // namespace
}  // namespace fray::runtime_env
