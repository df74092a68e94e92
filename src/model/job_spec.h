// JobSpec: what a job is asked to be.
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    check() says what is wrong and what is allowed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/resource_set.h"

namespace fray {

inline constexpr std::int32_t kMostPriority = 1'000'000;  // and as far below 0

struct JobSpec {
  std::string id;    // given by the submitter, so that a repeated submission is recognised; empty: made of the name
  std::string name;  // for people
  std::vector<std::string> command;                              // no shell reads it
  std::string folder;                                            // of its processes; absolute
  std::vector<std::pair<std::string, std::string>> environment;  // whole; values are never recorded, shown or logged
  std::string call;  // a pickled call for commands that run one; empty: none
  std::uint32_t replicas = 1;
  ResourceSet resources;  // of each replica
  std::uint32_t max_failures = 0;
  std::uint32_t max_preemptions = 100;
  std::int32_t priority = 0;        // higher ones start first; see kMostPriority
  double deadline_seconds = 0;      // from its first start on; 0: none
  double grace_seconds = 5;         // between the first signal of a stop and SIGKILL
  std::uint32_t max_processes = 0;  // and threads, of all its replicas together; 0: the node's own limit, if it has one
  std::uint32_t max_files = 0;      // open in each process; 0: as many as the node may have
  std::string runtime_env;          // a JSON object, as runtime_env/ reads it; empty: nothing is asked
  std::string metadata;             // a JSON object of the submitter's own; empty: none

  Status check() const;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// Whether `id` can name a job, and a folder.
bool is_job_id(const std::string& id);
// "train-01h5k3n8q2": the name as far as it can be part of a folder's name, and `unique`.
std::string make_job_id(const std::string& name, const std::string& unique);

}  // namespace fray
