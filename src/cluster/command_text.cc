#include "cluster/command_text.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace fray::cluster {

namespace {

bool is_plain(char c) {
  constexpr std::string_view kMarks = "@%+=:,./-_";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kMarks.find(c) != std::string_view::npos;
}

// Quotes a word for the shell, as Python's shlex.quote does.
std::string quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (char c : word) {
    if (c == '\'') {
      text += "'\"'\"'";
    } else {
      text += c;
    }
  }
  return text + "'";
}

}  // namespace

Result<std::string> command_text(const std::vector<std::string>& words) {
  if (words.empty()) {
    return Status(StatusCode::kInvalidArgument, "a job needs a command; write it after --, as in -- python train.py");
  }
  std::string text;
  for (const std::string& word : words) {
    if (word.find('\0') != std::string::npos) {
      return Status(StatusCode::kInvalidArgument, fmt::format("word {} of the command has a zero byte, which no "
                                                              "program can be given",
                                                              &word - words.data() + 1));
    }
    text += (text.empty() ? "" : " ") + quoted(word);
  }
  // The shell would read a first word such as `A=1` as a variable; here it is the name of a program.
  const std::string& first = words.front();
  const std::size_t equals = first.find('=');
  if (equals != std::string::npos && quoted(first) == first) text = "'" + first + "'" + text.substr(first.size());
  return text;
}

}  // namespace fray::cluster
