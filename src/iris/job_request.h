// JobRequest: a job as a user asks for it, and the question that launches it.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    check() returns kInvalidArgument with what was given and what is allowed. Values of environment variables are
//             in no message.
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
  bool preferred = false;           // ranks machines, and leaves none out
};
// Machines whose attribute is one of some values.
Constraint any_of(std::string key, std::vector<std::string> values);

// What is done with a job of the same id.
enum class Existing {
  kRefuse,
  kKeep,     // one that runs is taken for this one, one that has ended is replaced
  kReplace,  // one that has ended is replaced
};

enum class Band { kDefault, kProduction, kInteractive, kBatch };

struct JobRequest {
  std::string name;
  std::string parent;  // the id of the job whose child it is
  std::vector<std::string> argv;
  std::vector<std::string> setup;            // shell lines that run before it; by default those that packages need
  std::map<std::string, std::string> files;  // put beside the workspace, by relative path
  std::string workspace;                     // a folder that is sent along
  std::string bundle_id;                     // or one that was sent before

  std::map<std::string, std::string> env_vars;
  std::map<std::string, std::string> metadata;  // shown with the job
  std::vector<std::string> pip_packages;
  std::vector<std::string> runner_packages;  // installed too where others are; children do not inherit them
  std::vector<std::string> extras;
  std::string python_version;  // of the environment that packages are installed into

  std::int32_t cpu_millicores = 1000;
  std::int64_t memory_bytes = 0;
  std::int64_t disk_bytes = 0;
  Device device;
  std::vector<Constraint> constraints;
  std::int32_t replicas = 1;
  std::string group_by;  // attribute that the machines of all replicas share; by default as the device needs it
  std::vector<std::string> ports;

  std::int32_t max_retries_failure = 0;
  std::int32_t max_retries_preemption = 100;
  std::chrono::milliseconds timeout{0};  // of each task; 0: none
  std::chrono::milliseconds scheduling_timeout{0};
  Existing existing = Existing::kRefuse;
  Band band = Band::kDefault;
  std::string task_image;
};

// Variables of a task that are its job's own, which its children do not inherit: under which a submission is known again, and
// its metadata as JSON.
inline constexpr const char* kSubmissionVariable = "FRAY_SUBMISSION";
inline constexpr const char* kMetadataVariable = "FRAY_JOB_METADATA";
inline constexpr const char* kNameInMetadata = "name";  // for people, of a job whose id was given

Status check(const JobRequest& request);

// Fills in what follows from the rest: set-up lines, the processors and replicas of a device. kInvalidArgument for replicas that
// no number of slices has.
Status complete(JobRequest* request);

// `today` as controllers want it, who refuse clients that have not been updated for two weeks.
wire::LaunchJobRequest launch_question(const JobRequest& request, const std::string& id, const std::string& mark,
                                       const std::string& today);

}  // namespace fray::iris
