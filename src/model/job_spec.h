// JobSpec: the request for a job. Every interface (command line, HTTP, Python, C++) fills the same struct, and every
// cluster takes it.
//
//   JobSpec::visit(spec, [](const JobField& field, auto& value) { ... });   // every field that may be shown
//
// The fields stand in one list, visit(). From it come the options of `fray submit`, the keys and the schema of the HTTP
// API, what Python may give, the messages between processes, the records on the disk and the ranges that check() holds
// them to.
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    check() says what was given and what is allowed. Values of variables are in no message.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/resource_set.h"

namespace fray {

// A field of a JobSpec: its name in JSON, what it means to somebody who submits a job, and the range of a number. A
// visitor that needs no more than the name, such as that of wire/codec.h, may take a `const char*` in its place.
struct JobField {
  const char* name;
  const char* meaning;
  double least = 0;
  double most = 0;

  operator const char*() const { return name; }  // NOLINT: it stands for its name
};

using Texts = std::map<std::string, std::string>;

// A JSON object as text; empty where none was given.
struct JsonObject : std::string {
  using std::string::string;
  JsonObject() = default;
  JsonObject(std::string text) : std::string(std::move(text)) {}  // NOLINT: it is a text
};

struct JobSpec {
  std::string id;    // given by the submitter, so that a repeated submission is recognised; empty: one is made
  std::string name;  // for people
  std::vector<std::string> command;
  std::string folder;  // of its processes
  ResourceSet resources;
  std::uint32_t replicas = 1;
  std::uint32_t max_failures = 0;
  std::uint32_t max_preemptions = 100;
  std::int32_t priority = 0;
  double deadline_seconds = 0;  // 0: none
  double grace_seconds = 5;
  std::uint32_t max_processes = 0;  // 0: the node's own limit, if it has one
  std::uint32_t max_files = 0;      // 0: as many as the node may have
  JsonObject runtime_env;           // as the cluster reads it; a node as runtime_env/ does
  Texts metadata;
  // These are never recorded, shown or logged.
  Texts environment;  // at the node all variables; at an interface those beside the job's usual ones
  std::string call;   // a pickled call for commands that run one; empty: none

  template <typename Spec, typename Visitor>
  static void visit(Spec& spec, Visitor&& visitor) {
    using F = JobField;
    visitor(F{"id", "The job's id, so that a second submission of it is refused; by default a new one"}, spec.id);
    visitor(F{"name", "For people; by default from the command"}, spec.name);
    visitor(F{"command", "The program and its arguments; no shell reads them"}, spec.command);
    visitor(F{"folder", "Where it runs"}, spec.folder);
    visitor(F{"resources", "What each replica holds, such as {\"CPU\": 1}; memory in bytes"}, spec.resources);
    visitor(F{"replicas", "Equal processes that start and end together", 1, 1024}, spec.replicas);
    visitor(F{"max_failures", "Attempts after the first that failed by itself", 0, 4e9}, spec.max_failures);
    visitor(F{"max_preemptions", "Attempts after one that was lost; counted apart", 0, 4e9}, spec.max_preemptions);
    visitor(F{"priority", "Higher ones start first", -1e6, 1e6}, spec.priority);
    visitor(F{"deadline_seconds", "Most time from its first start on; 0 for none", 0, 10e9}, spec.deadline_seconds);
    visitor(F{"grace_seconds", "Time between the first signal of a stop and SIGKILL", 0, 10e9}, spec.grace_seconds);
    visitor(F{"max_processes", "Processes and threads of the job, at most", 0, 4e9}, spec.max_processes);
    visitor(F{"max_files", "Open files of each process, at most", 0, 4e9}, spec.max_files);
    visitor(F{"runtime_env", "Packages, folder or container image that it needs"}, spec.runtime_env);
    visitor(F{"metadata", "The submitter's own names and texts, shown with the job"}, spec.metadata);
  }
  // The secret fields.
  template <typename Spec, typename Visitor>
  static void visit_secrets(Spec& spec, Visitor&& visitor) {
    visitor(JobField{"environment", "Environment variables"}, spec.environment);
    visitor(JobField{"call", "A pickled call, for commands that run one"}, spec.call);
  }

  // What a node can run.
  Status check() const;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// Checks only the ranges of the numbers, for all clusters.
Status check_numbers(const JobSpec& spec);

// Whether `id` can name a job, and a folder.
bool is_job_id(const std::string& id);
// "train-01h5k3n8q2": the name as far as it can be part of a folder's name, and `unique`.
std::string make_job_id(const std::string& name, const std::string& unique);
// "train" for `python train.py`, "sleep" for `sleep 9`: the name of a job that was given none.
std::string job_name_of(const std::vector<std::string>& command);

}  // namespace fray
