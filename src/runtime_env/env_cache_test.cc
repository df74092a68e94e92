#include "runtime_env/env_cache.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fray::runtime_env {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

const EnvCache::Wait kPatient = [] { return Status::ok(); };

EnvCache::Make file_of(std::size_t bytes, const std::string& content = "a file") {
  return [=](const std::string& folder) -> Result<std::string> {
    std::ofstream(folder + "/file") << std::string(bytes, 'x');
    return content;
  };
}

class EnvCacheTest : public testing::Test {
 protected:
  ~EnvCacheTest() override { fs::remove_all(folder_); }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const EnvEntry& entry : cache_.list()) names.push_back(entry.name);
    return names;
  }
  void used_at(const std::string& name, long seconds) const {
    timespec times[] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder_ + "/entries/" + name + "/in_use").c_str(), times, 0), 0);
  }
  bool nothing_is_left_over() const { return fs::is_empty(folder_ + "/tmp"); }

  std::string folder_ = testing::TempDir() + "fray-cache-" + std::to_string(::getpid());
  EnvCache cache_ = EnvCache::open(folder_).value();
};

TEST_F(EnvCacheTest, MakesAnEntryOnceAndFindsItAgain) {
  int made = 0;
  auto make = [&](const std::string& folder) -> Result<std::string> {
    ++made;
    return file_of(10)(folder);
  };
  auto first = cache_.obtain("a", "packages", make, kPatient);
  ASSERT_TRUE(first.is_ok()) << first.status().message();
  auto second = cache_.obtain("a", "packages", make, kPatient);
  ASSERT_TRUE(second.is_ok());
  EXPECT_EQ(made, 1);
  EXPECT_EQ(first->path(), second->path());
  EXPECT_TRUE(fs::exists(first->path() + "/file"));
  EXPECT_TRUE(nothing_is_left_over());
}

TEST_F(EnvCacheTest, NothingIsKeptOfWhatFailed) {
  auto fail = [](const std::string& folder) -> Result<std::string> {
    std::ofstream(folder + "/half") << "made";
    return Status(StatusCode::kIoError, "the index is down");
  };
  auto failed = cache_.obtain("a", "packages", fail, kPatient);
  ASSERT_FALSE(failed.is_ok());
  EXPECT_EQ(failed.status().message(), "the index is down");
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_TRUE(nothing_is_left_over());
  auto again = cache_.obtain("a", "packages", file_of(1), kPatient);
  ASSERT_TRUE(again.is_ok());
  EXPECT_FALSE(fs::exists(again->path() + "/half"));
}

TEST_F(EnvCacheTest, ThoseWhoAskAtTheSameMomentGetOneEntry) {
  std::atomic<int> made = 0;
  auto make = [&](const std::string& folder) -> Result<std::string> {
    ++made;
    return file_of(10)(folder);
  };
  std::atomic<int> got = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 50; ++i) {
      threads.emplace_back([&] {
        if (cache_.obtain("a", "packages", make, kPatient).is_ok()) ++got;
      });
    }
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(got, 50);
}

TEST_F(EnvCacheTest, WhoeverWaitsForAnotherCanStop) {
  auto outer = cache_.obtain(
      "a", "packages",
      [&](const std::string&) -> Result<std::string> {
        auto inner = cache_.obtain("a", "packages", file_of(1),
                                   [] { return Status(StatusCode::kCancelled, "not wanted any more"); });
        EXPECT_FALSE(inner.is_ok());
        EXPECT_EQ(inner.status().code(), StatusCode::kCancelled);
        return std::string("made");
      },
      kPatient);
  EXPECT_TRUE(outer.is_ok());
}

TEST_F(EnvCacheTest, WhatAKilledProcessLeftIsRemovedAndMadeAnew) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto never = cache_.obtain(
        "a", "packages",
        [](const std::string& folder) -> Result<std::string> {
          std::ofstream(folder + "/half") << "made";
          ::raise(SIGKILL);
          return std::string();
        },
        kPatient);
    ::_exit(never.is_ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(nothing_is_left_over());
  auto made = cache_.obtain("a", "packages", file_of(1), kPatient);
  ASSERT_TRUE(made.is_ok());
  EXPECT_FALSE(fs::exists(made->path() + "/half"));
  EXPECT_TRUE(nothing_is_left_over());
}

TEST_F(EnvCacheTest, PruningTakesWhatWasUsedLongestAgoAndNotWhatIsInUse) {
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(cache_.obtain(name, "packages", file_of(1 << 20), kPatient).is_ok());
  }
  auto held = cache_.use("a");
  ASSERT_TRUE(held.is_ok());
  used_at("a", 1000);
  used_at("c", 2000);
  used_at("b", 3000);
  used_at("d", 4000);
  EXPECT_THAT(names(), ElementsAre("d", "b", "c", "a"));
  auto removed = cache_.prune((2ull << 20) + (1 << 19));
  ASSERT_EQ(removed.size(), 2u);
  EXPECT_EQ(removed[0].name, "c");
  EXPECT_EQ(removed[1].name, "b");
  EXPECT_THAT(names(), ElementsAre("d", "a"));
  EXPECT_TRUE(nothing_is_left_over());
}

TEST_F(EnvCacheTest, ListSaysWhatAnEntryIs) {
  ASSERT_TRUE(cache_.obtain("a", "packages", file_of(1 << 20, "six==1.17.0"), kPatient).is_ok());
  auto held = cache_.use("a");
  auto entries = cache_.list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].kind, "packages");
  EXPECT_EQ(entries[0].content, "six==1.17.0");
  EXPECT_GE(entries[0].bytes, 1u << 20);
  EXPECT_TRUE(entries[0].in_use);
  held = EnvUse();
  EXPECT_FALSE(cache_.list()[0].in_use);
}

TEST_F(EnvCacheTest, ReadOnlyTreesAreRemovedAsWell) {
  auto make = [](const std::string& folder) -> Result<std::string> {
    fs::create_directories(folder + "/tree/below");
    std::ofstream(folder + "/tree/below/file") << "x";
    fs::permissions(folder + "/tree/below", fs::perms::owner_read | fs::perms::owner_exec);
    fs::permissions(folder + "/tree", fs::perms::owner_read | fs::perms::owner_exec);
    return std::string("read-only");
  };
  ASSERT_TRUE(cache_.obtain("a", "working_dir", make, kPatient).is_ok());
  EXPECT_EQ(cache_.prune(0).size(), 1u);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(EnvCacheTest, NamesThatLeaveTheFolderAreRefused) {
  for (const char* name : {"", "..", "../x", "a/b", ".hidden"}) {
    EXPECT_EQ(cache_.use(name).status().code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(EnvCacheTest, AFolderThatOthersMayWriteToIsRefused) {
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  auto opened = EnvCache::open(folder_);
  ASSERT_FALSE(opened.is_ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fray::runtime_env
