#include "queue/sim/queue_world.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace fray::queue {

namespace {

constexpr std::uint32_t kMostActs = 120;
constexpr std::array kQueues = {"a", "b"};

std::string_view name_of(Verb verb) {
  constexpr std::array<std::string_view, 10> kNames = {"list", "show", "make", "remove", "purge",
                                                       "push", "peek", "pop",  "done",   "release"};
  return kNames[static_cast<std::size_t>(verb)];
}

}  // namespace

void QueueWorld::list_possible(SimulationLog& log) {
  for (Verb verb : {Verb::kPush, Verb::kPop, Verb::kDone, Verb::kRelease, Verb::kPurge}) {
    for (const char* end : {"answered", "repeated"}) log.possible.emplace(name_of(verb), end);
  }
  log.possible.emplace("pop", "waited");
}

QueueWorld::QueueWorld(std::uint64_t seed, SimulationLog& log)
    : random_(seed), log_(log), table_(std::make_unique<QueueTable>()) {
  for (const char* name : kQueues) table_->ask(++last_ask_, {.verb = Verb::kMake, .queue = name}, now());
  collect();
  for (std::uint32_t i = 0; i < 2 + random_.below(4); ++i) {
    clients_.push_back({fmt::format("client-{}", ++names_), kQueues[random_.below(2)], 0, {}, {}});
  }
}

void QueueWorld::check(bool holds, const std::string& what) const {
  if (!holds) throw SimulationViolation(what);
}

void QueueWorld::run() {
  commit(unkept_.size());
  for (std::uint32_t step = 0; step < kMostActs; ++step) {
    ++log_.steps;
    act();
    collect();
  }
  drain();
}

void QueueWorld::pass(Moment time) {
  steady_ += time;
  unix_ns_ += time.count();
  table_->tick(now());
}

void QueueWorld::act() {
  Client& client = clients_[random_.below(clients_.size())];
  switch (random_.below(12)) {
    case 0:
      pass(std::chrono::milliseconds(random_.below(1500)));
      return;
    case 1:
      if (auto due = table_->next_due(); due && *due > steady_) pass(*due - steady_);
      return;
    case 2:
    case 3:
      return commit(random_.below(unkept_.size() + 1));
    case 4:
      return random_.percent(30) ? kill_node() : commit(unkept_.size());
    case 5:
      return random_.percent(20) ? vanish(client) : compare_with_disk();
    default:
      break;
  }
  if (!client.pending) return begin(client, request_of(client));
  if (client.pending->ask == 0) return send(client);
  if (!random_.percent(10)) return;
  // It has lost patience, or its connection, and asks again.
  log_.fault("asked twice");
  left_.insert(client.pending->ask);
  table_->withdraw(client.pending->ask);
  send(client);
}

Request QueueWorld::request_of(Client& client) {
  Request request;
  request.queue = client.queue;
  const std::uint32_t draw = random_.below(100);
  if (draw < 35) {
    request.verb = Verb::kPush;
    for (std::uint32_t i = 0; i < 1 + random_.below(3); ++i) {
      request.items.push_back(fmt::format("{}-{}", client.queue, ++texts_));
      fates_[request.items.back()];
    }
  } else if (draw < 70 || client.held.empty()) {
    request.verb = Verb::kPop;
    request.most = 1 + random_.below(3);
    request.lease_time = std::chrono::milliseconds(random_.below(6000));
    if (random_.percent(40)) request.wait = std::chrono::milliseconds(random_.below(4000));
  } else if (draw < 98) {
    request.verb = random_.percent(60) ? Verb::kDone : Verb::kRelease;
    for (std::uint32_t i = 0; i < 1 + random_.below(2) && !client.held.empty(); ++i) {
      const Held held = client.held[random_.below(client.held.size())];
      request.leases.push_back(held.lease_id);
      Fate& fate = fates_[held.text];
      if (request.verb == Verb::kDone) fate.may_be_gone = true;
      if (fate.lease_id == held.lease_id) fate.lease_may_be_over = true;
    }
  } else {
    request.verb = Verb::kPurge;
    request.leased_too = random_.percent(50);
  }
  return request;
}

void QueueWorld::begin(Client& client, Request request) {
  request.caller = {client.name, ++client.sequence};
  client.pending = Pending{std::move(request), 0, 0};
  send(client);
}

void QueueWorld::send(Client& client) {
  client.pending->ask = ++last_ask_;
  ++client.pending->sent;
  for (auto& [text, fate] : fates_) {
    if (client.pending->request.verb != Verb::kPurge || !text.starts_with(client.queue)) continue;
    fate.may_be_gone = true;
    if (client.pending->request.leased_too) fate.lease_may_be_over = true;
  }
  table_->ask(last_ask_, client.pending->request, now());
  collect();
  if (is_answered(last_ask_)) return;
  check(client.pending->request.wait > Moment(0), "a request was not answered at once");
  log_.event("pop", "waited");
}

bool QueueWorld::is_answered(AskId ask) const {
  return !unkept_.empty() && std::any_of(unkept_.back().begin(), unkept_.back().end(), [&](const Command& command) {
    const auto* answered = std::get_if<Answered>(&command);
    return answered != nullptr && answered->ask == ask;
  });
}

void QueueWorld::collect() {
  std::vector<Command> commands = table_->take_commands();
  for (const Command& command : commands) {
    const auto* answered = std::get_if<Answered>(&command);
    if (answered == nullptr) continue;
    check(!left_.contains(answered->ask) || answered->answer.given.empty(),
          "items were given to somebody who had left");
  }
  if (!commands.empty()) unkept_.push_back(std::move(commands));
}

void QueueWorld::commit(std::size_t batches) {
  collect();
  for (std::size_t i = 0; i < batches && !unkept_.empty(); ++i) {
    const std::vector<Command> batch = std::move(unkept_.front());
    unkept_.pop_front();
    for (const Command& command : batch) apply(command);
    for (const Command& command : batch) {
      if (const auto* answered = std::get_if<Answered>(&command)) deliver(*answered);
    }
  }
}

void QueueWorld::apply(const Command& command) {
  if (const auto* queue = std::get_if<KeepQueue>(&command)) disk_.queues[queue->queue] = *queue;
  if (const auto* item = std::get_if<KeepItem>(&command)) {
    check(disk_.items.emplace(item->item, *item).second, "an item's number was given twice");
    fates_[item->bytes].numbers.insert(item->item);
    check(fates_[item->bytes].numbers.size() == 1, fmt::format("the item {} was pushed twice", item->bytes));
  }
  if (const auto* item = std::get_if<DropItem>(&command)) {
    disk_.items.erase(item->item);
    disk_.leases.erase(item->item);
  }
  if (const auto* lease = std::get_if<KeepLease>(&command)) disk_.leases[lease->item] = *lease;
  if (const auto* lease = std::get_if<DropLease>(&command)) disk_.leases.erase(lease->item);
  if (const auto* memory = std::get_if<KeepMemory>(&command)) disk_.memories[memory->client] = *memory;
  if (const auto* memory = std::get_if<DropMemory>(&command)) disk_.memories.erase(memory->client);
  if (const auto* next = std::get_if<KeepNext>(&command)) disk_.next = next->next;
  if (const auto* waiting = std::get_if<DropWaiting>(&command)) {
    std::erase_if(disk_.items, [&](const auto& each) {
      if (each.second.queue != waiting->queue) return false;
      if (waiting->leased_too) disk_.leases.erase(each.first);
      return waiting->leased_too || !disk_.leases.contains(each.first);
    });
  }
}

void QueueWorld::deliver(const Answered& answered) {
  auto found = std::find_if(clients_.begin(), clients_.end(), [&](const Client& client) {
    return client.pending && client.pending->ask == answered.ask;
  });
  if (found == clients_.end()) return;
  Client& client = *found;
  if (random_.percent(10)) {
    log_.fault("answer lost");
    client.pending->ask = 0;
    return;
  }
  const Request request = std::move(client.pending->request);
  const char* how = client.pending->sent == 1 ? "answered" : "repeated";
  client.pending.reset();
  check(answered.status.is_ok(), answered.status.message());
  log_.event(name_of(request.verb), how);
  if (request.verb == Verb::kPush) pushed(request, answered.answer);
  if (request.verb == Verb::kPop) given(client, request, answered.answer);
  if (request.verb == Verb::kDone || request.verb == Verb::kRelease) ended(client, request, answered.answer);
}

void QueueWorld::pushed(const Request& request, const Answer& answer) {
  check(answer.count == request.items.size(), "a push was acknowledged in part");
  for (const std::string& text : request.items) fates_[text].pushed = true;
}

void QueueWorld::given(Client& client, const Request& request, const Answer& answer) {
  Number last = 0;
  for (const GivenItem& given : answer.given) {
    check(given.item > last, "the items of a pop are not in the order of pushes");
    last = given.item;
    auto item = disk_.items.find(given.item);
    if (item == disk_.items.end()) continue;  // purged meanwhile, or somebody else was done with it after the lease
    const std::string text = item->second.bytes;
    Fate& fate = fates_[text];
    check(!fate.gone, fmt::format("{} was handed out after it was done", text));
    auto [known, is_new] = lease_ids_.emplace(given.lease_id, text);
    check(is_new, fmt::format("the lease {} was given twice", given.lease_id));
    client.held.push_back({text, given.lease_id});
    if (given.begun_unix_ns < fate.lease_begun) continue;  // told of late
    check(fate.lease_id.empty() || fate.lease_may_be_over || fate.lease_ends <= given.begun_unix_ns,
          fmt::format("{} has two valid leases, {} and {}", text, fate.lease_id, given.lease_id));
    fate.lease_id = given.lease_id;
    fate.lease_begun = given.begun_unix_ns;
    fate.lease_ends = given.begun_unix_ns + request.lease_time.count();
    fate.lease_may_be_over = false;
  }
}

void QueueWorld::ended(Client& client, const Request& request, const Answer& answer) {
  const std::set<std::string> invalid(answer.invalid.begin(), answer.invalid.end());
  for (const std::string& lease : request.leases) {
    auto held =
        std::find_if(client.held.begin(), client.held.end(), [&](const Held& each) { return each.lease_id == lease; });
    if (held == client.held.end()) continue;  // named twice
    Fate& fate = fates_[held->text];
    if (request.verb == Verb::kDone && !invalid.contains(lease)) {
      check(fate.lease_id == lease,
            fmt::format("the lease {} of {} was accepted after {}", lease, held->text, fate.lease_id));
      fate.gone = true;
    }
    client.held.erase(held);
  }
}

void QueueWorld::kill_node() {
  log_.fault("node killed");
  unkept_.clear();
  for (Client& client : clients_) {
    if (client.pending) client.pending->ask = 0;
  }
  Moment away = std::chrono::milliseconds(random_.below(1000));
  if (random_.percent(5)) away += 2 * QueueTable::kMemory;
  steady_ += away;
  unix_ns_ += away.count();
  table_ = std::make_unique<QueueTable>();
  table_->restore(kept(), now());
}

void QueueWorld::vanish(Client& client) {
  log_.fault("client vanished");
  if (client.pending && client.pending->ask != 0) {
    left_.insert(client.pending->ask);
    table_->withdraw(client.pending->ask);
  }
  client = {fmt::format("client-{}", ++names_), kQueues[random_.below(2)], 0, {}, {}};
}

Kept QueueWorld::kept() const {
  Kept kept;
  kept.next = disk_.next;
  for (const auto& [number, queue] : disk_.queues) kept.queues.push_back(queue);
  for (const auto& [number, item] : disk_.items) kept.items.push_back({item.queue, number, item.bytes.size()});
  for (const auto& [number, lease] : disk_.leases) kept.leases.push_back(lease);
  for (const auto& [client, memory] : disk_.memories) kept.memories.push_back(memory);
  return kept;
}

// A node that starts anew from the disk counts as the present one does.
void QueueWorld::compare_with_disk() {
  table_->ask(++last_ask_, {.verb = Verb::kList}, now());
  commit(SIZE_MAX);
  QueueTable other;
  other.restore(kept(), now());
  for (QueueTable* table : {table_.get(), &other}) table->ask(++last_ask_, {.verb = Verb::kList}, now());
  collect();
  std::vector<Command> commands = other.take_commands();
  const auto& mine = std::get<Answered>(unkept_.back().back()).answer.queues;
  const auto& others = std::get<Answered>(commands.back()).answer.queues;
  check(mine.size() == others.size(), "queues are missing on the disk");
  for (std::size_t i = 0; i < mine.size(); ++i) {
    check(
        mine[i].waiting == others[i].waiting && mine[i].leased == others[i].leased && mine[i].bytes == others[i].bytes,
        fmt::format("queue {}: {} wait and {} are leased, on the disk {} and {}", mine[i].name, mine[i].waiting,
                    mine[i].leased, others[i].waiting, others[i].leased));
    check(mine[i].waiters == 0 || mine[i].waiting == 0, "somebody waits beside an item that waits");
  }
}

void QueueWorld::drain() {
  auto has_pending = [](const Client& client) { return client.pending.has_value(); };
  for (int round = 0; std::any_of(clients_.begin(), clients_.end(), has_pending); ++round) {
    check(round < 200, "a request is never answered");
    for (Client& client : clients_) {
      if (client.pending && client.pending->ask == 0) send(client);
    }
    pass(std::chrono::seconds(1));
    commit(SIZE_MAX);
  }
  check(table_->waiter_count() == 0, "somebody waits whom nobody knows");
  pass(std::chrono::hours(1));
  for (const char* name : kQueues) {
    Number last = 0;
    while (true) {
      table_->ask(++last_ask_, {.verb = Verb::kPop, .queue = name, .most = 2, .lease_time = std::chrono::hours(1)},
                  now());
      collect();
      const Answered answered = std::get<Answered>(unkept_.back().back());
      commit(SIZE_MAX);
      if (answered.answer.given.empty()) break;
      for (const GivenItem& given : answered.answer.given) {
        check(given.item > last, "items do not come in the order of pushes");
        last = given.item;
        Fate& fate = fates_[disk_.items.at(given.item).bytes];
        check(!fate.gone, "an item was handed out after it was done");
        fate.gone = true;
      }
    }
  }
  for (const auto& [text, fate] : fates_) {
    check(!fate.pushed || fate.gone || fate.may_be_gone, fmt::format("the item {} was lost", text));
  }
}

}  // namespace fray::queue
