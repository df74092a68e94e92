// Iris's ids: /user/job and /user/job/child for jobs, /user/job/0 for tasks, /user/job/0:2 for attempts of tasks.
//
// Ids that a controller would refuse or misread are refused here. A controller answers a malformed id with an internal
// error, which a client would take for a passing failure and try again and again.
//
// Threading:  any thread; current_user() reads the environment.
// Ownership:  values.
// Failure:    kInvalidArgument says what was given and what is allowed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fray::iris {

// The id of a job called `name`: a child of the job `parent`, or a root job of `user` when `parent` is empty.
Result<std::string> job_id(const std::string& user, const std::string& parent, const std::string& name);
// The id that `user` means by a text which is an id, or the name of one of the user's own jobs.
Result<std::string> resolve_id(const std::string& user, const std::string& text);

bool is_child(std::string_view id);
// The parts of an id. Of "/bob/train/eval" the parent is "/bob/train", the name "eval" and the user "bob"; the parent
// of a root job is "/bob".
std::string_view parent_in(std::string_view id);
std::string_view name_in(std::string_view id);
std::string_view user_in(std::string_view id);

// A random text that no other submission has.
std::string new_mark();
// A name that no other job has: `stem` with a random end of eight digits. Iris never frees the name of a job that was
// stopped.
std::string new_name(std::string_view stem);
// The stem from which new_name() has made a name. Any other name is returned as it is.
std::string_view stem_of(std::string_view name);

struct AttemptName {
  std::string_view job;
  int task = 0;
  int attempt = 0;
};
// The attempt that a key in the controller's store of logs names; nothing for a key that names no attempt.
std::optional<AttemptName> parse_attempt(std::string_view key);

// The name of the user of this process, by the rules of Python's getpass.getuser().
std::string current_user();

}  // namespace fray::iris
