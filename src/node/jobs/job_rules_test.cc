#include "node/jobs/job_rules.h"

#include <map>

#include <gtest/gtest.h>

namespace fray::node {
namespace {

Result<JobRules> read(const std::map<std::string, std::string>& variables) {
  return JobRules::read([&](const char* name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(JobRules, WithoutVariablesAThousandJobsAreKeptForAMonth) {
  const JobRules rules = read({}).value();
  EXPECT_EQ(rules.max_processes, 0u);
  EXPECT_EQ(rules.retention.jobs, 1000u);
  EXPECT_EQ(rules.retention.age, std::chrono::hours(24 * 30));
}

TEST(JobRules, VariablesAreRead) {
  const JobRules rules =
      read({{"FRAY_JOB_PROCESSES", "512"}, {"FRAY_KEEP_JOBS", "7"}, {"FRAY_KEEP_JOBS_DAYS", "0.5"}}).value();
  EXPECT_EQ(rules.max_processes, 512u);
  EXPECT_EQ(rules.retention.jobs, 7u);
  EXPECT_EQ(rules.retention.age, std::chrono::hours(12));
}

TEST(JobRules, WhatIsNoNumberIsRefusedWithItsName) {
  for (const char* text : {"many", "-1", "1.5", "1e99", "3 days"}) {
    auto rules = read({{"FRAY_KEEP_JOBS", text}});
    ASSERT_FALSE(rules.is_ok()) << text;
    EXPECT_NE(rules.status().message().find("FRAY_KEEP_JOBS must be a whole number"), std::string::npos);
  }
}

}  // namespace
}  // namespace fray::node
