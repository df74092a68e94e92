#include "base/log_line.h"

#include <ctime>

#include <gtest/gtest.h>

namespace fray {
namespace {

TEST(LogLine, an_event_says_when_it_was_and_how_grave_it_is) {
  const double before = static_cast<double>(std::time(nullptr));
  const std::string line = log_event_head(LogLevel::kWarning) + "fray node: the disk is full";
  const LogEvent event = parse_log_event(line);
  ASSERT_TRUE(event.unix_seconds);
  EXPECT_GE(*event.unix_seconds, before);
  EXPECT_LE(*event.unix_seconds, before + 60);
  EXPECT_EQ(event.level, "warning");
  EXPECT_EQ(event.text, "fray node: the disk is full");
}

TEST(LogLine, an_event_of_another_zone_or_year_is_read_to_the_microsecond) {
  const LogEvent event = parse_log_event("2000-02-29T00:00:01.250000Z error  two blanks");
  EXPECT_EQ(event.unix_seconds, 951782401.25);
  EXPECT_EQ(event.level, "error");
  EXPECT_EQ(event.text, " two blanks");
}

TEST(LogLine, a_line_that_was_written_otherwise_is_its_text) {
  for (const char* line : {"", "fray node: started", "2026-11-22T18:20:01.123456Z", "2026-11-22T18:20:01.123456Z ",
                           "2026-11-22T18:20:01.123456Z grave text", "2026-11-22T18:20:01.123456Z info",
                           "2026-11-22T18:20:0x.123456Z info text", "2026-11-22 18:20:01.123456Z info text",
                           "2026-11-22T18:20:01,123456Z info text"}) {
    const LogEvent event = parse_log_event(line);
    EXPECT_FALSE(event.unix_seconds) << line;
    EXPECT_EQ(event.level, "") << line;
    EXPECT_EQ(event.text, line);
  }
}

}  // namespace
}  // namespace fray
