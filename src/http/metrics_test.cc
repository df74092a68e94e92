#include "http/metrics.h"

#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fray::http {
namespace {

using testing::HasSubstr;

nlohmann::json run_times() {
  return {{"bounds_seconds", {0.001, 0.1}},
          {"functions",
           {{{"name", "train<\"step\">\xff"},
             {"ok", 4},
             {"failed", 1},
             {"cancelled", 0},
             {"timed_out", 0},
             {"retried", 2},
             {"count", 7},
             {"seconds_total", 1.5},
             {"cpu_seconds", 1.25},
             {"up_to", {3, 6}}}}}};
}

TEST(MetricsTest, every_line_is_one_that_prometheus_reads) {
  const nlohmann::json status = {{"node", {{"release", "0.1\"\n\\x"}, {"uptime_seconds", 12.5}}},
                                 {"actors", {{{"state", "alive"}}, {{"state", "alive"}}}}};
  const nlohmann::json now = {{"resources", {{"total", {{"CPU", 2.0}, {"memory", 25e9}}}, {"free", {{"CPU", -1}}}}},
                              {"workers", {{"total", 3}, {"idle", 2}, {"running", 1}, {"blocked", 0}}},
                              {"drivers", 1},
                              {"tasks", {{"waiting", 7}, {"running", 1}}},
                              {"store", {{"used_bytes", 1}, {"limit_bytes", 2}}}};
  const nlohmann::json jobs = nlohmann::json::array({{{"status", "running"}}});
  const nlohmann::json runs = run_times();
  const std::string text = metrics_text({status, now, runs, jobs});
  const std::regex line(R"re((# (HELP|TYPE) [a-z_]+ .+)|([a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? (-?[0-9.e+]+)))re");
  std::istringstream lines(text);
  for (std::string each; std::getline(lines, each);) EXPECT_TRUE(std::regex_match(each, line)) << each;
  for (const char* sample : {"fray_workers{state=\"idle\"} 2\n", "fray_workers{state=\"blocked\"} 0\n",
                             "fray_resource_free{resource=\"CPU\"} -1\n", "fray_memory_capacity_bytes 25000000000\n",
                             "fray_tasks_waiting 7\n", "fray_jobs{status=\"running\"} 1\n",
                             "fray_actors{state=\"alive\"} 2\n", "fray_drivers 1\n"}) {
    EXPECT_THAT(text, HasSubstr(sample));
  }
  EXPECT_THAT(text, testing::Not(HasSubstr("resource=\"memory\"")));
  EXPECT_THAT(text, testing::Not(HasSubstr("state=\"total\"")));
}

TEST(MetricsTest, times_of_a_function_are_a_histogram_whose_buckets_add_up) {
  const nlohmann::json nothing, runs = run_times();
  const std::string text = metrics_text({nothing, nothing, runs, nothing});
  const std::string function = "{function=\"train<\\\"step\\\">\uFFFD\"";
  for (const std::string& sample : {"fray_task_runs_total" + function + ",outcome=\"ok\"} 4\n",
                                    "fray_task_runs_total" + function + ",outcome=\"retried\"} 2\n",
                                    "fray_task_cpu_seconds_total" + function + "} 1.25\n",
                                    "fray_task_duration_seconds_bucket" + function + ",le=\"0.001\"} 3\n",
                                    "fray_task_duration_seconds_bucket" + function + ",le=\"0.1\"} 6\n",
                                    "fray_task_duration_seconds_bucket" + function + ",le=\"+Inf\"} 7\n",
                                    "fray_task_duration_seconds_sum" + function + "} 1.5\n",
                                    "fray_task_duration_seconds_count" + function + "} 7\n"}) {
    EXPECT_THAT(text, HasSubstr(sample));
  }
}

TEST(MetricsTest, documents_without_anything_give_no_error) {
  const nlohmann::json nothing = nlohmann::json::object();
  EXPECT_THAT(metrics_text({nothing, nothing, nothing, nothing}), HasSubstr("fray_node_info{release=\"\"} 1\n"));
}

}  // namespace
}  // namespace fray::http
