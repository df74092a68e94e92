#include "iris/job_secret.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "iris/names.h"

namespace fray::iris {

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

// The id of the root job in the id of a job or a task: "/bob/train" for "/bob/train/eval/0".
std::string_view root_of(std::string_view id) {
  const std::size_t user_end = id.find('/', 1);
  return user_end == std::string_view::npos ? id : id.substr(0, id.find('/', user_end + 1));
}

}  // namespace

void give_secret(JobRequest* request) {
  if (request->env_vars.contains(kSecretVariable)) return;
  if (request->parent.empty()) {
    request->env_vars[kSecretVariable] = new_mark();
    return;
  }
  const std::string_view ours = variable(kSecretVariable);
  if (!ours.empty() && root_of(variable("IRIS_TASK_ID")) == root_of(request->parent)) {
    request->env_vars[kSecretVariable] = std::string(ours);
  }
}

}  // namespace fray::iris
