// Calls of the functions that test_worker_main knows, for tests and for its own nested tasks.
//
// Threading:  any thread.
// Ownership:  results carry one count each, which release() ends; an argument that is an object is counted for the call.
// Failure:    none; a submit that is refused is the caller's to look at.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "client/call.h"
#include "client/client.h"

namespace fray::worker {

inline std::shared_ptr<client::Function> test_function(const std::string& name) {
  auto function = std::make_shared<client::Function>();
  function->id = std::hash<std::string>()(name);
  function->name = name;
  function->payload = std::make_shared<const std::string>(name);
  return function;
}

// A call of one positional argument: bytes, or an object that this process knows.
class TestCall {
 public:
  explicit TestCall(std::shared_ptr<client::Function> function) { task_->function = std::move(function); }

  TestCall& cpus(double amount) {
    [[maybe_unused]] Status set = options_.shape.resources.set("CPU", amount);
    return *this;
  }
  TestCall& retries(std::int32_t count) {
    options_.max_retries = count;
    return *this;
  }
  TestCall& generator(std::uint32_t budget_bytes, std::uint32_t most_items = 0) {
    options_.generator = true;
    budget_bytes_ = budget_bytes;
    most_items_ = most_items;
    return *this;
  }
  TestCall& timeout(double seconds) {
    timeout_seconds_ = seconds;
    return *this;
  }

  client::Call with(std::string_view bytes) {
    begin();
    wire::ValueView value;
    value.encoding = wire::Encoding::kBytes;
    value.bytes = bytes;
    wire::ByteWriter out(task_->frame);
    wire::encode(out, value);
    return {std::move(task_), options_};
  }
  client::Call with(client::Object* object) {
    begin();
    client::retain(object);
    task_->extra = std::make_unique<client::Task::Extra>();
    task_->extra->parts.push_back({std::move(task_->frame), object});
    task_->frame.clear();
    return {std::move(task_), options_};
  }

 private:
  void begin() {
    wire::TaskHead head;
    head.function = task_->function->id;
    head.timeout_seconds = timeout_seconds_;
    head.positional = 1;
    head.name_bytes = static_cast<std::uint8_t>(task_->function->name.size());
    if (options_.generator) head.kind = wire::CallKind::kGenerator;
    head.item_budget_bytes = budget_bytes_;
    head.most_items = most_items_;
    wire::begin_frame(task_->frame, wire::DirectType::kTask, 0);
    wire::ByteWriter out(task_->frame);
    out.put(head);
    out.put_raw(task_->function->name);
  }

  std::unique_ptr<client::Task> task_ = std::make_unique<client::Task>();
  client::TaskOptions options_;
  double timeout_seconds_ = 0;
  std::uint32_t budget_bytes_ = 0;
  std::uint32_t most_items_ = 0;
};

}  // namespace fray::worker
