#include "runtime_env/archive.h"

#include <clocale>
#include <filesystem>
#include <fstream>

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fray::runtime_env {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Entry {
  std::string name = {};
  std::string content = {};
  std::string symlink = {};
  std::string hardlink = {};
  mode_t type = AE_IFREG;
  mode_t mode = 0644;
};

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() { fs::create_directories(target_); }
  ~ArchiveTest() override { fs::remove_all(folder_); }

  void pack(const std::vector<Entry>& entries, bool zip = false, bool packed = true) {
    archive* out = ::archive_write_new();
    zip ? ::archive_write_set_format_zip(out) : ::archive_write_set_format_pax_restricted(out);
    if (!zip && packed) ::archive_write_add_filter_gzip(out);
    ASSERT_EQ(::archive_write_open_filename(out, path_.c_str()), ARCHIVE_OK);
    for (const Entry& each : entries) {
      archive_entry* entry = ::archive_entry_new();
      ::archive_entry_set_pathname(entry, each.name.c_str());
      ::archive_entry_set_filetype(entry, each.symlink.empty() ? each.type : static_cast<mode_t>(AE_IFLNK));
      ::archive_entry_set_perm(entry, each.mode);
      ::archive_entry_set_size(entry, static_cast<la_int64_t>(each.content.size()));
      if (!each.symlink.empty()) ::archive_entry_set_symlink(entry, each.symlink.c_str());
      if (!each.hardlink.empty()) ::archive_entry_set_hardlink(entry, each.hardlink.c_str());
      ASSERT_EQ(::archive_write_header(out, entry), ARCHIVE_OK) << ::archive_error_string(out);
      ::archive_write_data(out, each.content.data(), each.content.size());
      ::archive_entry_free(entry);
    }
    ASSERT_EQ(::archive_write_close(out), ARCHIVE_OK);
    ::archive_write_free(out);
  }
  Status unpack(const TreeLimits& limits = {}) const { return unpack_archive(path_, target_, limits); }
  std::string text(const std::string& name) const {
    std::ifstream file(target_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Nothing but what was there before: the archive and the target.
  bool nothing_outside() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each : fs::directory_iterator(folder_)) ++count;
    return count == 2;
  }

  std::string folder_ = testing::TempDir() + "fray-archive-" + std::to_string(::getpid());
  std::string target_ = folder_ + "/target";
  std::string path_ = folder_ + "/archive";
};

TEST_F(ArchiveTest, UnpacksFilesFoldersAndLinksThatStayInside) {
  for (bool zip : {false, true}) {
    fs::remove_all(target_);
    fs::create_directories(target_);
    pack({{.name = "./a/b.txt", .content = "text"},
          {.name = "run.sh", .content = "#!/bin/sh", .mode = 0755},
          {.name = "c/link", .symlink = "../a/b.txt"}},
         zip);
    Status done = unpack();
    ASSERT_TRUE(done.is_ok()) << done.message();
    EXPECT_EQ(text("a/b.txt"), "text");
    EXPECT_EQ(text("c/link"), "text");
    EXPECT_EQ(::access((target_ + "/run.sh").c_str(), X_OK), 0);
    struct stat found {};
    ASSERT_EQ(::stat((target_ + "/a/b.txt").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0111, 0u);
  }
}

TEST_F(ArchiveTest, AHardLinkInsideIsTaken) {
  pack({{.name = "a", .content = "text"}, {.name = "b", .hardlink = "a"}});
  ASSERT_TRUE(unpack().is_ok());
  EXPECT_EQ(text("b"), "text");
}

TEST_F(ArchiveTest, RefusesWhatLeadsOut) {
  const std::vector<std::vector<Entry>> hostile = {
      {{.name = "../outside", .content = "x"}},         {{.name = "a/../../outside", .content = "x"}},
      {{.name = folder_ + "/outside", .content = "x"}}, {{.name = "..\\outside", .content = "x"}},
      {{.name = "link", .symlink = "../outside"}},      {{.name = "link", .symlink = "/etc/passwd"}},
      {{.name = "a/link", .symlink = "../../outside"}}, {{.name = "link", .hardlink = "../archive"}},
      {{.name = "link", .hardlink = "/etc/passwd"}},    {{.name = "pipe", .type = AE_IFIFO}},
      {{.name = "device", .type = AE_IFCHR}},
  };
  for (const auto& entries : hostile) {
    fs::remove_all(target_);
    fs::create_directories(target_);
    pack(entries);
    Status done = unpack();
    ASSERT_FALSE(done.is_ok()) << entries[0].name;
    EXPECT_EQ(done.code(), StatusCode::kRuntimeEnv) << done.message();
    EXPECT_THAT(done.message(), HasSubstr("is refused"));
    EXPECT_TRUE(nothing_outside()) << entries[0].name;
  }
}

TEST_F(ArchiveTest, RefusesLinksThatLeadOutThroughOtherLinks) {
  const std::string deep = "a/b/c/d/";
  const std::vector<std::vector<Entry>> hostile = {
      {{.name = deep + "up", .symlink = "../../../.."}, {.name = "out", .symlink = deep + "up/.."}},
      {{.name = "out", .symlink = deep + "up/.."}, {.name = deep + "up", .symlink = "../../../.."}},
      {{.name = deep + "up", .symlink = "../../../.."},
       {.name = "x", .symlink = deep + "up"},
       {.name = "y", .symlink = "x/a/../.."}},
      // Where there is nothing yet there may be something later.
      {{.name = deep + "up", .symlink = "../../../../later"}, {.name = "out", .symlink = deep + "up/../../.."}},
      {{.name = "here", .symlink = "."}, {.name = "out", .symlink = "here/here/../here/.."}},
      {{.name = "a/here", .symlink = "."}, {.name = "a/out", .symlink = "here/../.."}},
  };
  for (const auto& entries : hostile) {
    fs::remove_all(target_);
    fs::create_directories(target_);
    pack(entries);
    const Status done = unpack();
    ASSERT_FALSE(done.is_ok()) << entries[0].name;
    EXPECT_THAT(done.message(), HasSubstr("leads out of the folder"));
  }
}

TEST_F(ArchiveTest, TakesLinksThatStayInsideHoweverTheyGo) {
  pack({{.name = "a/b/c/file", .content = "text"},
        {.name = "short", .symlink = "a/b/../b/c"},
        {.name = "a/back", .symlink = "../short/file"},
        {.name = "a/b/round", .symlink = "../../a/b"},
        {.name = "far", .symlink = "a/b/round/round/round/c/../../../short/file"},
        {.name = "circle", .symlink = "circle"},
        {.name = "dangling", .symlink = "a/nothing/x"}});
  const Status done = unpack();
  ASSERT_TRUE(done.is_ok()) << done.message();
  EXPECT_EQ(text("a/back"), "text");
  EXPECT_EQ(text("far"), "text");
}

// A zip with one empty file, as bytes: libarchive writes names as the test's locale has it.
std::string zip_of(const std::string& name, bool says_utf8) {
  const auto number = [](std::size_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
  };
  const std::string common =
      number(20, 2) + number(says_utf8 ? 0x800 : 0, 2) + std::string(18, '\0') + number(name.size(), 2) + number(0, 2);
  const std::string local = "PK\3\4" + common + name;
  const std::string central = "PK\1\2" + number(20, 2) + common + std::string(14, '\0') + name;
  return local + central + "PK\5\6" + number(0, 4) + number(1, 2) + number(1, 2) + number(central.size(), 4) +
         number(local.size(), 4) + number(0, 2);
}

TEST_F(ArchiveTest, NamesThatAreNotAsciiBecomeFilesWhateverTheLocale) {
  const std::string before = ::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"C", "C.UTF-8"}) {
    ASSERT_NE(::setlocale(LC_ALL, locale), nullptr);
    for (const std::string name : {"données/日本.txt", "plain.txt", "caf\xe9.txt"}) {
      for (bool says_utf8 : {false, true}) {
        if (says_utf8 && name.find('\xe9') != std::string::npos) continue;
        SCOPED_TRACE(name + locale + (says_utf8 ? " as UTF-8" : ""));
        fs::remove_all(target_);
        fs::create_directories(target_);
        std::ofstream(path_) << zip_of(name, says_utf8);
        const Status done = unpack();
        EXPECT_TRUE(done.is_ok()) << done.message();
        EXPECT_TRUE(fs::exists(target_ + "/" + name));
      }
    }
    fs::remove_all(target_);
    fs::create_directories(target_);
    ASSERT_NE(::setlocale(LC_ALL, "C.UTF-8"), nullptr);  // libarchive writes names as the locale has them
    pack({{.name = "données/日本.txt", .content = "text"}, {.name = "là", .symlink = "données/日本.txt"}});
    ASSERT_NE(::setlocale(LC_ALL, locale), nullptr);
    const Status done = unpack();
    ASSERT_TRUE(done.is_ok()) << done.message();
    EXPECT_EQ(text("là"), "text");
    EXPECT_STREQ(::setlocale(LC_ALL, nullptr), locale);
  }
  ::setlocale(LC_ALL, before.c_str());
}

TEST_F(ArchiveTest, WritesThroughNoLinkThatAnEarlierEntryMade) {
  pack({{.name = "a", .symlink = "b"}, {.name = "b/x", .content = "x"}, {.name = "a/y", .content = "y"}});
  EXPECT_FALSE(unpack().is_ok());
  EXPECT_FALSE(fs::exists(target_ + "/b/y"));
}

TEST_F(ArchiveTest, ABombIsRefused) {
  pack({{.name = "zeros", .content = std::string(64u << 20, '\0')}});
  Status done = unpack();
  ASSERT_FALSE(done.is_ok());
  EXPECT_THAT(done.message(), HasSubstr("more than 200 times"));
}

TEST_F(ArchiveTest, ManyEntriesOrBytesAreRefused) {
  pack({{.name = "a", .content = "1"}, {.name = "b", .content = "2"}, {.name = "c", .content = "3"}});
  EXPECT_THAT(unpack({.entries = 2}).message(), HasSubstr("more than 2 entries"));
  EXPECT_THAT(unpack({.bytes = 2}).message(), HasSubstr("more than 2 bytes"));
}

TEST_F(ArchiveTest, WhatIsNoArchiveOrCutIsRefused) {
  std::ofstream(path_) << "no archive at all, just text that is long enough to be looked at";
  EXPECT_THAT(unpack().message(), HasSubstr("cannot be read"));
  std::string noise;
  for (unsigned i = 0; i < 200'000; ++i) noise += static_cast<char>((i * 2654435761u) >> 13);
  pack({{.name = "a", .content = noise}});
  fs::resize_file(path_, fs::file_size(path_) / 2);
  EXPECT_FALSE(unpack().is_ok());
  EXPECT_EQ(unpack_archive("/nowhere/x.zip", target_, {}).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace fray::runtime_env
