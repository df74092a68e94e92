#include "runtime_env/container.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/join.h"
#include "model/json_text.h"
#include "os/files/run_folder.h"
#include "os/machine/machine.h"
#include "runtime_env/digest.h"
#include "runtime_env/package_build.h"
#include "runtime_env/text_lines.h"

namespace fray::runtime_env {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kMostProcesses = 32768;

// Options of every container, by which it has what Fray needs of the host.
const std::vector<std::string> kShared = {"--rm",
                                          "--pid=host",
                                          "--ipc=host",
                                          "--network=host",
                                          "--log-driver=none",
                                          "--entrypoint=",
                                          "--security-opt=label=disable",
                                          "--label=fray=1"};

std::uint64_t most_files() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_max : 1024;
}

// The name of the file with the verdict, which depends on the program.
std::string verdict_name(const std::string& program) {
  struct stat found {};
  utsname kernel{};
  if (::stat(program.c_str(), &found) != 0 || ::uname(&kernel) != 0) return "";
  Digest digest;
  digest.add("container 1").add(program).add(kernel.release).add(kernel.version);
  digest.add(fmt::format("{} {} {} {}", found.st_size, found.st_mtim.tv_sec, most_files(), ::getuid()));
  return "container-" + digest.text() + ".json";
}

std::vector<std::string> run_words(const ContainerEngine& engine, const std::vector<std::string>& options) {
  std::vector<std::string> words = {engine.program};
  auto of_run =
      std::find_if(options.begin(), options.end(), [](const auto& word) { return word.starts_with("--ulimit"); });
  words.insert(words.end(), options.begin(), of_run);
  words.emplace_back("run");
  words.insert(words.end(), kShared.begin(), kShared.end());
  words.insert(words.end(), of_run, options.end());
  return words;
}

// The container engine still lists a container as running that was killed together with the engine's helper, as at the
// end of a session. Best effort: the next call tries again.
void remove_dead(const ContainerEngine& engine, const Variables& environment, const BuildWatch& watch) {
  if (!engine.is_podman) return;
  const Program look{{engine.program, "ps", "--filter=label=fray=1", "--format={{.ID}} {{.Pid}}"}, environment};
  Result<ProgramEnd> listed = run_program(look, watch);
  if (!listed.is_ok() || listed->exit_code != 0) return;
  std::istringstream lines(listed->output);
  std::string id;
  for (pid_t pid = 0; lines >> id >> pid;) {
    std::error_code ignored;
    if (pid == 0 || fs::exists(fmt::format("/proc/{}", pid), ignored)) continue;
    const Program remove{{engine.program, "rm", "--force", "--", id}, environment};
    if (!run_program(remove, watch).is_ok()) return;
  }
}

// Whether the engine has run the container. The result is the same if the image has no `true`: only the engine is
// tested.
bool has_run(const ProgramEnd& end) {
  return end.exit_code == 0 || (end.exit_code == 127 && end.output.find("executable file") != std::string::npos);
}

Result<std::vector<std::string>> probe(const ContainerEngine& engine, const std::string& image,
                                       const Variables& environment, const BuildWatch& watch) {
  watch.say("trying which options containers work with on this machine");
  std::string words;
  for (const std::vector<std::string>& options : options_to_try(engine.is_podman, most_files())) {
    Program program{run_words(engine, options), environment};
    for (const std::string& word : {std::string("--"), image, std::string("true")}) program.command.push_back(word);
    FRAY_ASSIGN_OR_RETURN(ProgramEnd end, run_program(program, watch));
    if (has_run(end)) return options;
    words += fmt::format("\nwith {}:\n{}", options.empty() ? "no options" : fmt::format("{}", fmt::join(options, " ")),
                         last_lines(end.output, 4));
  }
  return Status(StatusCode::kRuntimeEnv,
                fmt::format("{} is installed, but no container can be run with it:{}", engine.program, words));
}

}  // namespace

std::vector<std::vector<std::string>> options_to_try(bool is_podman, std::uint64_t most_files) {
  const std::vector<std::string> limits = {
      fmt::format("--ulimit=nofile={0}:{0}", std::max<std::uint64_t>(most_files, 2) - 1),
      fmt::format("--ulimit=nproc={0}:{0}", kMostProcesses)};
  std::vector<std::vector<std::string>> sets = {{}, limits};
  if (!is_podman) return sets;
  for (const char* runtime : {"--runtime=crun", "--runtime=runc"}) {
    sets.push_back(limits);
    sets.back().insert(sets.back().begin(), runtime);
  }
  return sets;
}

Result<ContainerEngine> find_container_engine(const EnvCache& cache, const RuntimeEnvSpec& spec,
                                              const Variables& environment, const BuildWatch& watch) {
  ContainerEngine engine;
  engine.program = find_program("podman", {}, environment);
  engine.is_podman = !engine.program.empty();
  if (!engine.is_podman) engine.program = find_program("docker", {}, environment);
  if (engine.program.empty()) {
    return Status(
        StatusCode::kRuntimeEnv,
        "the runtime env names a container image, but neither podman nor docker is on the PATH; install one of "
        "them, or write package_requirements=[...] instead of the image");
  }
  if (!engine.is_podman && spec.purpose == "worker") {
    return Status(
        StatusCode::kRuntimeEnv,
        "tasks and actors in a container need podman, which can hand descriptors to a container; docker, which "
        "is installed here, can run jobs only");
  }
  remove_dead(engine, environment, watch);
  FRAY_RETURN_IF_ERROR(check_image(engine, spec.container_image, environment, watch));
  const std::string verdict = cache.folder() + "/" + verdict_name(engine.program);
  json known = parse_json(os::read_text(verdict));
  if (known.is_array()) {
    engine.options = known.get<std::vector<std::string>>();
    return engine;
  }
  FRAY_ASSIGN_OR_RETURN(engine.options, probe(engine, spec.container_image, environment, watch));
  const std::string beside = fmt::format("{}.{}", verdict, ::getpid());
  std::ofstream(beside) << json_text(engine.options) << std::flush;
  std::rename(beside.c_str(), verdict.c_str());  // best effort: without the file the next call tries again
  return engine;
}

Status check_image(const ContainerEngine& engine, const std::string& image, const Variables& environment,
                   const BuildWatch& watch) {
  Program look{{engine.program, "image", "inspect", "--format={{.Id}}", "--", image}, environment};
  FRAY_ASSIGN_OR_RETURN(ProgramEnd found, run_program(look, watch));
  if (found.exit_code == 0) return Status::ok();
  watch.say("pulling the image " + image);
  Program pull{{engine.program, "pull", "--quiet", "--", image}, environment};
  FRAY_ASSIGN_OR_RETURN(ProgramEnd pulled, run_program(pull, watch));
  if (pulled.exit_code == 0) return Status::ok();
  const std::string name = fs::path(engine.program).filename().string();
  return build_failed(fmt::format("the image {} is not on this machine; pulling it", image), name, pulled);
}

std::vector<std::string> container_command(const ContainerEngine& engine, const RuntimeEnvSpec& spec,
                                           const std::string& folder, const Variables& environment) {
  std::vector<std::string> words = run_words(engine, engine.options);
  if (engine.is_podman && spec.purpose == "worker") words.push_back("--preserve-fds=2");
  auto share = [&](const std::string& here, const std::string& there, const char* mode) {
    std::error_code ignored;
    if (fs::exists(here, ignored)) words.push_back(fmt::format("--volume={}:{}:{}", here, there, mode));
  };
  if (!spec.home.empty()) {
    for (const char* name : {"fray", "cloudpickle"}) {
      share(spec.home + "/" + name, fmt::format("{}/{}", kContainerHome, name), "ro");
    }
  }
  share(os::run_folder_path(), os::run_folder_path(), "rw");  // the sockets of nodes
  if (!folder.empty()) {
    share(folder, folder, "ro");
    words.push_back("--workdir=" + folder);
  }
  std::vector<std::string> names = spec.variables;
  for (const auto& [name, value] : environment) {
    if (name.starts_with("FRAY_")) names.push_back(name);
  }
  names.emplace_back("PYTHONPATH");
  for (const std::string& name : names) words.push_back("--env=" + name);
  words.insert(words.end(), {"--", spec.container_image});
  return words;
}

}  // namespace fray::runtime_env
