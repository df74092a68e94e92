// Command: one command of the program `fray`. A file <name>_command.cc has one, which is in the program by being linked.
//
//   Command::Run add_ps(CLI::App& command) {
//     auto arguments = std::make_shared<PsArguments>();
//     command.add_flag("--json", arguments->json, "One JSON document");
//     return [arguments] { return run_ps(*arguments); };
//   }
//   const Command kPs("ps", "The processes of a node", add_ps);
//
// CLI11 takes seconds to compile, so that only these files and main.cc include it.
//
// Threading:  made before main() begins; constant from then on.
// Ownership:  static objects, in a list through themselves.
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
  using Add = Run (*)(CLI::App& command);  // gives it its options

  Command(const char* name, const char* description, Add add) noexcept
      : name_(name), description_(description), add_(add), next_(std::exchange(first_, this)) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  static std::vector<const Command*> all();  // by name

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
