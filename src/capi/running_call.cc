#include "capi/running_call.h"

#include <cstdio>

#include <unistd.h>

#include "capi/failure.h"
#include "capi/values.h"

namespace fray::capi {

namespace {
thread_local fray_call* running = nullptr;
}  // namespace

fray_call* current_call() { return running != nullptr && !running->session.inherited ? running : nullptr; }

}  // namespace fray::capi

using namespace fray;

fray_call::fray_call(fray_session& owner, const worker::TaskView& view, std::string_view its_class,
                     client::WorkerDuty* its_duty, FunctionRef<bool()> is_interrupted)
    : session(owner),
      task(view),
      class_name(its_class),
      duty(its_duty),
      interrupted(is_interrupted),
      outer_(std::exchange(capi::running, this)) {
  wire::ByteReader in(task.arguments);
  arguments.reserve(task.head.positional);
  for (std::uint16_t i = 0; i < task.head.positional; ++i) arguments.push_back(wire::decode_value(in));
  readable = in.done() && task.head.keywords == 0;
  for (const wire::ValueView& argument : arguments) {
    outcome.bytes_in += argument.kind == wire::ValueKind::kSealed ? argument.location.size : argument.bytes.size();
  }
  if (!task.trace.empty()) [[unlikely]]
    begin_span();
}

fray_call::~fray_call() { capi::running = outer_; }

std::string fray_call::full_name() const {
  if (class_name.empty()) return std::string(task.name);
  return std::string(class_name) + (task.name.empty() ? "" : ".") + std::string(task.name);
}

void fray_call::begin_span() {
  const std::string name = full_name();
  span_.begin(session.spans.get(), {"run", name, capi::Span::Kind::kConsumer}, task.trace);
  if (task.number != 0) span_.set("messaging.message.id", std::to_string(task.number));
  if (task.head.attempt != 0) span_.set("fray.attempt", std::to_string(task.head.attempt));
}

void fray_call::interrupted_with(std::string_view why) { span_.fail("fray::Error", why); }

void fray_call::fail(std::string_view type_name, std::string_view message) {
  span_.fail(type_name, message);
  wire::Failure failure;
  failure.task = full_name();
  failure.type_name = type_name;
  failure.message = message;
  wire::Value value;
  value.encoding = wire::Encoding::kFailure;
  value.bytes = wire::encoded(failure);
  outcome.status = wire::TaskStatus::kFailed;
  outcome.values = 1;
  outcome.bytes.clear();
  wire::ByteWriter out(outcome.bytes);
  wire::encode(out, value);
  answered = failed = true;
}

void fray_call::end_forked_child() const {
  if (!session.inherited) return;
  if (failed) {
    wire::ByteReader in(outcome.bytes);
    auto failure = wire::decode<wire::Failure>(wire::decode_value(in).bytes);
    if (failure.is_ok()) {
      std::fprintf(stderr, "a process that %s has forked ends with %s: %s\n", failure->task.c_str(),
                   failure->type_name.c_str(), failure->message.c_str());
    }
  }
  std::fflush(nullptr);
  ::_exit(failed ? 1 : 0);  // no static destructors: they may wait for threads that a forked child does not have
}

void fray_call::retry() {
  outcome.status = wire::TaskStatus::kRetry;
  outcome.values = 0;
  outcome.bytes.clear();
}

void fray_call::finish(worker::Outcome* out) {
  if (!answered && (outcome.values > 0 || task.head.returns > 1)) {
    fail("fray::Error", "the task was to give " + std::to_string(task.head.returns) + " values, and gave " +
                            std::to_string(outcome.values));
  } else if (!answered) {
    wire::ByteWriter writer(outcome.bytes);
    wire::encode(writer, wire::Value());
    outcome.values = 1;
  }
  span_.end();
  *out = std::move(outcome);
}

size_t fray_call_count(const fray_call* call) { return call->arguments.size(); }

int fray_call_argument(fray_call* call, size_t index, fray_view* out) {
  if (int code = capi::check_own(call->session); code != FRAY_OK) return code;
  if (index >= call->arguments.size()) return capi::fail(FRAY_INVALID_ARGUMENT, "there is no such argument");
  return capi::read_value(call->session, call->arguments[index], out);
}

size_t fray_call_returns(const fray_call* call) { return call->task.head.returns; }

int fray_call_return(fray_call* call, const fray_value* value) {
  if (call->session.inherited) return FRAY_OK;  // the answer of a forked child is not used
  if (call->answered) return capi::fail(FRAY_INVALID_ARGUMENT, "the call has answered already");
  Status encoded = capi::write_result(*call, *value);
  if (!encoded.is_ok()) return capi::fail(encoded);
  call->answered = call->outcome.values >= call->task.head.returns;
  return FRAY_OK;
}

void fray_call_fail(fray_call* call, const char* type_name, const char* message) { call->fail(type_name, message); }

int fray_is_cancelled(void) {
  fray_call* call = capi::current_call();
  return call != nullptr && call->interrupted() ? 1 : 0;
}
