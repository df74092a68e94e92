// A fork server whose workers run C++ functions through Client and TaskLoop, as Python's do, started as the node starts
// Python's: PROGRAM -c BOOTSTRAP SOCKET_FD PATH_FD.
//
// Functions of one argument: echo gives it back; sum adds up its bytes; large makes a value of so many bytes in shared
// memory; nest calls echo and waits for it; count streams so many items; hang ends when it is interrupted; die kills its
// process. An actor of any class runs on an ActorLoop: its method count says how many calls came before, echo gives its
// argument back, die kills its process.
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>
#include <unordered_map>

#include "worker/actor_loop.h"
#include "worker/fork_server.h"
#include "worker/mapped_page.h"
#include "worker/task_loop.h"
#include "worker/test_calls.h"

namespace {

using namespace fray;

struct TaskHooks : client::WaitHooks {
  explicit TaskHooks(client::WorkerDuty* loop) : duty_of_task(loop) {}
  client::WorkerDuty* duty() override { return duty_of_task; }
  client::WorkerDuty* duty_of_task;
};

class TestExecutor : public worker::Executor {
 public:
  explicit TestExecutor(client::Client& client) : client_(client) {}
  void attach(worker::TaskLoop* loop) { loop_ = loop; }

  void leased(double) override {}
  void bind(const fray::wire::BindDevices&) override {}
  void define(std::uint64_t function, std::string_view payload) override { functions_[function] = payload; }
  void forget(std::uint64_t function) override { functions_.erase(function); }
  void run(const worker::TaskView& task, worker::Outcome* outcome) override {
    wire::ByteReader in(task.arguments);
    wire::ValueView argument = wire::decode_value(in);
    wire::Value result;
    result.encoding = wire::Encoding::kBytes;
    client::Object* made = nullptr;
    call(functions_[task.head.function], task, argument, &result, &made);
    if (loop_->interrupted() != worker::TaskLoop::Interrupt::kNone) {
      bool timed_out = loop_->interrupted() == worker::TaskLoop::Interrupt::kTimedOut;
      outcome->status = timed_out ? wire::TaskStatus::kTimedOut : wire::TaskStatus::kCancelled;
    } else {
      if (made != nullptr) client_.record_result(result_id(task), task.client, result, made);
      outcome->values = 1;
      wire::ByteWriter out(outcome->bytes);
      wire::encode(out, result);
    }
    if (made != nullptr) client_.objects().release(made);
  }
  void interrupt() override {}  // functions ask
  void end_system_call() override {}
  void before_sleep() override {}
  void after_sleep() override {}

 private:
  ObjectId result_id(const worker::TaskView& task) const { return {client_.node().epoch, task.client, task.number}; }

  void call(const std::string& function, const worker::TaskView& task, const wire::ValueView& argument,
            wire::Value* result, client::Object** made) {
    if (function == "echo") result->bytes = argument.bytes;
    if (function == "sum") result->bytes = std::to_string(sum(argument));
    if (function == "large") *made = make_large(std::stoul(std::string(argument.bytes)), result);
    if (function == "nest") result->bytes = ask_echo(argument.bytes);
    if (function == "count") stream(std::stoul(std::string(argument.bytes)), task);
    if (function == "hang") hang();
    if (function == "die") ::raise(SIGKILL);
  }

  std::uint64_t sum(const wire::ValueView& argument) {
    std::uint64_t total = 0;
    if (argument.kind == wire::ValueKind::kInline) {
      for (char byte : argument.bytes) total += static_cast<unsigned char>(byte);
      return total;
    }
    client::Object* object = client_.objects().adopt_sealed(argument);
    TaskHooks hooks(loop_);
    auto view = client_.values().view(object, hooks);
    if (view.is_ok()) {
      for (std::byte byte : view->bytes) total += static_cast<std::uint64_t>(byte);
    }
    client_.objects().release(object);
    return total;
  }

  client::Object* make_large(std::size_t bytes, wire::Value* result) {
    std::string filled(bytes, 'x');
    TaskHooks hooks(loop_);
    auto put = client_.values().put_large(wire::Encoding::kBytes, std::as_bytes(std::span(filled)), {}, hooks);
    if (!put.is_ok()) {
      result->encoding = wire::Encoding::kStatus;
      result->bytes = std::string(1, static_cast<char>(put.status().code())) + put.status().message();
      return nullptr;
    }
    result->kind = wire::ValueKind::kSealed;
    result->location = (*put)->detail->location;
    return *put;
  }

  std::string ask_echo(std::string_view text) {
    auto submitted = client_.tasks().submit(worker::TestCall(worker::test_function("echo")).cpus(1).with(text));
    if (!submitted.is_ok()) return submitted.status().message();
    client::Object* answer = submitted->front();
    TaskHooks hooks(loop_);
    client_.waits().wait({&answer, 1}, 1, std::nullopt, hooks);
    std::string bytes = answer->is_ready() ? answer->bytes : std::string();
    client_.objects().release(answer);
    return bytes;
  }

  void stream(std::size_t count, const worker::TaskView& task) {
    for (std::uint32_t i = 0; i < count; ++i) {
      wire::Value item;
      item.encoding = wire::Encoding::kBytes;
      item.bytes = std::to_string(i);
      std::string bytes;
      wire::ByteWriter out(bytes);
      wire::encode(out, item);
      if (!loop_->send_item(task, i, bytes, item.bytes.size() + 1)) return;
    }
  }

  void hang() {
    constexpr timespec kPause{0, 1'000'000};
    while (loop_->interrupted() == worker::TaskLoop::Interrupt::kNone) ::nanosleep(&kPause, nullptr);
  }

  client::Client& client_;
  worker::TaskLoop* loop_ = nullptr;
  std::unordered_map<std::uint64_t, std::string> functions_;
};

// A serial actor until the node lets go of it.
void run_actor(client::Client& client, worker::Page& page, const wire::HostActor& actor) {
  client.actors().become_actor(actor.actor, 1);
  worker::ActorLoop loop(client, page, "Counter");
  client.set_duty(&loop);
  client.say(wire::ControlType::kActorReady);
  TaskHooks hooks(&loop);
  std::uint64_t calls = 0;
  while (!loop.has_ended()) {
    worker::ActorCall* call = loop.next(true, hooks);
    if (call == nullptr) continue;
    wire::ByteReader in(call->task.arguments);
    wire::ValueView argument = wire::decode_value(in);
    wire::Value result;
    result.encoding = wire::Encoding::kBytes;
    if (call->task.name == "count") result.bytes = std::to_string(calls);
    if (call->task.name == "echo") result.bytes = argument.bytes;
    if (call->task.name == "die") ::raise(SIGKILL);
    ++calls;
    worker::Outcome outcome;
    outcome.values = 1;
    wire::ByteWriter out(outcome.bytes);
    wire::encode(out, result);
    loop.answer(call, outcome);
  }
  client.set_duty(nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  worker::ForkedWorker forked = worker::run_fork_server(std::atoi(argv[argc - 2]), {});
  client::ClientOptions options;
  options.control = os::Fd(forked.control_fd);
  options.role = wire::Role::kWorker;
  options.process = forked.process;
  auto client = client::Client::connect(std::move(options));
  if (!client.is_ok()) return 1;
  worker::MappedPage page(forked.page_fd);
  TestExecutor executor(**client);
  worker::TaskLoop loop(**client, executor, page);
  executor.attach(&loop);
  loop.run();
  (*client)->set_duty(nullptr);
  if (auto actor = loop.take_actor()) run_actor(**client, page, *actor);
  (*client)->close();
  return 0;
}
