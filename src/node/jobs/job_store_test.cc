#include "node/jobs/job_store.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace fray::node {
namespace {

namespace fs = std::filesystem;

class JobStoreTest : public testing::Test {
 protected:
  JobStoreTest() : folder_(testing::TempDir() + "/job_store_XXXXXX") { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~JobStoreTest() override { fs::remove_all(folder_); }

  std::unique_ptr<JobStore> open() {
    auto store = JobStore::open(folder_, &rebuilt_);
    EXPECT_TRUE(store.is_ok()) << store.status().message();
    return store.is_ok() ? std::move(store).value() : nullptr;
  }

  std::string folder_;
  std::string rebuilt_;
};

TEST_F(JobStoreTest, RecordsComeBackAfterTheStoreIsOpenedAgain) {
  ASSERT_TRUE(open()->keep({{"a", "1"}, {"b", "2"}}).is_ok());
  ASSERT_TRUE(open()->keep({{"a", "3"}}).is_ok());
  ASSERT_TRUE(open()->remove("b").is_ok());
  const std::vector<JobStore::Row> rows = open()->read().value();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].record, "3");
  EXPECT_EQ(rebuilt_, "");
  fs::remove(folder_ + "/jobs.db");
  open();
  EXPECT_NE(rebuilt_.find("was not there"), std::string::npos);
}

TEST_F(JobStoreTest, WhatIsNoDatabaseIsMovedAsideAndSaid) {
  std::ofstream(folder_ + "/jobs.db") << std::string(10'000, 'x');
  ASSERT_TRUE(open()->keep({{"a", "1"}}).is_ok());
  EXPECT_NE(rebuilt_, "");
  const auto is_aside = [](const fs::directory_entry& entry) {
    return entry.path().filename().string().starts_with("jobs.db.damaged-");
  };
  EXPECT_TRUE(std::any_of(fs::directory_iterator(folder_), fs::directory_iterator(), is_aside));
}

TEST_F(JobStoreTest, DamagedPageIsNoticedWhenTheStoreIsOpened) {
  {
    auto store = open();
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(store->keep({{std::to_string(i), std::string(1000, 'r')}}).is_ok());
    }
  }
  std::fstream file(folder_ + "/jobs.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8192);
  file << std::string(8192, '\x5a');
  file.close();
  open();
  EXPECT_NE(rebuilt_, "");
}

}  // namespace
}  // namespace fray::node
