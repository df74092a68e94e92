// The answers to a TaskLedger: results, items and failures; and the retries of tasks.
#include <algorithm>

#include <fmt/format.h>

#include "client/tasks/task_ledger.h"
#include "wire/failure.h"

namespace fray::client {

namespace {

void learn(Function& function, std::uint64_t duration_ns) {
  std::uint64_t seen = std::max<std::uint64_t>(duration_ns, 1);
  function.mean_ns = function.mean_ns == 0 ? seen : (function.mean_ns * 3 + seen) / 4;
}

}  // namespace

void TaskLedger::receive(Lease* lease) {
  if (lease->dead) return;
  Sender& sender = sender_of(*lease);
  bool answered = false;
  Status read = take_answers(lease, &answered);
  if (lease->hung_up && read.is_ok()) read = take_answers(lease, &answered);  // what came until then
  if (lease->hung_up || !read.is_ok()) lease_ended(lease);
  sender.was_read(lease, answered);
}

Status TaskLedger::take_answers(Lease* lease, bool* answered) {
  lease->is_read = true;
  Status read = lease->socket.fill();
  wire::Incoming frame;
  while (true) {
    Result<bool> more = lease->socket.next(&frame);
    if (!more.is_ok()) read = more.status();
    if (!more.is_ok() || !more.value()) break;
    handle(lease, frame);
    *answered = true;
    if (frame.header.type == static_cast<std::uint8_t>(wire::DirectType::kResult)) {
      lease->stalled = false;
      lease->rested = false;
    }
  }
  lease->is_read = false;
  return read;
}

// A worker that retires, or a process that ends, may have answered before it closed its end. What is sent while answers are
// taken is sent in the midst of one.
void TaskLedger::could_not_send(Lease* lease) {
  lease->hung_up = true;
  if (lease->is_read) return;
  bool answered = false;
  [[maybe_unused]] const Status ended = take_answers(lease, &answered);
  lease_ended(lease);
}

void TaskLedger::handle(Lease* lease, const wire::Incoming& frame) {
  switch (static_cast<wire::DirectType>(frame.header.type)) {
    case wire::DirectType::kResult:
      return on_result(lease, frame.header.id, frame.body);
    case wire::DirectType::kItem:
      return on_item(lease, frame.header.id, frame.body);
    default:
      return sender_of(*lease).handle(lease, frame);
  }
}

Task* TaskLedger::take_sent(Lease* lease, std::uint64_t number) {
  if (!lease->sent.empty() && lease->sent.front()->number() == number) {  // workers answer in order
    Task* first = lease->sent.front();
    lease->sent.pop_front();
    return first;
  }
  auto found = lease->sent.begin();
  while (found != lease->sent.end() && (*found)->number() != number) ++found;
  if (found == lease->sent.end()) return nullptr;
  Task* task = *found;
  lease->sent.erase(found);
  return task;
}

void TaskLedger::on_result(Lease* lease, std::uint64_t number, std::string_view body) {
  if (lease->actor != nullptr) wakes_.answered();
  Task* task = take_sent(lease, number);
  if (task == nullptr) return;  // the answer of an attempt that was given up
  wire::ByteReader in(body);
  auto head = in.get<wire::ResultHead>();
  if (!in.ok()) {
    fail(task, StatusCode::kCorruption, "the worker's answer does not fit its format");
    return lease_ended(lease);
  }
  learn(*task->function, head.duration_ns);
  timeline_.add(task->function->name, {number, head.started_ns, head.duration_ns, lease->pid, head.status, head.cpu_ns,
                                       head.peak_memory_bytes, head.bytes_in, head.bytes_out, 0, task->attempt});
  if (head.retiring != 0) lease->draining = true;
  if (head.status == wire::TaskStatus::kCancelled) return fail(task, StatusCode::kCancelled, "the task was cancelled");
  if (head.status == wire::TaskStatus::kTimedOut) {
    return fail(task, StatusCode::kTimedOut, fmt::format("task {} ran past its timeout", task->function->name));
  }
  if (head.status == wire::TaskStatus::kRetry && task->retries_left != 0) return retry(task);
  const wire::ValueView first = wire::decode_value(in);
  std::vector<wire::ValueView> more(task->returns - 1u, first);  // a failed task has one value for all its results
  for (std::size_t i = 0; i < more.size() && i + 1 < head.values; ++i) more[i] = wire::decode_value(in);
  if (!in.ok() || head.values == 0) {
    fail(task, StatusCode::kCorruption, "the worker's answer does not fit its format");
    return lease_ended(lease);
  }
  complete(task->first_result, first);
  for (std::size_t i = 0; i < more.size(); ++i) complete(task->extra->more_results[i], more[i]);
  if (head.status == wire::TaskStatus::kFailed) note_failure(*task, number, first);
  finish(task);
}

void TaskLedger::note_failure(const Task& task, std::uint64_t number, const wire::ValueView& failure) {
  if (failure.encoding == wire::Encoding::kFailure) {
    auto report = wire::decode<wire::Failure>(failure.bytes);
    std::string text = report.is_ok() ? report->type_name + ": " + report->message : report.status().message();
    return timeline_.add_failure(task.function->name, number, false, text);
  }
  timeline_.add_failure(task.function->name, number, true, failure.bytes);
}

void TaskLedger::on_item(Lease* lease, std::uint64_t number, std::string_view body) {
  auto found =
      std::find_if(lease->sent.begin(), lease->sent.end(), [&](Task* task) { return task->number() == number; });
  if (found == lease->sent.end()) return;
  Object* stream = (*found)->first_result;
  if (!stream->stream) return;
  wire::ByteReader in(body);
  const auto index = in.get<std::uint32_t>();
  wire::ValueView value = wire::decode_value(in);
  if (!in.done()) return lease_ended(lease);
  auto* item = new Object;
  item->id = value.kind == wire::ValueKind::kSealed || value.nested_count > 0
                 ? value.object
                 : objects_.own_id(objects_.take_sequence(1));
  complete(item, value);
  ItemStream& items = *stream->detail->stream;
  // The limit may have been lifted before the worker began the task, or this attempt of it.
  if (index == 0 && items.unlimited) taken(stream, ~std::uint64_t{0});
  if (index < items.received) {  // an earlier attempt has sent this item
    taken(stream, item_bytes(*item));
    return objects_.destroy(item);
  }
  ++items.received;
  items.items.push_back(item);
  items.available.store(items.items.size(), std::memory_order_release);
  ready_(stream);
}

void TaskLedger::prepare_retry(Task* task) {
  count_retry(task);
  forget_lost_attempt(task);
}

void TaskLedger::forget_lost_attempt(Task* task) {
  // The lost attempt may have recorded results at the node in the name of this client; only a release removes them.
  objects_.adopt_result(task->first_result);
  if (task->extra) {
    for (Object* result : task->extra->more_results) objects_.adopt_result(result);
  }
}

void TaskLedger::count_retry(Task* task) {
  if (task->retries_left > 0) --task->retries_left;
  if (task->attempt < 255) ++task->attempt;
}

void TaskLedger::retry(Task* task) {
  if (task->cancelled) return fail(task, StatusCode::kCancelled, "the task was cancelled");
  count_retry(task);
  enqueue(task, true);
}

}  // namespace fray::client
