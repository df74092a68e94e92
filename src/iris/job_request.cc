#include "iris/job_request.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "iris/job_program.h"
#include "iris/messages.h"
#include "iris/tpu_slice.h"
#include "model/json_text.h"

namespace fray::iris {

namespace {

constexpr std::int32_t kMillicoresOfDevices = 32'000;  // the least that Iris's own client asks for beside a device

Status wrong_request(std::string what) { return Status(StatusCode::kInvalidArgument, std::move(what)); }

Status check_amount(std::string_view what, std::int64_t amount, std::int64_t least) {
  if (amount >= least) return Status::ok();
  return wrong_request(fmt::format("{} is {}; it must be at least {}", what, amount, least));
}

Status check_variables(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos) {
      return wrong_request(fmt::format("\"{}\" cannot be the name of an environment variable", name));
    }
    if (value.find('\0') != std::string::npos || !is_utf8(name) || !is_utf8(value)) {
      return wrong_request(fmt::format("the environment variable {} has a zero byte, or bytes that are no UTF-8",
                                       is_utf8(name) ? name : "..."));
    }
  }
  return Status::ok();
}

Status check_texts(std::string_view what, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (!is_utf8(text))
      return wrong_request(fmt::format("{} has bytes that are no UTF-8, which Iris does not take", what));
  }
  return Status::ok();
}

Status check_metadata(const std::map<std::string, std::string>& metadata) {
  for (const auto& [name, text] : metadata) {
    if (!is_utf8(name) || !is_utf8(text)) {
      return wrong_request("the metadata have bytes that are no UTF-8, which Iris does not take");
    }
  }
  return Status::ok();
}

Status check_files(const std::map<std::string, std::string>& files) {
  for (const auto& [name, content] : files) {
    const std::string slashed = "/" + name + "/";
    const bool leads_out = name.starts_with('/') || slashed.find("/../") != std::string::npos;
    if (name.empty() || leads_out || !is_utf8(name)) {
      return wrong_request(
          fmt::format("\"{}\" cannot be the name of a file of the job: it must be a relative path without ..", name));
    }
  }
  return Status::ok();
}

Status check_constraint(const Constraint& constraint) {
  using Op = Constraint::Op;
  if (constraint.key.empty()) return wrong_request("a constraint needs a key, such as region");
  const bool takes_none = constraint.op == Op::kExists || constraint.op == Op::kNotExists;
  const std::size_t most = takes_none ? 0 : constraint.op == Op::kIn ? constraint.values.size() : 1;
  const bool fits = constraint.values.size() == most && (takes_none || !constraint.values.empty());
  if (fits) return Status::ok();
  return wrong_request(fmt::format("the constraint on {} has {} values and takes {}", constraint.key,
                                   constraint.values.size(), takes_none ? "none" : "one"));
}

wire::ConstraintOp op_of(Constraint::Op op) {
  // The enumerators stand in the order of the protocol.
  return static_cast<wire::ConstraintOp>(op);
}

wire::ExistingJobPolicy policy_of(Existing existing) {
  switch (existing) {
    case Existing::kKeep:
      return wire::EXISTING_JOB_POLICY_KEEP;
    case Existing::kReplace:
      return wire::EXISTING_JOB_POLICY_UNSPECIFIED;
    case Existing::kRefuse:
      break;
  }
  return wire::EXISTING_JOB_POLICY_ERROR;
}

std::optional<wire::DeviceConfig> device_of(const Device& device) {
  wire::DeviceConfig config;
  switch (device.kind) {
    case Device::Kind::kCpu:
      return std::nullopt;
    case Device::Kind::kGpu:
      config.gpu = {device.variant, device.count};
      break;
    case Device::Kind::kTpu:
      config.tpu = {device.variant, device.topology, device.count};
      break;
  }
  return config;
}

wire::Constraint constraint_of(const Constraint& constraint) {
  wire::Constraint message{.key = constraint.key, .op = op_of(constraint.op)};
  if (constraint.preferred) message.mode = wire::CONSTRAINT_MODE_PREFERRED;
  if (constraint.op == Constraint::Op::kIn) {
    for (const std::string& value : constraint.values) message.values.push_back({.string_value = value});
  } else if (!constraint.values.empty()) {
    message.value = wire::AttributeValue{.string_value = constraint.values.front()};
  }
  return message;
}

wire::EnvironmentConfig environment_of(const JobRequest& request, const std::string& mark) {
  wire::EnvironmentConfig environment;
  environment.pip_packages = request.pip_packages;
  environment.env_vars = request.env_vars;
  environment.env_vars[kSubmissionVariable] = mark;
  if (!request.metadata.empty()) environment.env_vars[kMetadataVariable] = json_text(request.metadata);
  environment.extras = request.extras;
  environment.python_version = request.python_version;
  return environment;
}

std::optional<wire::Duration> duration_of(std::chrono::milliseconds length) {
  if (length.count() == 0) return std::nullopt;
  return wire::Duration{length.count()};
}

}  // namespace

Status check(const JobRequest& request) {
  if (request.argv.empty() || request.argv.front().empty()) {
    return wrong_request("a job needs a command; write it after --, as in -- python train.py");
  }
  for (const std::string& word : request.argv) {
    if (word.find('\0') != std::string::npos || !is_utf8(word)) {
      return wrong_request("the command has a zero byte, or bytes that are no UTF-8, which Iris does not take");
    }
  }
  FRAY_RETURN_IF_ERROR(check_amount("the number of replicas", request.replicas, 1));
  FRAY_RETURN_IF_ERROR(check_amount("cpu_millicores", request.cpu_millicores, 0));
  FRAY_RETURN_IF_ERROR(check_amount("memory_bytes", request.memory_bytes, 0));
  FRAY_RETURN_IF_ERROR(check_amount("disk_bytes", request.disk_bytes, 0));
  FRAY_RETURN_IF_ERROR(check_amount("the number of devices", request.device.count, 0));
  FRAY_RETURN_IF_ERROR(check_amount("max_retries_failure", request.max_retries_failure, 0));
  FRAY_RETURN_IF_ERROR(check_amount("max_retries_preemption", request.max_retries_preemption, 0));
  FRAY_RETURN_IF_ERROR(check_amount("the timeout in milliseconds", request.timeout.count(), 0));
  FRAY_RETURN_IF_ERROR(check_amount("the scheduling timeout in milliseconds", request.scheduling_timeout.count(), 0));
  for (const Constraint& constraint : request.constraints) FRAY_RETURN_IF_ERROR(check_constraint(constraint));
  FRAY_RETURN_IF_ERROR(check_texts("a setup command", request.setup));
  FRAY_RETURN_IF_ERROR(check_texts("a package", request.pip_packages));
  FRAY_RETURN_IF_ERROR(check_texts("an extra", request.extras));
  FRAY_RETURN_IF_ERROR(check_texts("the name of a port", request.ports));
  FRAY_RETURN_IF_ERROR(check_files(request.files));
  FRAY_RETURN_IF_ERROR(check_metadata(request.metadata));
  return check_variables(request.env_vars);
}

Constraint any_of(std::string key, std::vector<std::string> values) {
  const auto op = values.size() == 1 ? Constraint::Op::kEq : Constraint::Op::kIn;
  return {std::move(key), op, std::move(values)};
}

Status complete(JobRequest* request) {
  const bool has_packages = !request->pip_packages.empty() || !request->extras.empty();
  if (request->setup.empty() && has_packages) {
    std::vector<std::string> packages = request->runner_packages;
    packages.insert(packages.end(), request->pip_packages.begin(), request->pip_packages.end());
    FRAY_ASSIGN_OR_RETURN(request->setup, setup_lines(packages, request->extras, request->python_version));
  }
  if (request->device.kind == Device::Kind::kCpu) return Status::ok();
  request->cpu_millicores = std::max(request->cpu_millicores, kMillicoresOfDevices);
  const TpuSlice* slice =
      request->device.kind == Device::Kind::kTpu ? find_tpu_slice(request->device.variant) : nullptr;
  if (slice == nullptr || slice->machines == 1) return Status::ok();
  if (request->replicas == 1) request->replicas = slice->machines;
  if (request->replicas % slice->machines != 0) {
    return wrong_request(
        fmt::format("{} replicas fill no number of slices: each {} has {} machines, with a replica on each",
                    request->replicas, slice->name, slice->machines));
  }
  if (request->group_by.empty()) request->group_by = "tpu-name";
  return Status::ok();
}

wire::LaunchJobRequest launch_question(const JobRequest& request, const std::string& id, const std::string& mark,
                                       const std::string& today) {
  wire::LaunchJobRequest message;
  message.name = id;
  message.client_revision_date = today;
  wire::RuntimeEntrypoint& entrypoint = message.entrypoint.emplace();
  entrypoint.setup_commands = request.setup;
  entrypoint.run_command = wire::CommandEntrypoint{request.argv};
  entrypoint.workdir_files = request.files;
  message.environment = environment_of(request, mark);
  message.bundle_id = request.bundle_id;

  message.resources =
      wire::ResourceSpec{request.cpu_millicores, request.memory_bytes, device_of(request.device), request.disk_bytes};
  for (const Constraint& constraint : request.constraints) message.constraints.push_back(constraint_of(constraint));
  message.replicas = request.replicas;
  if (!request.group_by.empty()) message.coscheduling = wire::CoschedulingConfig{request.group_by};
  message.ports = request.ports;

  message.max_retries_failure = request.max_retries_failure;
  message.max_retries_preemption = request.max_retries_preemption;
  message.timeout = duration_of(request.timeout);
  message.scheduling_timeout = duration_of(request.scheduling_timeout);
  message.existing_job_policy = policy_of(request.existing);
  message.priority_band = static_cast<wire::PriorityBand>(request.band);  // in the order of the protocol
  message.task_image = request.task_image;
  return message;
}

}  // namespace fray::iris
