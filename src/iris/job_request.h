// JobRequest: a job as a user asks for it, and the message that launches it.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    check() returns kInvalidArgument with what was given and what is allowed. No message contains the values
//             of environment variables.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace fray::iris {

namespace wire {
struct LaunchJobRequest;
}

struct Device {
  enum class Kind { kCpu, kGpu, kTpu };
  Kind kind = Kind::kCpu;
  std::string variant;     // "v5litepod-16", "h100"
  std::string topology;    // of a TPU
  std::int32_t count = 0;  // GPUs of a task, or chips on one of its machines
};

struct Constraint {
  enum class Op { kEq, kNe, kExists, kNotExists, kGt, kGe, kLt, kLe, kIn };
  std::string key;  // "region", "zone", "preemptible", "device-variant", ...
  Op op = Op::kEq;
  std::vector<std::string> values;  // several for kIn, none for kExists and kNotExists
  bool preferred = false;           // machines that fit are preferred, and the others are not excluded
};
// The constraint that an attribute of a machine has one of these values.
Constraint any_of(std::string key, std::vector<std::string> values);

// What happens when a job of the same id exists.
enum class Existing {
  kRefuse,
  kKeep,     // a running job is taken for the one that is launched; one that has ended is replaced
  kReplace,  // a job that has ended is replaced
};

enum class Band { kDefault, kProduction, kInteractive, kBatch };

struct JobRequest {
  std::string name;
  std::string parent;  // the id of the job whose child this job becomes
  std::vector<std::string> argv;
  std::vector<std::string> setup;            // shell lines before the command; by default those for its packages
  std::map<std::string, std::string> files;  // further files for the workspace, by relative path
  std::string workspace;                     // a folder that is uploaded
  std::string bundle_id;                     // or the id of one that was uploaded before

  std::map<std::string, std::string> env_vars;
  std::map<std::string, std::string> metadata;  // shown with the job
  std::vector<std::string> pip_packages;
  std::vector<std::string> runner_packages;  // installed where other packages are as well; children do not inherit them
  std::vector<std::string> extras;
  std::string python_version;  // of the environment into which packages are installed

  std::int32_t cpu_millicores = 1000;
  std::int64_t memory_bytes = 0;
  std::int64_t disk_bytes = 0;
  Device device;
  std::vector<Constraint> constraints;
  std::int32_t replicas = 1;
  std::string group_by;  // an attribute that all replicas' machines share; by default the device's own
  std::vector<std::string> ports;

  std::int32_t max_retries_failure = 0;
  std::int32_t max_retries_preemption = 100;
  std::chrono::milliseconds timeout{0};  // of each task; 0: none
  std::chrono::milliseconds scheduling_timeout{0};
  Existing existing = Existing::kRefuse;
  Band band = Band::kDefault;
  std::string task_image;
};

// Environment variables of a task that belong to its job alone, so that its children do not inherit them: the mark by
// which a submission recognises its own job, and the job's metadata as JSON.
inline constexpr const char* kSubmissionVariable = "FRAY_SUBMISSION";
inline constexpr const char* kMetadataVariable = "FRAY_JOB_METADATA";
inline constexpr const char* kNameInMetadata = "name";  // in the metadata, for a job whose id was given

Status check(const JobRequest& request);

// Fills in what follows from the other fields: the lines that set the environment up, and the processors and replicas
// that belong to a device. kInvalidArgument when the replicas are not a whole number of slices.
Status complete(JobRequest* request);

// A date in the form in which controllers ask clients for theirs. They refuse clients that were not updated for two
// weeks.
wire::LaunchJobRequest launch_question(const JobRequest& request, const std::string& id, const std::string& mark,
                                       const std::string& today);

}  // namespace fray::iris
