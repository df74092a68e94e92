#include "runtime_env/ignore_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime_env/build_watch.h"

namespace fray::runtime_env {
namespace {

struct Case {
  const char* rules;
  const char* path;
  bool is_folder;
  std::optional<bool> expected;
};

TEST(IgnoreFile, ReadsPatternsAsGitDoes) {
  const Case cases[] = {
      {"*.log", "a.log", false, true},
      {"*.log", "a/b/c.log", false, true},
      {"*.log", "a.txt", false, std::nullopt},
      {"*.log\n!keep.log", "keep.log", false, false},
      {"!keep.log\n*.log", "keep.log", false, true},
      {"/a.log", "a.log", false, true},
      {"/a.log", "b/a.log", false, std::nullopt},
      {"build/", "build", true, true},
      {"build/", "build", false, std::nullopt},
      {"build/", "a/build", true, true},
      {"a/build", "a/build", true, true},
      {"a/build", "b/a/build", true, std::nullopt},
      {"a/*.c", "a/b.c", false, true},
      {"a/*.c", "a/b/c.c", false, std::nullopt},
      {"**/raw", "raw", true, true},
      {"**/raw", "a/b/raw", true, true},
      {"a/**/raw", "a/raw", true, true},
      {"a/**/raw", "a/b/c/raw", true, true},
      {"a/**", "a/b/c", false, true},
      {"a/**", "a", true, std::nullopt},
      {"# comment", "# comment", false, std::nullopt},
      {"\\#file", "#file", false, true},
      {"\\!file", "!file", false, true},
      {"file  ", "file", false, true},
      {"file\\ ", "file ", false, true},
      {"file[0-9]", "file7", false, true},
      {"file[!0-9]", "file7", false, std::nullopt},
      {"*", ".hidden", false, true},
      {"", "a", false, std::nullopt},
      {"/", "a", true, std::nullopt},
      {"a\r\nb\r\n", "b", false, true},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(IgnoreFile::parse(each.rules).decide(each.path, each.is_folder), each.expected)
        << each.rules << " | " << each.path;
  }
}

TEST(IgnoreFile, ManyStarsTakeNoLongTime) {
  std::string rules;
  for (int i = 0; i < 30; ++i) rules += "**/a/";
  std::string path;
  for (int i = 0; i < 200; ++i) path += "a/";
  EXPECT_EQ(IgnoreFile::parse(rules + "b").decide(path + "c", false), std::nullopt);
}

// Draws patterns and paths and asks git itself.
TEST(IgnoreFile, AgreesWithGit) {
  const Variables environment = own_environment();
  const std::string git = find_program("git", {}, environment);
  if (git.empty()) GTEST_SKIP() << "git is not installed";
  const std::string folder = testing::TempDir() + "fray-ignore-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(run_program({{git, "init", "-q", folder}, environment, folder}, BuildWatch()).is_ok());
  std::mt19937 random(7);
  auto one_of = [&](const std::vector<std::string>& from) { return from[random() % from.size()]; };
  const std::vector<std::string> parts = {"a", "b", "a.c", "*.c", "*", "**", "[ab]", "?", "!x"};
  const std::vector<std::string> names = {"a", "b", "a.c", "b.c", "x"};
  for (int round = 0; round < 60; ++round) {
    std::string rules;
    for (int line = 0; line < 3; ++line) {
      if (random() % 4 == 0) rules += "!";
      if (random() % 4 == 0) rules += "/";
      for (std::size_t i = 0, count = 1 + random() % 3; i < count; ++i) rules += (i > 0 ? "/" : "") + one_of(parts);
      rules += random() % 4 == 0 ? "/\n" : "\n";
    }
    std::ofstream(folder + "/.gitignore") << rules;
    std::vector<std::string> paths;
    for (int i = 0; i < 8; ++i) {
      // Of one part only: git also says "ignored" of what lies in an ignored folder, which is never asked here.
      paths.push_back(one_of(names));
    }
    std::vector<std::string> words = {git, "check-ignore", "--no-index", "-v", "-n"};
    words.insert(words.end(), paths.begin(), paths.end());
    auto answer = run_program({words, environment, folder}, BuildWatch());
    ASSERT_TRUE(answer.is_ok());
    std::size_t index = 0;
    std::string output = answer->output;
    for (std::size_t end = output.find('\n'); end != std::string::npos; end = output.find('\n')) {
      const std::string line = output.substr(0, end);
      output.erase(0, end + 1);
      ASSERT_LT(index, paths.size());
      const bool matched = !line.starts_with("::");
      const std::size_t tab = line.find('\t');
      const std::size_t pattern = line.find(':', line.find(':') + 1) + 1;
      const bool negated = matched && line.substr(pattern, tab - pattern).starts_with("!");
      const std::optional<bool> expected = matched ? std::optional<bool>(!negated) : std::nullopt;
      EXPECT_EQ(IgnoreFile::parse(rules).decide(paths[index], false), expected) << rules << "| " << paths[index];
      ++index;
    }
    EXPECT_EQ(index, paths.size());
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fray::runtime_env
