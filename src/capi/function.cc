#include "capi/function.h"

#include <algorithm>

#include <fmt/format.h>

#define XXH_INLINE_ALL  // header only, so that no library has to be shipped
#include <xxhash.h>

#include "capi/call_frame.h"
#include "capi/failure.h"
#include "capi/resources.h"

namespace fray::capi {

std::shared_ptr<client::Function> make_function(FunctionKind kind, std::string_view name, std::string_view label) {
  auto function = std::make_shared<client::Function>();
  function->name = label.empty() ? name : label;
  std::string payload = wire::function_payload(kind, 0, name);
  function->id = XXH3_64bits(payload.data(), payload.size()) | 1;  // 0 means none
  function->payload = std::make_shared<const std::string>(std::move(payload));
  return function;
}

Result<std::string_view> cpp_name_of(std::string_view payload) {
  if (payload.size() < wire::kPayloadPrefix) {
    return Status(StatusCode::kCorruption, "the task's function did not arrive");
  }
  if (!is_cpp(wire::kind_of(payload))) {
    return Status(StatusCode::kInvalidArgument, "this is a C++ worker, and the task's function is a Python one");
  }
  return payload.substr(wire::kPayloadPrefix);
}

namespace {

constexpr std::size_t kMostFunctions = 256;

// A program with options makes its function anew for each task. It gets the one that there is, for a function learns how long
// its tasks take: those whose time is not known are sent one by one, each after the answer to the one before.
std::shared_ptr<client::Function> known_function(fray_session& session, FunctionKind kind, std::string_view name,
                                                 std::string_view label) {
  std::string key = wire::function_payload(kind, 0, name);
  key += '\0';
  key += label;
  MutexLock lock(session.functions_mutex);
  if (session.functions.size() >= kMostFunctions) session.functions.clear();  // there may be any number of labels
  std::shared_ptr<client::Function>& known = session.functions[std::move(key)];
  if (known == nullptr) known = make_function(kind, name, label);
  return known;
}

Status check_python_name(std::string_view name) {
  std::size_t colon = name.find(':');
  if (colon != std::string_view::npos && colon > 0 && colon + 1 < name.size()) return Status::ok();
  return Status(StatusCode::kInvalidArgument,
                fmt::format("a Python callable is named \"module:function\", got \"{}\"", name));
}

Status check_variable(std::string_view name) {
  if (!name.empty() && name.find('=') == std::string_view::npos) return Status::ok();
  return Status(
      StatusCode::kInvalidArgument,
      fmt::format("environment: \"{}\" is no name of a variable; it has a character at least, and no '='", name));
}

Status fill(fray_function* made, std::int32_t language, const char* name, const fray_task_options* given) {
  fray_task_options options{};
  options.num_cpus = 1;
  options.max_retries = 3;
  if (given != nullptr) std::memcpy(&options, given, std::min(given->size, sizeof(options)));
  made->timeout_seconds = options.timeout_seconds;
  made->options.max_retries = options.max_retries;
  FRAY_RETURN_IF_ERROR(read_shape(options, &made->options.shape));
  Variables environment;
  for (std::size_t i = 0; i < options.environment_count; ++i) {
    const fray_variable& variable = options.environment[i];
    FRAY_RETURN_IF_ERROR(check_variable(variable.name));
    environment[variable.name] = text_or(variable.value);
  }
  auto kind = options.retry_exceptions != 0 ? FunctionKind::kCppRetrying : FunctionKind::kCpp;
  if (language == FRAY_PYTHON) {
    FRAY_RETURN_IF_ERROR(check_python_name(name));
    if (options.retry_exceptions != 0) {
      return Status(StatusCode::kInvalidArgument,
                    "retry_exceptions is for functions in C++; a Python function can try again by itself");
    }
    kind = FunctionKind::kPythonName;
  }
  if (language == FRAY_PYTHON || !environment.empty()) {
    FRAY_ASSIGN_OR_RETURN(made->options.shape.key, hold_worker_key(*made->session, language, environment));
  }
  std::string_view label = name;
  if (language == FRAY_PYTHON) label = label.substr(label.find(':') + 1);
  if (options.label != nullptr) label = options.label;
  made->function = known_function(*made->session, kind, name, label);
  return Status::ok();
}

}  // namespace

}  // namespace fray::capi

using namespace fray;

int fray_function_make(fray_session* session, int32_t language, const char* name, const fray_task_options* options,
                       fray_function** out) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  auto made = std::make_unique<fray_function>();
  made->session = session;
  if (Status filled = capi::fill(made.get(), language, name, options); !filled.is_ok()) return capi::fail(filled);
  fray_session_retain(session);
  *out = made.release();
  return FRAY_OK;
}

void fray_function_release(fray_function* function) {
  if (function == nullptr || function->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (function->options.shape.key != 0) function->session->client->tasks().forget_key(function->options.shape.key);
  fray_session_release(function->session);
  delete function;
}

int fray_submit(fray_session* session, fray_function* function, const fray_value* arguments, size_t count,
                fray_object** out) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  if (function->session != session) return capi::fail(FRAY_INVALID_ARGUMENT, "the function belongs to another session");
  capi::CallFrame frame(*session, function->function, "submit");
  Status built = frame.build(function->function->name, function->timeout_seconds, 1, arguments, count);
  if (!built.is_ok()) return capi::fail(frame.not_sent(built));
  auto results = session->client->tasks().submit(frame.finish(), function->options);
  if (!results.is_ok()) return capi::fail(frame.not_sent(results.status()));
  frame.sent(results->front()->id);
  *out = capi::handle_of(results->front());
  return FRAY_OK;
}

int fray_submit_several(fray_session* session, fray_function* function, const fray_value* arguments, size_t count,
                        fray_object** out, size_t returns) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  constexpr std::size_t kMostReturns = 1000;
  if (function->session != session) return capi::fail(FRAY_INVALID_ARGUMENT, "the function belongs to another session");
  if (returns < 1 || returns > kMostReturns) {
    return capi::fail(FRAY_INVALID_ARGUMENT, fmt::format("a task gives 1 to {} values, not {}", kMostReturns, returns));
  }
  client::TaskOptions options = function->options;
  options.returns = static_cast<std::uint16_t>(returns);
  capi::CallFrame frame(*session, function->function, "submit");
  Status built = frame.build(function->function->name, function->timeout_seconds, options.returns, arguments, count);
  if (!built.is_ok()) return capi::fail(frame.not_sent(built));
  auto results = session->client->tasks().submit(frame.finish(), options);
  if (!results.is_ok()) return capi::fail(frame.not_sent(results.status()));
  frame.sent(results->front()->id);
  for (std::size_t i = 0; i < returns; ++i) out[i] = capi::handle_of((*results)[i]);
  return FRAY_OK;
}
