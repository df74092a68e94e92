// A TaskTable with tasks and leases whose workers are played by the input: they answer what they like, in any order and
// format, and leave; the node grants, reclaims and reports losses in the middle of it.
//
// After each input every task has ended once, and nothing is left of any object.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/fuzz_script.h"
#include "client/objects/shared_memory.h"
#include "client/tasks/task_table.h"
#include "model/work_shape.h"
#include "os/sockets/socket_pair.h"
#include "wire/lease.h"

namespace fray::client {
namespace {

using wire::DirectType;

constexpr std::uint32_t kEpoch = 7;
constexpr ProcessId kThisProcess = 1;

struct PlayedWorker {
  LeaseId lease = 0;
  wire::FrameSocket socket;

  void read() {
    if (!socket.is_open()) return;
    wire::Incoming frame;
    bool alive = socket.fill().is_ok();
    while (true) {
      auto next = socket.next(&frame);
      FRAY_CHECK(next.is_ok(), "the client breaks the format");
      if (!*next) break;
    }
    if (!alive) socket.close();
  }
};

class World {
 public:
  explicit World(FuzzScript& script) : World(script, os::make_socket_pair().value()) {}
  ~World() {
    table_.clear();
    ledger_.fail_all(StatusCode::kUnavailable, "end of the input");
    settle();
    FRAY_CHECK(ledger_.unfinished() == 0, "a task has not ended");
    for (Object* object : objects_) {
      FRAY_CHECK(object->is_ready(), "a task has ended without a result");
      release(object);
    }
  }

  void play() {
    constexpr int kMostSteps = 300;
    for (int step = 0; step < kMostSteps && !script_.is_over(); ++step) {
      act();
      settle();
      drain_node();
    }
  }

 private:
  World(FuzzScript& script, std::pair<os::Fd, os::Fd> ends)
      : script_(script),
        link_(std::move(ends.first)),
        node_(std::move(ends.second)),
        memory_({[](std::uint64_t) { return Status::ok(); }, [](std::uint64_t) {}, [](SegmentId) {}}),
        table_objects_(link_, memory_),
        ledger_(link_, table_objects_, timeline_, [this](Object* object) { became_ready(object); }),
        table_(link_, ledger_) {
    table_objects_.set_identity(kEpoch, kThisProcess);
    memory_.set_process(kThisProcess);
    table_.set_limits({2, 4, std::chrono::seconds(1)});
    function_->id = 5;
    function_->name = "f";
    function_->payload = std::make_shared<const std::string>("x");
  }

  void act() {
    switch (script_.below(9)) {
      case 0:
        return submit();
      case 1:
        return grant();
      case 2:
        return node_speaks();
      case 3:
        return user_speaks();
      default:
        return worker_speaks();
    }
  }

  // ---- As the Client does it

  void became_ready(Object* object) {
    if (!object->stream && object->id.owner == kThisProcess) {
      bool first = ended_.insert(object).second;
      FRAY_CHECK(first || std::ranges::find(objects_, object) == objects_.end(), "an object became ready twice");
    }
    if (!object->detail || object->detail->dependents.empty()) return;
    retain(object);
    ready_.push_back(object);
  }
  void settle() {
    while (!ready_.empty()) {
      for (Object* object : std::exchange(ready_, {})) {
        if (object->is_ready()) ledger_.argument_ready(object);
        release(object);
      }
    }
  }
  void release(Object* object) {
    if (object->references.fetch_sub(1) == 1) {
      ended_.erase(object);
      table_objects_.destroy(object);
    }
  }
  void drain_node() {
    link_.flush();
    wire::Incoming frame;
    if (!node_.fill().is_ok()) return;
    while (node_.next(&frame).value()) {
    }
  }

  void submit() {
    if (objects_.size() > 40) return;
    auto task = std::make_unique<Task>();
    task->function = function_;
    task->generator = script_.below(4) == 0;
    std::uint32_t count = task->generator ? 1 : 1 + script_.below(8) / 6;
    std::uint64_t sequence = table_objects_.take_sequence(count);
    std::vector<Object*> results;
    for (std::uint32_t i = 0; i < count; ++i) {
      auto* result = new Object;
      result->id = table_objects_.own_id(sequence + i);
      result->producer = task.get();
      result->references = 2;
      results.push_back(result);
    }
    if (task->generator) {
      results.front()->details().stream = std::make_unique<ItemStream>();
      results.front()->stream = true;
    }
    task->first_result = results.front();
    task->returns = static_cast<std::uint16_t>(count);
    task->retries_left = static_cast<std::int32_t>(script_.below(3)) - 1;
    task->queue = table_.queue({.key = script_.below(2)}, 0);
    wire::begin_frame(task->frame, DirectType::kTask, sequence);
    wire::ByteWriter(task->frame).put(wire::TaskHead{});
    if (count > 1) extra(*task).more_results.assign(results.begin() + 1, results.end());
    if (!objects_.empty() && script_.below(3) == 0) {
      Object* argument = objects_[script_.below(static_cast<std::uint32_t>(objects_.size()))];
      retain(argument);
      extra(*task).parts.push_back({std::exchange(task->frame, {}), argument});
    }
    objects_.insert(objects_.end(), results.begin(), results.end());
    ledger_.submit(task.release());
  }
  static Task::Extra& extra(Task& task) {
    if (!task.extra) task.extra = std::make_unique<Task::Extra>();
    return *task.extra;
  }

  // ---- The node

  void grant() {
    auto ends = os::make_socket_pair().value();
    wire::Grant message;
    message.demand = script_.below(3);
    auto worker = std::make_unique<PlayedWorker>();
    worker->lease = ++last_lease_;
    worker->socket = wire::FrameSocket(std::move(ends.second));
    table_.granted(worker->lease, message, script_.rarely() ? os::Fd() : std::move(ends.first));
    workers_.push_back(std::move(worker));
    if (workers_.size() > 8) workers_.erase(workers_.begin());
  }

  void node_speaks() {
    wire::WorkerLost lost;
    switch (script_.below(4)) {
      case 0:
        return table_.reclaim(script_.below(3), script_.below(4));
      case 1:
        return table_.refused(script_.below(3), StatusCode::kDeadlock, "told to fail");
      case 2:
        return table_.tick(Clock::now() + std::chrono::seconds(script_.below(3)), script_.below(4) == 0);
      default:
        lost.facts.last_task = script_.below(16);
        return table_.worker_lost(1 + script_.below(16), lost);
    }
  }

  void user_speaks() {
    if (objects_.empty()) return;
    std::uint32_t index = script_.below(static_cast<std::uint32_t>(objects_.size()));
    Object* object = objects_[index];
    switch (script_.below(4)) {
      case 0:
        ledger_.cancel(object, script_.below(2) == 0);
        return;
      case 1:
        return take_item(object);
      case 2:
        if (object->stream) ledger_.taken(object, ~std::uint64_t{0});
        return;
      default:
        if (!object->is_ready()) return;
        objects_.erase(objects_.begin() + index);
        return release(object);
    }
  }
  void take_item(Object* stream) {
    if (!stream->stream || stream->detail->stream->items.empty()) return;
    ItemStream& items = *stream->detail->stream;
    Object* item = items.items.front();
    items.items.pop_front();
    items.available = items.items.size();
    ledger_.taken(stream, 1);
    release(item);
  }

  // ---- The workers

  void worker_speaks() {
    if (workers_.empty()) return;
    PlayedWorker& worker = *workers_[script_.below(static_cast<std::uint32_t>(workers_.size()))];
    worker.read();
    if (!worker.socket.is_open()) return;
    write_words(worker.socket.output());
    Status ignored = worker.socket.flush();
    if (script_.rarely()) worker.socket.close();
    for (Lease* lease : std::vector<Lease*>(ledger_.leases())) {
      if (lease->id != worker.lease) continue;
      ledger_.receive(lease);
      break;
    }
  }

  void write_words(std::string& out) {
    std::uint64_t number = script_.below(24);
    switch (script_.below(7)) {
      case 0:
        wire::append_frame(out, static_cast<DirectType>(script_.byte()), number, script_.bytes(64));
        return;
      case 1: {
        std::vector<std::uint64_t> tasks;
        for (std::uint32_t i = script_.below(4); i > 0; --i) tasks.push_back(script_.below(24));
        auto reason = static_cast<wire::ReturnReason>(script_.below(4));
        wire::append_frame(out, DirectType::kReturned, 0, wire::encoded(wire::Returned{reason, tasks}));
        return;
      }
      case 2:
        wire::append_frame(out, DirectType::kUnblocked, 0);
        return;
      case 3: {
        std::size_t begin = wire::begin_frame(out, DirectType::kItem, number);
        wire::ByteWriter writer(out);
        writer.put(std::uint32_t{0});
        write_value(writer);
        wire::finish_frame(out, begin);
        return;
      }
      default: {
        std::size_t begin = wire::begin_frame(out, DirectType::kResult, number);
        wire::ByteWriter writer(out);
        wire::ResultHead head;
        head.duration_ns = script_.below(3) * 1000;
        head.status = static_cast<wire::TaskStatus>(script_.below(8) < 6 ? 0 : script_.below(5));
        head.retiring = script_.rarely() ? 1 : 0;
        head.values = static_cast<std::uint16_t>(script_.below(8) < 6 ? 1 : script_.below(4));
        writer.put(head);
        for (int i = 0; i < head.values; ++i) write_value(writer);
        wire::finish_frame(out, begin);
      }
    }
  }

  void write_value(wire::ByteWriter& out) {
    wire::Value value;
    value.encoding = static_cast<wire::Encoding>(script_.below(12));
    value.object = object_id();
    if (script_.below(3) == 0) {
      value.kind = wire::ValueKind::kSealed;
      value.location = {{script_.below(3), script_.below(3)}, script_.below(3) * 64, script_.below(3) * 64};
    } else {
      value.bytes = script_.bytes(8);
    }
    for (std::uint32_t i = script_.below(8); i > 5; --i) value.nested.push_back(object_id());
    wire::encode(out, value);
  }
  ObjectId object_id() { return {kEpoch, script_.below(3), script_.below(24)}; }

  FuzzScript& script_;
  NodeLink link_;
  wire::FrameSocket node_;
  SharedMemory memory_;
  ObjectTable table_objects_;
  Timeline timeline_;
  std::vector<Object*> ready_;  // counted
  std::set<Object*> ended_;
  std::shared_ptr<Function> function_ = std::make_shared<Function>();
  TaskLedger ledger_;
  TaskTable table_;
  std::vector<Object*> objects_;  // results, counted
  std::vector<std::unique_ptr<PlayedWorker>> workers_;
  LeaseId last_lease_ = 0;
};

}  // namespace
}  // namespace fray::client

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fray::FuzzScript script(data, size);
  fray::client::World(script).play();
  return 0;
}
