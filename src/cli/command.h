// Command: one command of the program `fray`. Each is a static object in a file <name>_command.cc, and a command is
// part of the program because that file is linked into it.
//
//   Command::Run add_ps(CLI::App& command) {
//     auto arguments = std::make_shared<PsArguments>();
//     command.add_flag("--json", arguments->json, "One JSON document");
//     return [arguments] { return run_ps(*arguments); };
//   }
//   const Command kPs("ps", "The processes of a node", add_ps);
//
// Only those files and main.cc include CLI11, because it takes seconds to compile.
//
// Threading:  constructed before main() begins, and constant from then on.
// Ownership:  static objects, which form a linked list.
// Failure:    a Run returns an exit code of cli/exit_codes.h.
#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace fray::cli {

class Command {
 public:
  using Run = std::function<int()>;
  using Add = Run (*)(CLI::App& command);  // declares the command's options

  Command(const char* name, const char* description, Add add) noexcept
      : name_(name), description_(description), add_(add), next_(std::exchange(first_, this)) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  static std::vector<const Command*> all();  // in the order of their names

  const char* name() const { return name_; }
  const char* description() const { return description_; }
  Run add_to(CLI::App& command) const { return add_(command); }

 private:
  const char* const name_;
  const char* const description_;
  const Add add_;
  const Command* const next_;
  static const Command* first_;
};

}  // namespace fray::cli
