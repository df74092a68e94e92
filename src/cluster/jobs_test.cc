#include "cluster/jobs.h"

#include <gtest/gtest.h>

namespace fray::cluster {
namespace {

// A cluster with one job, which ends when it was asked after a number of times.
class OneJob : public Jobs {
 public:
  explicit OneJob(int asks) : left_(asks) {}

  Result<JobInfo> submit(JobSpec, const Patience&) override { return none(); }
  Result<Infos> list(const Patience&) override { return none(); }
  Result<Infos> get(const Ids& ids, const Patience&) override {
    if (ids != Ids{"a"}) return none();
    JobInfo info;
    info.state = --left_ > 0 ? JobState::kRunning : JobState::kSucceeded;
    return Infos{info};
  }
  Result<Infos> wait(const Ids& ids, const Patience& patience) override { return wait_by_asking(*this, ids, patience); }
  Result<Infos> stop(const Ids&, const Patience&) override { return none(); }
  Result<Infos> remove(const Ids&, const Patience&) override { return none(); }
  Result<std::unique_ptr<JobLog>> open_log(const LogRequest&, const Patience&) override { return none(); }

 private:
  static Status none() { return Status(StatusCode::kNotFound, "there is one job, a"); }

  int left_;
};

TEST(WaitByAskingTest, it_ends_with_the_job) {
  OneJob jobs(3);
  auto ended = jobs.wait({"a"}, {});
  ASSERT_TRUE(ended.is_ok());
  EXPECT_TRUE(ended->front().has_ended());
}

TEST(WaitByAskingTest, it_ends_at_the_deadline_and_when_it_is_interrupted) {
  OneJob jobs(1'000'000);
  EXPECT_EQ(jobs.wait({"a"}, Patience::of(std::chrono::milliseconds(20))).status().code(), StatusCode::kTimedOut);
  EXPECT_EQ(jobs.wait({"a"}, {{}, [] { return true; }}).status().code(), StatusCode::kCancelled);
}

TEST(WaitByAskingTest, a_failure_to_ask_is_told) {
  OneJob jobs(1);
  EXPECT_EQ(jobs.wait({"b"}, {}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace fray::cluster
