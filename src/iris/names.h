// Ids as Iris has them: /user/job, /user/job/child for jobs, /user/job/0 for tasks, /user/job/0:2 for attempts.
//
// What a controller would not take, or would misread, is refused here: it calls a malformed id an error of its own, which is
// then tried again and again.
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

// The id of a job: of a root job of `user`, or of a child of the job `parent`.
Result<std::string> job_id(const std::string& user, const std::string& parent, const std::string& name);
// The id that a user means who writes an id, or the name of a job of theirs.
Result<std::string> resolve_id(const std::string& user, const std::string& text);

bool is_child(std::string_view id);
// Of an id: "/bob/train" for "/bob/train/eval", "/bob" for a root job; "eval"; "bob".
std::string_view parent_in(std::string_view id);
std::string_view name_in(std::string_view id);
std::string_view user_in(std::string_view id);

// A random text that no other submission has.
std::string new_mark();
// A name that no other job has: `stem` with an end of eight digits, for Iris never lets the name of a stopped job go.
std::string new_name(std::string_view stem);
// What new_name() was given; another name as it is.
std::string_view stem_of(std::string_view name);

struct AttemptName {
  std::string_view job;
  int task = 0;
  int attempt = 0;
};
// Of the key of an attempt's output; nothing for the keys of others.
std::optional<AttemptName> parse_attempt(std::string_view key);

// Who this process belongs to, as Python's getpass says it.
std::string current_user();

}  // namespace fray::iris
