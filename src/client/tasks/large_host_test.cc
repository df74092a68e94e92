// A host with many CPUs, played: workers without Python answer tasks of 20 ms over real sockets. What a task costs the
// client, from its submission to its result, must not grow with the number of workers. Measured is the processor time of
// this thread while it does the client's part, system calls included, so other work on the machine counts little.
#include <ctime>

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "client/objects/shared_memory.h"
#include "client/tasks/task_table.h"
#include "model/work_shape.h"
#include "wire/lease.h"

namespace fray::client {
namespace {

constexpr int kTurns = 30;          // tasks of each worker
constexpr double kMostUsEach = 60;  // on a slow and busy machine, in a build with asserts

class Stopwatch {
 public:
  template <typename Work>
  void time(Work&& work) {
    const double begin = now_us();
    work();
    us_ += now_us() - begin;
  }
  double us() const { return us_; }

 private:
  static double now_us() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
  }
  double us_ = 0;
};

class PlayedHost {
 public:
  explicit PlayedHost(std::uint32_t workers) : workers_(workers) {
    objects_.set_identity(77, 1);
    memory_.set_process(1);
    table_.set_limits({static_cast<double>(workers), workers, std::chrono::seconds(1)});
    function_->id = 5;
    function_->name = "rest";
    function_->payload = std::make_shared<const std::string>("x");
    cpu_.set_units("CPU", ResourceSet::kUnitsPerOne);
  }
  ~PlayedHost() {
    table_.clear();
    ledger_.fail_all(StatusCode::kUnavailable, "the end");
    for (Object* result : results_) {
      if (result->references.fetch_sub(1) == 1) objects_.destroy(result);
    }
  }

  // Processor time of the client for each task.
  double us_per_task() {
    const std::size_t tasks = workers_.size() * kTurns;
    watch_.time([&] {
      for (std::size_t i = 0; i < tasks; ++i) submit();
    });
    for (std::size_t i = 0; i < workers_.size(); ++i) grant(i);
    // One answer at a time: with tasks of 20 ms a client has slept and woken between two.
    for (std::size_t turn = 0; ledger_.unfinished() > 0 && turn < 2 * tasks; ++turn) {
      if (!answer(workers_[turn % workers_.size()])) continue;
      watch_.time([this] { read_once(); });
      read_node();
    }
    for (const Object* result : results_) EXPECT_TRUE(result->is_ready());
    EXPECT_EQ(ledger_.unfinished(), 0u);
    return watch_.us() / static_cast<double>(tasks);
  }

 private:
  struct Worker {
    wire::FrameSocket socket;
    std::deque<std::uint64_t> tasks;
  };

  static os::Fd connect_far(wire::FrameSocket* far) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    *far = wire::FrameSocket(os::Fd(ends[1]));
    return os::Fd(ends[0]);
  }
  void submit() {
    auto* result = new Object;
    result->id = objects_.own_id(objects_.take_sequence(1));
    result->references = 2;
    auto* task = new Task;
    result->producer = task;
    task->function = function_;
    task->first_result = result;
    task->queue = table_.queue({.resources = cpu_}, 0);
    task->returns = 1;
    wire::begin_frame(task->frame, wire::DirectType::kTask, result->id.sequence);
    wire::ByteWriter(task->frame).put(wire::TaskHead{});
    results_.push_back(result);
    ledger_.submit(task);
  }
  void grant(std::size_t place) {
    wire::Grant message;
    message.worker = static_cast<ProcessId>(place) + 100;
    os::Fd near = connect_far(&workers_[place].socket);
    watch_.time([&] { table_.granted(place + 1, message, std::move(near)); });
  }
  // False: the worker has no task.
  bool answer(Worker& worker) {
    Status ignored = worker.socket.fill();
    wire::Incoming frame;
    while (worker.socket.next(&frame).value()) {
      if (frame.header.type == static_cast<std::uint8_t>(wire::DirectType::kTask))
        worker.tasks.push_back(frame.header.id);
    }
    if (worker.tasks.empty()) return false;
    std::size_t begin = wire::begin_frame(worker.socket.output(), wire::DirectType::kResult, worker.tasks.front());
    worker.tasks.pop_front();
    wire::ByteWriter out(worker.socket.output());
    wire::ResultHead head;
    head.duration_ns = 20'000'000;
    head.values = 1;
    out.put(head);
    wire::encode(out, wire::Value{});
    wire::finish_frame(worker.socket.output(), begin);
    EXPECT_TRUE(worker.socket.flush().is_ok());
    return true;
  }
  // What a thread that leads does between two sleeps.
  void read_once() {
    set_.clear();
    ledger_.sockets().watch(set_);
    ASSERT_EQ(::poll(set_.data(), set_.size(), 0), 1);
    ledger_.sockets().read_all([this](Lease* lease) { ledger_.receive(lease); });
    ledger_.flush();
    const auto due = table_.next_due();
    if (due && *due <= Clock::now()) table_.tick(Clock::now(), false);
  }
  void read_node() {
    Status ignored = node_.fill();
    wire::Incoming frame;
    while (node_.next(&frame).value()) {
    }
  }

  Stopwatch watch_;
  wire::FrameSocket node_;
  NodeLink link_{connect_far(&node_)};
  SharedMemory memory_{{[](std::uint64_t) { return Status::ok(); }, [](std::uint64_t) {}, [](SegmentId) {}}};
  ObjectTable objects_{link_, memory_};
  Timeline timeline_;
  TaskLedger ledger_{link_, objects_, timeline_, [](Object*) {}};
  TaskTable table_{link_, ledger_};
  std::shared_ptr<Function> function_ = std::make_shared<Function>();
  ResourceSet cpu_;
  std::vector<Object*> results_;
  std::vector<Worker> workers_;
  std::vector<pollfd> set_;
};

TEST(LargeHost, ATaskOnOneOf256WorkersCostsTheClientAsMuchAsOnOneOf8) {
  const double few = PlayedHost(8).us_per_task();
  for (std::uint32_t workers : {64u, 128u, 256u}) {
    const double many = PlayedHost(workers).us_per_task();
    fmt::print("{} workers: {:.2f} us a task; 8 workers: {:.2f} us\n", workers, many, few);
    RecordProperty(fmt::format("us_per_task_{}", workers), fmt::format("{:.2f}", many));
    EXPECT_LT(many, kMostUsEach);
    EXPECT_LT(many, 3 * few + 2);
  }
}

}  // namespace
}  // namespace fray::client
