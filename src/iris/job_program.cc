#include "iris/job_program.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cluster/command_text.h"

namespace fray::iris {

namespace {

const std::vector<std::string> kInWorkdir = {"bash", "-c", R"(cd "$IRIS_WORKDIR" && exec "$@")", "bash"};

}  // namespace

std::vector<std::string> in_workdir(const std::vector<std::string>& command) {
  std::vector<std::string> argv = kInWorkdir;
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

std::vector<std::string> command_in(const std::vector<std::string>& argv) {
  const bool is_wrapped =
      argv.size() > kInWorkdir.size() && std::equal(kInWorkdir.begin(), kInWorkdir.end(), argv.begin());
  if (!is_wrapped) return argv;
  return {std::next(argv.begin(), static_cast<std::ptrdiff_t>(kInWorkdir.size())), argv.end()};
}

Result<std::vector<std::string>> setup_lines(const std::vector<std::string>& packages,
                                             const std::vector<std::string>& extras,
                                             const std::string& python_version) {
  std::vector<std::string> lines;
  if (packages.empty() && extras.empty()) return lines;
  auto add = [&lines](std::vector<std::string> words, const std::vector<std::string>& more) -> Status {
    words.insert(words.end(), more.begin(), more.end());
    FRAY_ASSIGN_OR_RETURN(std::string line, cluster::command_text(words));
    lines.push_back(std::move(line));
    return Status::ok();
  };
  lines.emplace_back(R"(cd "$IRIS_WORKDIR")");
  std::vector<std::string> version;
  if (!python_version.empty()) version = {"--python", python_version};
  FRAY_RETURN_IF_ERROR(add({"uv", "venv", "--quiet"}, version));
  lines.emplace_back("source .venv/bin/activate");
  const std::vector<std::string> install = {"uv", "pip", "install", "--quiet"};
  if (!extras.empty()) FRAY_RETURN_IF_ERROR(add(install, {fmt::format(".[{}]", fmt::join(extras, ","))}));
  if (!packages.empty()) FRAY_RETURN_IF_ERROR(add(install, packages));
  return lines;
}

}  // namespace fray::iris
