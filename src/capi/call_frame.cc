#include "capi/call_frame.h"

#include <fmt/format.h>

#include "capi/trace_context.h"
#include "capi/values.h"

namespace fray::capi {

namespace {
constexpr std::size_t kMostArguments = 60'000;
constexpr std::size_t kKeptNameBytes = 120;
}  // namespace

CallFrame::CallFrame(fray_session& session, std::shared_ptr<client::Function> function, std::string_view operation)
    : session_(session), task_(std::make_unique<client::Task>()) {
  task_->function = std::move(function);
  if (session.spans == nullptr) [[likely]]
    return;
  function_ = task_->function;
  span_.begin(session.spans.get(), {operation, function_->name, Span::Kind::kProducer}, current_trace());
}

CallFrame::~CallFrame() {
  if (task_) session_.client->tasks().release_arguments(*task_);
}

Status CallFrame::build(std::string_view name, double timeout_seconds, std::uint16_t returns,
                        const fray_value* arguments, std::size_t count) {
  if (count > kMostArguments)
    return Status(StatusCode::kInvalidArgument, "a task takes at most 60000 arguments; pass a list");
  wire::TaskHead head;
  head.function = task_->function->id;
  head.timeout_seconds = timeout_seconds;
  head.returns = returns;
  head.portable = 1;
  head.positional = static_cast<std::uint16_t>(count);
  name = name.substr(0, kKeptNameBytes);
  head.name_bytes = static_cast<std::uint8_t>(name.size());
  const std::string_view trace = span_.has_begun() ? span_.context() : current_trace();
  head.trace_bytes = static_cast<std::uint8_t>(trace.size());
  task_->frame.reserve(client::kUsualFrameBytes);
  wire::begin_frame(task_->frame, wire::DirectType::kTask, 0);
  wire::ByteWriter out(task_->frame);
  out.put(head);
  out.put_raw(name);
  out.put_raw(trace);
  for (std::size_t i = 0; i < count; ++i) FRAY_RETURN_IF_ERROR(add(arguments[i]));
  return Status::ok();
}

void CallFrame::sent(const ObjectId& result) {
  if (!span_.has_begun()) [[likely]]
    return;
  span_.set("messaging.message.id", std::to_string(result.sequence));
  session_.spans->note(result, {function_->name, std::string(span_.context())});
}

const Status& CallFrame::not_sent(const Status& why) {
  span_.fail("fray::Error", why.message());
  return why;
}

Status CallFrame::add(const fray_value& argument) {
  if (argument.encoding == FRAY_REF) {
    client::Object* object = object_of(argument.refs[0]);
    client::retain(object);
    if (object->stream) session_.client->waits().lift_item_limit(object);
    add_object(object);
    return Status::ok();
  }
  wire::ValueView view;
  FRAY_ASSIGN_OR_RETURN(view.encoding, encoding_of(argument));
  if (is_large(argument)) {
    FRAY_ASSIGN_OR_RETURN(client::Object * stored, store(session_, argument));
    add_object(stored);
    return Status::ok();
  }
  view.bytes = {static_cast<const char*>(argument.data), argument.size};
  std::vector<ObjectId> ids;
  if (argument.ref_count > 0) {
    std::vector<client::Object*>& held = extra().held;
    for (client::Object* object : retained_refs(argument)) {
      ids.push_back(object->id);
      held.push_back(object);
    }
    view.nested_count = static_cast<std::uint32_t>(ids.size());
    view.nested_bytes = {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(ObjectId)};
  }
  wire::ByteWriter out(task_->frame);
  wire::encode(out, view);
  return Status::ok();
}

client::Task::Extra& CallFrame::extra() {
  if (!task_->extra) task_->extra = std::make_unique<client::Task::Extra>();
  return *task_->extra;
}

void CallFrame::add_object(client::Object* object) {
  extra().parts.push_back({std::move(task_->frame), object});
  task_->frame.clear();
}

}  // namespace fray::capi
