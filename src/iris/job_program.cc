#include "iris/job_program.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cluster/command_text.h"

namespace fray::iris {

namespace {

// IRIS_TASK_ID is /user/job/0 in the first attempt and /user/job/0:2 in the third. The shell has no variables of its own
// here: the program might have ones of the same names.
constexpr const char* kStart = R"sh(export FRAY_JOB_NAME="$1" FRAY_JOB_ID="${IRIS_TASK_ID%/*}"
export FRAY_JOB_ATTEMPT="${IRIS_TASK_ID##*/}:0" FRAY_REPLICA_COUNT="$IRIS_NUM_TASKS"
export FRAY_REPLICA_ID="${FRAY_JOB_ATTEMPT%%:*}" FRAY_JOB_ATTEMPT="${FRAY_JOB_ATTEMPT#*:}"
export FRAY_JOB_ATTEMPT="$((${FRAY_JOB_ATTEMPT%%:*} + 1))"
shift; cd "$IRIS_WORKDIR" && exec "$@")sh";

const std::vector<std::string> kStartInWorkdir = {"bash", "-c", kStart, "bash"};

}  // namespace

std::vector<std::string> in_workdir(const std::string& job_name, const std::vector<std::string>& command) {
  std::vector<std::string> argv = kStartInWorkdir;
  argv.push_back(job_name);
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

std::vector<std::string> command_in(const std::vector<std::string>& argv) {
  const std::size_t before = kStartInWorkdir.size() + 1;
  const bool is_wrapped =
      argv.size() > before && std::equal(kStartInWorkdir.begin(), kStartInWorkdir.end(), argv.begin());
  if (!is_wrapped) return argv;
  return {std::next(argv.begin(), static_cast<std::ptrdiff_t>(before)), argv.end()};
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
