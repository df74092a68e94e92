#include "http/metrics.h"

#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fray::http {
namespace {

using testing::HasSubstr;

TEST(MetricsTest, every_line_is_one_that_prometheus_reads) {
  const nlohmann::json status = {{"node", {{"release", "0.1\"\n\\x"}, {"uptime_seconds", 12.5}}},
                                 {"resources", {{"total", {{"CPU", 2.0}, {"memory", 25e9}}}, {"free", {{"CPU", -1}}}}},
                                 {"workers", {{{"state", "idle"}}, {{"state", "idle"}}, {{"state", "running"}}}},
                                 {"waiting", {{{"count", 3}}, {{"count", 4}}}},
                                 {"store", {{"used_bytes", 1}, {"limit_bytes", 2}}}};
  const std::string text = metrics_text(status, nlohmann::json::array({{{"status", "running"}}}));
  const std::regex line(R"re((# (HELP|TYPE) [a-z_]+ .+)|([a-z_]+(\{[a-z]+="([^"\\]|\\.)*"\})? -?[0-9.e+]+))re");
  std::istringstream lines(text);
  for (std::string each; std::getline(lines, each);) EXPECT_TRUE(std::regex_match(each, line)) << each;
  EXPECT_THAT(text, HasSubstr("fray_workers{state=\"idle\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("fray_resource_free{resource=\"CPU\"} -1\n"));
  EXPECT_THAT(text, HasSubstr("fray_waiting_tasks 7\n"));
  EXPECT_THAT(text, HasSubstr("fray_jobs{status=\"running\"} 1\n"));
}

TEST(MetricsTest, a_document_without_anything_gives_no_error) {
  EXPECT_THAT(metrics_text(nlohmann::json::object(), nullptr), HasSubstr("fray_clients 0\n"));
}

}  // namespace
}  // namespace fray::http
