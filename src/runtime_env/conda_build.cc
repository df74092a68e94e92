#include "runtime_env/conda_build.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/join.h"
#include "base/passwords.h"
#include "runtime_env/digest.h"
#include "runtime_env/package_build.h"
#include "runtime_env/text_lines.h"

namespace fray::runtime_env {

namespace {
constexpr std::string_view kCondaRecipe = "conda 1";
}

std::string conda_digest(const RuntimeEnvSpec& spec, const std::string& python_version) {
  Digest digest;
  digest.add(kCondaRecipe).add(python_version);
  for (const std::string& line : std::set<std::string>(spec.conda.begin(), spec.conda.end())) digest.add(line);
  return digest.text();
}

Result<std::string> find_conda(const Variables& environment) {
  for (const char* name : {"micromamba", "mamba", "conda"}) {
    if (std::string found = find_program(name, {}, environment); !found.empty()) return found;
  }
  return Status(StatusCode::kRuntimeEnv,
                "the runtime env names conda packages, but neither micromamba nor mamba nor conda is on the PATH; "
                "install one of them, or write package_requirements=[...], which uv installs from PyPI");
}

Result<std::string> python_version(const std::string& python, const Variables& environment, const BuildWatch& watch) {
  const Program program{{python, "-I", "-S", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"}, environment};
  FRAY_ASSIGN_OR_RETURN(ProgramEnd end, run_program(program, watch));
  const std::vector<std::string> lines = lines_of(end.output);
  if (end.exit_code == 0 && lines.size() == 1) return lines.front();
  return build_failed("asking the interpreter for its version", python, end);
}

Result<std::string> make_conda_env(const RuntimeEnvSpec& spec, const std::string& version, const std::string& folder,
                                   const std::string& conda, const Variables& environment, const BuildWatch& watch) {
  const std::string content = without_passwords(fmt::format("{}", fmt::join(spec.conda, ", ")));
  const std::string what = "making a conda environment with " + content;
  watch.say(what);
  Program program;
  program.command = {conda, "create", "--yes", "--quiet", "--prefix", folder + "/env", "python=" + version};
  program.command.insert(program.command.end(), spec.conda.begin(), spec.conda.end());
  program.environment = environment;
  auto say = [&](const std::string& line) { watch.say(what + ": " + without_passwords(line)); };
  FRAY_ASSIGN_OR_RETURN(ProgramEnd end, run_program(program, watch, say));
  const std::string name = std::filesystem::path(conda).filename().string();
  if (end.exit_code != 0) return build_failed(what, name, end);
  std::error_code ignored;
  if (!std::filesystem::exists(folder + "/env/bin/python", ignored))
    return build_failed(what + " with a Python", name, end);
  return content;
}

}  // namespace fray::runtime_env
