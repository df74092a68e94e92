// `fray completion bash|zsh|fish`: prints a shell script that completes the commands and options of this program.
//
//   eval "$(fray completion bash)"
//
// The script is made from the same tables that the parser uses.
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/exit_codes.h"

namespace fray::cli {

namespace {

struct Words {
  std::string path;   // "fray job submit"
  std::string words;  // the words that may follow
};

void collect(const CLI::App& app, const std::string& path, std::vector<Words>& found) {
  Words own{path, ""};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;  // internal
    own.words += command->get_name() + " ";
    collect(*command, path + " " + command->get_name(), found);
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) own.words += "--" + name + " ";
  }
  found.push_back(std::move(own));
}

// The path of a command consists of the words so far, without options.
constexpr const char* kBash = R"(_fray() {{
  local path=fray word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word == -- ]] && {{ COMPREPLY=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}")); return; }}
    [[ $word == -* ]] || path="$path $word"
  done
  local words=
  case "$path" in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
  [[ ${{#COMPREPLY[@]}} -gt 0 ]] || COMPREPLY=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -F _fray fray
)";

std::string bash(const std::vector<Words>& all) {
  std::string cases;
  for (const Words& each : all) cases += fmt::format("    \"{}\"*) words=\"{}\" ;;\n", each.path, each.words);
  return fmt::format(kBash, cases);
}

std::string fish(const std::vector<Words>& all) {
  std::string text;
  for (const Words& each : all) {
    const std::string tail = each.path == "fray" ? "" : each.path.substr(5);
    const std::string when = tail.empty()
                                 ? "__fish_use_subcommand"
                                 : fmt::format("string match -q -- '*{}*' (commandline -poc | string join ' ')", tail);
    text += fmt::format("complete -c fray -n \"{}\" -a \"{}\"\n", when, each.words);
  }
  return text;
}

int run_completion(const CLI::App& app, const std::string& shell) {
  std::vector<Words> all;  // a subcommand stands before the command that it belongs to
  collect(app, "fray", all);
  if (shell == "fish") {
    fmt::print("{}", fish(all));
  } else {
    fmt::print("{}{}", shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "", bash(all));
  }
  return kExitOk;
}

Command::Run add_completion(CLI::App& command) {
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command.footer("eval \"$(fray completion bash)\" in ~/.bashrc");
  return [&command, shell] { return run_completion(*command.get_parent(), *shell); };
}

const Command kCompletion("completion", "A script that completes commands and options in a shell", add_completion);

}  // namespace

}  // namespace fray::cli
