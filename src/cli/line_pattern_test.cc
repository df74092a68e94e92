#include "cli/line_pattern.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::cli {
namespace {

using testing::HasSubstr;

bool finds(const std::string& expression, std::string_view line) {
  return *LinePattern::compile(expression)->is_in(line);
}

TEST(LinePattern, FindsAPartOfALine) {
  EXPECT_TRUE(finds("[24]$", "line 2"));
  EXPECT_FALSE(finds("[24]$", "line 24x"));
  EXPECT_TRUE(finds(R"(^\d+ (?:a|b)\b)", "17 b c"));
  EXPECT_FALSE(finds("^b", "ab"));
  EXPECT_TRUE(finds("", ""));
  EXPECT_TRUE(finds("^$", ""));
}

TEST(LinePattern, TakesCharactersOfUtf8AndBytesThatAreNone) {
  EXPECT_TRUE(finds("^g.n$", "g\xC3\xBCn"));
  EXPECT_TRUE(finds("[\xC3\xBC]", "g\xC3\xBCn"));
  EXPECT_TRUE(finds("end$", "\xFF\xFE end"));
}

TEST(LinePattern, LooksThroughLongLines) {
  const std::string x(1 << 20, 'x');
  EXPECT_TRUE(finds("x$", x));
  EXPECT_FALSE(finds("y", x));
  EXPECT_TRUE(finds("(x|z)*y", x + "y"));
  EXPECT_TRUE(finds("(?<=x)\xC3\xBC", x + "\xC3\xBC"));
  for (std::size_t place = 60; place < 70; ++place) EXPECT_TRUE(finds("ab", x.substr(0, place) + "ab" + x));
}

TEST(LinePattern, GivesUpWhereAnExpressionTakesTooLong) {
  const std::string x(60'000, 'x');
  auto found = LinePattern::compile("(x+x+)+[yz]")->is_in(x);
  ASSERT_FALSE(found.is_ok());
  EXPECT_EQ(found.status().message(),
            "(x+x+)+[yz] takes too long on a line of 60000 characters; begin it with what no repetition repeats, and "
            "write no repetition inside of another");
}

TEST(LinePattern, SaysWhatIsWrongWithAnExpression) {
  auto pattern = LinePattern::compile("a(b");
  ASSERT_FALSE(pattern.is_ok());
  EXPECT_THAT(pattern.status().message(), HasSubstr("a(b is no regular expression: missing closing parenthesis"));
  EXPECT_FALSE(LinePattern::compile("\xFF").is_ok());
}

}  // namespace
}  // namespace fray::cli
