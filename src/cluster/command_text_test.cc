#include "cluster/command_text.h"

#include <array>
#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

namespace fray::cluster {
namespace {

// What `sh -c "printf '%s\0' <text>"` prints, split at the zero bytes.
std::vector<std::string> as_shell_reads(const std::string& text) {
  const std::string line = "printf '%s\\0' " + text;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(line.c_str(), "r"), ::pclose);
  std::string output;
  std::array<char, 4096> chunk;
  while (std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe.get())) output.append(chunk.data(), got);
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < output.size();) {
    const std::size_t end = output.find('\0', begin);
    words.push_back(output.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

TEST(CommandTextTest, a_shell_reads_back_every_word) {
  const std::vector<std::string> words = {
      "a",     "two words", "",          "'",       "\"",          "$(touch /tmp/never)",
      "`id`",  "a;b",       "a&b",       "a|b>c<d", "*?[x]",       "~",
      "-rf",   "#x",        "new\nline", "\\",      "\t",          "!",
      "{a,b}", "$HOME",     "it's",      "a=b",     "caf\xc3\xa9", "\x01\xff"};
  EXPECT_EQ(as_shell_reads(*command_text(words)), words);
}

TEST(CommandTextTest, a_first_word_with_an_equals_sign_is_no_variable) {
  EXPECT_EQ(*command_text({"A=1", "cmd"}), "'A=1' cmd");
}

TEST(CommandTextTest, plain_words_stay_as_they_are) {
  EXPECT_EQ(*command_text({"python", "train.py", "--steps=10", "a/b:c"}), "python train.py --steps=10 a/b:c");
}

TEST(CommandTextTest, no_words_and_zero_bytes_are_refused) {
  EXPECT_EQ(command_text({}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(command_text({"a", std::string("b\0c", 3)}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fray::cluster
