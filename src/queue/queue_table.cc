#include "queue/queue_table.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace fray::queue {

namespace {

struct LeaseName {
  Number item = 0;
  Number lease = 0;
};

bool take_number(std::string_view text, Number* number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<LeaseName> parse_lease_id(std::string_view id) {
  const std::size_t dash = id.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  LeaseName name;
  if (!take_number(id.substr(0, dash), &name.item) || !take_number(id.substr(dash + 1), &name.lease)) {
    return std::nullopt;
  }
  return name;
}

// The ids of the leases at these places of a request; "0 4 " names the first and the fifth.
std::vector<std::string> ids_at(std::string_view places, const std::vector<std::string>& leases) {
  std::vector<std::string> ids;
  while (!places.empty()) {
    const std::size_t end = std::min(places.find(' '), places.size());
    Number place = 0;
    if (take_number(places.substr(0, end), &place) && place < leases.size()) ids.push_back(leases[place]);
    places.remove_prefix(std::min(end + 1, places.size()));
  }
  return ids;
}

Status no_queue(const std::string& name) {
  return Status(StatusCode::kNotFound,
                fmt::format("there is no queue {} here; HttpQueueServer.new_queue or HttpQueue(..., create=True) makes "
                            "one, `fray queue list` shows them",
                            name));
}

bool changes_items(Verb verb) {
  return verb == Verb::kPush || verb == Verb::kPop || verb == Verb::kDone || verb == Verb::kRelease ||
         verb == Verb::kPurge;
}

}  // namespace

std::string lease_id(Number item, Number lease) { return fmt::format("{}-{}", item, lease); }

Status check_name(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
  if (is_plain && !name.empty() && name.size() <= kLongestName && name.front() != '.' && name.front() != '-') {
    return Status::ok();
  }
  return Status(StatusCode::kInvalidArgument,
                fmt::format("a queue's name has 1 to {} letters, digits, '.', '_' and '-', and begins with a letter, a "
                            "digit or '_'",
                            kLongestName));
}

void QueueTable::restore(const Kept& kept, Now now) {
  next_ = kept.next;
  std::unordered_map<Number, Queue*> by_number;
  for (const KeepQueue& record : kept.queues) {
    Queue& queue = queues_[record.name];
    queue.record = record;
    by_number[record.queue] = &queue;
  }
  std::unordered_map<Number, Queue*> by_item;
  if (!kept.leases.empty()) by_item.reserve(kept.items.size());
  for (const Kept::Item& item : kept.items) {
    auto queue = by_number.find(item.queue);
    if (queue == by_number.end()) continue;
    queue->second->items.add(item.item, item.size);
    if (!kept.leases.empty()) by_item[item.item] = queue->second;
  }
  for (const KeepLease& lease : kept.leases) {
    auto queue = by_item.find(lease.item);
    if (queue == by_item.end()) continue;
    // The rest of the lease; never more than its length, even if the wall clock was set back.
    const std::int64_t left = lease.begun_unix_ns + lease.length_ns - now.unix_ns;
    const Moment rest(std::clamp<std::int64_t>(left, 0, lease.length_ns));
    queue->second->items.restore_lease(lease.item, lease.lease, now.steady + rest, lease.begun_unix_ns);
  }
  std::vector<KeepMemory> memories = kept.memories;
  std::sort(memories.begin(), memories.end(),
            [](const KeepMemory& a, const KeepMemory& b) { return a.unix_ns < b.unix_ns; });
  for (KeepMemory& memory : memories) {
    memory.unix_ns = now.unix_ns;  // time without a node does not count, because no client could repeat a request
    keep_memory(std::move(memory));
  }
}

QueueTable::Queue* QueueTable::find(const std::string& name) {
  auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : &found->second;
}

Number QueueTable::draw() {
  drawn_ = true;
  return next_++;
}

std::vector<Command> QueueTable::take_commands() {
  if (std::exchange(drawn_, false)) commands_.insert(commands_.begin(), KeepNext{next_});
  return std::exchange(commands_, {});
}

void QueueTable::ask(AskId ask, Request request, Now now) {
  forget_old(now.unix_ns);
  if (request.verb == Verb::kList) return list(ask, request, now);
  if (Status good = check_name(request.queue); !good.is_ok()) return fail(ask, std::move(good));
  if (request.verb == Verb::kMake) return make(ask, request, now);
  if (repeat(ask, request, now)) return;
  Queue* queue = find(request.queue);
  if (queue == nullptr) return fail(ask, no_queue(request.queue));
  switch (request.verb) {
    case Verb::kShow:
      return list(ask, request, now);
    case Verb::kRemove:
      return remove(ask, *queue, now);
    case Verb::kPurge:
      return purge(ask, *queue, request, now);
    case Verb::kPush:
      return push(ask, *queue, request, now);
    case Verb::kPeek:
      return peek(ask, *queue, now);
    case Verb::kPop:
      return pop(ask, *queue, request, now);
    default:
      return end_leases(ask, *queue, request, now);
  }
}

// True if the request is a repetition, which was answered from memory.
bool QueueTable::repeat(AskId ask, const Request& request, Now now) {
  const std::string& client = request.caller.client;
  if (client.empty() || !changes_items(request.verb)) return false;
  // A client has one request at a time, so it does not wait for earlier ones any more.
  withdraw_waiters_of(client);
  auto found = memories_.find(client);
  if (found == memories_.end()) return false;
  const KeepMemory memory = found->second.kept;
  if (request.caller.sequence > memory.sequence) return false;
  if (request.caller.sequence < memory.sequence || request.verb != memory.verb) {
    fail(ask, Status(StatusCode::kInvalidArgument,
                     fmt::format("this client's request {} is older than its request {}, which was answered",
                                 request.caller.sequence, memory.sequence)));
    return true;
  }
  Answer again;
  again.count = memory.count;
  if (memory.verb == Verb::kPop) {
    again.count = 0;
    Queue* queue = find(request.queue);
    for (Number lease = memory.first_lease; queue != nullptr && lease < memory.first_lease + memory.count; ++lease) {
      const LeaseQueue::Held* held = queue->items.held(lease);
      if (held == nullptr || held->ends <= now.steady) continue;
      again.given.push_back({held->item, lease_id(held->item, lease), held->begun_unix_ns, ""});
    }
  }
  again.invalid = ids_at(memory.invalid, request.leases);
  answer(ask, std::move(again));
  return true;
}

void QueueTable::remember(const Caller& caller, KeepMemory memory, Now now) {
  if (caller.client.empty()) return;
  memory.client = caller.client;
  memory.sequence = caller.sequence;
  memory.unix_ns = now.unix_ns;
  commands_.emplace_back(memory);
  keep_memory(std::move(memory));
}

void QueueTable::keep_memory(KeepMemory memory) {
  auto [found, is_new] = memories_.try_emplace(memory.client);
  if (!is_new) order_.erase(found->second.place);
  found->second.place = order_.insert(order_.end(), memory.client);
  found->second.kept = std::move(memory);
}

void QueueTable::forget_old(std::int64_t unix_ns) {
  const std::int64_t limit = unix_ns - std::chrono::nanoseconds(kMemory).count();
  while (!order_.empty()) {
    auto oldest = memories_.find(order_.front());
    if (oldest->second.kept.unix_ns > limit) return;
    commands_.emplace_back(DropMemory{order_.front()});
    memories_.erase(oldest);
    order_.pop_front();
  }
}

QueueView QueueTable::view(const Queue& queue) const {
  return {queue.record.name,   queue.items.waiting(), queue.items.leased(),
          queue.items.bytes(), queue.waiters.size(),  queue.record.made_unix_ns};
}

void QueueTable::list(AskId ask, const Request& request, Now now) {
  Answer told;
  for (auto& [name, queue] : queues_) {
    if (request.verb == Verb::kShow && name != request.queue) continue;
    take_back(queue, now);
    told.queues.push_back(view(queue));
  }
  answer(ask, std::move(told));
}

void QueueTable::make(AskId ask, const Request& request, Now now) {
  auto [found, is_new] = queues_.try_emplace(request.queue);
  if (is_new) {
    found->second.record = {draw(), request.queue, now.unix_ns};
    commands_.emplace_back(found->second.record);
  }
  Answer told;
  told.queues.push_back(view(found->second));
  answer(ask, std::move(told));
}

void QueueTable::remove(AskId ask, Queue& queue, Now now) {
  take_back(queue, now);
  Answer told;
  told.queues.push_back(view(queue));
  commands_.emplace_back(DropQueue{queue.record.queue});
  answer(ask, std::move(told));
  for (const Waiter& waiter : queue.waiters) fail(waiter.ask, no_queue(queue.record.name));
  queues_.erase(std::string(queue.record.name));
}

void QueueTable::purge(AskId ask, Queue& queue, const Request& request, Now now) {
  take_back(queue, now);
  Answer told;
  told.count = queue.items.dropped(request.leased_too);
  queue.items.drop(request.leased_too);
  commands_.emplace_back(DropWaiting{queue.record.queue, request.leased_too});
  remember(request.caller, {.verb = request.verb, .count = told.count}, now);
  answer(ask, std::move(told));
}

void QueueTable::push(AskId ask, Queue& queue, Request& request, Now now) {
  Answer told;
  told.count = request.items.size();
  for (std::string& bytes : request.items) {
    const Number item = draw();
    queue.items.add(item, bytes.size());
    commands_.emplace_back(KeepItem{queue.record.queue, item, std::move(bytes)});
  }
  remember(request.caller, {.verb = request.verb, .count = told.count}, now);
  answer(ask, std::move(told));
  serve(queue, now);
}

void QueueTable::peek(AskId ask, Queue& queue, Now now) {
  take_back(queue, now);
  Answer told;
  if (auto item = queue.items.first()) told.given.push_back({*item, "", 0, ""});
  answer(ask, std::move(told));
}

void QueueTable::pop(AskId ask, Queue& queue, const Request& request, Now now) {
  take_back(queue, now);
  Waiter waiter{ask, request.caller, request.most, request.lease_time, now.steady + request.wait};
  if (queue.items.waiting() == 0 && request.wait > Moment(0)) {
    queue.waiters.push_back(std::move(waiter));
    return;
  }
  answer(ask, give(queue, waiter, now));
}

// Leases items to a waiter: as many as it wants, as there are, and as one answer has room for.
Answer QueueTable::give(Queue& queue, const Waiter& to, Now now) {
  Answer given;
  std::uint64_t bytes = 0;
  const Number first_lease = next_;
  while (given.given.size() < to.most && queue.items.waiting() > 0) {
    if (!given.given.empty() && bytes + queue.items.first_size() > kMostItemBytes) break;
    bytes += queue.items.first_size();
    const Number lease = draw();
    const Number item = queue.items.lease(lease, now, to.lease_time);
    commands_.emplace_back(KeepLease{item, lease, now.unix_ns, to.lease_time.count()});
    given.given.push_back({item, lease_id(item, lease), now.unix_ns, ""});
  }
  given.count = given.given.size();
  if (given.count > 0) {
    remember(to.caller, {.verb = Verb::kPop, .first_lease = first_lease, .count = given.count}, now);
  }
  return given;
}

void QueueTable::serve(Queue& queue, Now now) {
  while (!queue.waiters.empty() && queue.items.waiting() > 0) {
    const Waiter first = std::move(queue.waiters.front());
    queue.waiters.pop_front();
    answer(first.ask, give(queue, first, now));
  }
}

void QueueTable::end_leases(AskId ask, Queue& queue, const Request& request, Now now) {
  Answer told;
  std::string places;
  for (std::size_t i = 0; i < request.leases.size(); ++i) {
    if (end_lease(queue, request.verb, request.leases[i])) {
      ++told.count;
    } else {
      told.invalid.push_back(request.leases[i]);
      places += fmt::format("{} ", i);
    }
  }
  remember(request.caller, {.verb = request.verb, .count = told.count, .invalid = std::move(places)}, now);
  answer(ask, std::move(told));
  if (request.verb == Verb::kRelease) serve(queue, now);
}

bool QueueTable::end_lease(Queue& queue, Verb verb, std::string_view id) {
  const auto name = parse_lease_id(id);
  if (!name) return false;
  if (verb == Verb::kDone) {
    if (!queue.items.end(name->item, name->lease)) return false;
    commands_.emplace_back(DropItem{name->item});
    return true;
  }
  if (!queue.items.put_back(name->item, name->lease)) return false;
  commands_.emplace_back(DropLease{name->item});
  return true;
}

void QueueTable::take_back(Queue& queue, Now now) {
  for (Number item : queue.items.take_back(now.steady)) commands_.emplace_back(DropLease{item});
  serve(queue, now);
}

void QueueTable::withdraw(AskId ask) {
  for (auto& [name, queue] : queues_) {
    std::erase_if(queue.waiters, [&](const Waiter& waiter) { return waiter.ask == ask; });
  }
}

void QueueTable::withdraw_waiters_of(const std::string& client) {
  for (auto& [name, queue] : queues_) {
    for (auto waiter = queue.waiters.begin(); waiter != queue.waiters.end();) {
      if (waiter->caller.client != client) {
        ++waiter;
        continue;
      }
      fail(waiter->ask, Status(StatusCode::kCancelled, "the same client has asked anew"));
      waiter = queue.waiters.erase(waiter);
    }
  }
}

void QueueTable::tick(Now now) {
  for (auto& [name, queue] : queues_) {
    if (queue.waiters.empty()) continue;
    take_back(queue, now);
    for (auto waiter = queue.waiters.begin(); waiter != queue.waiters.end();) {
      if (waiter->until > now.steady) {
        ++waiter;
        continue;
      }
      answer(waiter->ask, {});
      waiter = queue.waiters.erase(waiter);
    }
  }
}

std::optional<Moment> QueueTable::next_due() const {
  std::optional<Moment> due;
  auto take = [&due](Moment moment) { due = due ? std::min(*due, moment) : moment; };
  for (const auto& [name, queue] : queues_) {
    if (queue.waiters.empty()) continue;
    if (auto end = queue.items.next_end()) take(*end);
    for (const Waiter& waiter : queue.waiters) take(waiter.until);
  }
  return due;
}

std::size_t QueueTable::waiter_count() const {
  std::size_t count = 0;
  for (const auto& [name, queue] : queues_) count += queue.waiters.size();
  return count;
}

}  // namespace fray::queue
