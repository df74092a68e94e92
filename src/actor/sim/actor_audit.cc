#include "actor/sim/actor_audit.h"

#include <algorithm>

namespace fray::actor {

namespace {

[[noreturn]] void violate(const std::string& what) { throw SimulationViolation(what); }
std::string text(ActorId actor) { return fmt::format("actor {}.{}", actor.owner, actor.sequence); }

constexpr std::string_view kAbsent = "absent";

}  // namespace

void AuditedActorTable::list_possible(SimulationLog& log) {
  constexpr std::string_view kAnywhere[] = {"connect",      "kill",        "kill, may restart", "forgotten",
                                            "unreferenced", "worker lost", "root left"};
  for (ActorState state : {ActorState::kPending, ActorState::kStarting, ActorState::kAlive, ActorState::kBackingOff,
                           ActorState::kEnding, ActorState::kDead}) {
    for (std::string_view event : kAnywhere) log.possible.insert({to_string(state), event});
  }
  log.possible.erase({"pending", "worker lost"});  // told once, of the present worker
  log.possible.erase({"backing off", "worker lost"});
  for (std::string_view message : {"constructed", "raised"}) {
    for (std::string_view state : {"pending", "starting", "alive", "backing off", "ending", "dead", "absent"}) {
      log.possible.insert({state, message});
    }
  }
  log.possible.insert({"pending", "granted"});
  log.possible.insert({"pending", "refused"});
  log.possible.insert({"dead", "granted"});  // the kill and the grant cross
  log.possible.insert({"backing off", "due"});
  for (std::string_view event :
       {"create", "connect", "kill", "kill, may restart", "forgotten", "granted", "worker lost"}) {
    log.possible.insert({kAbsent, event});
  }
}

AuditedActorTable::Book* AuditedActorTable::book(ActorId actor, std::string_view event) {
  auto found = books_.find(actor);
  const bool known = found != books_.end() && table_.view(actor);  // else it is forgotten in this very round
  log_.event(known ? to_string(table_.view(actor)->state) : kAbsent, event);
  return known ? &found->second : nullptr;
}

AuditedActorTable::Book* AuditedActorTable::running(ActorId actor, std::uint32_t incarnation, std::string_view event) {
  Book* found = book(actor, event);
  const bool present = found != nullptr && !found->over && found->worker != 0 && found->started == incarnation;
  return present ? found : nullptr;
}

// --- events
// -----------------------------------------------------------------------------------------------------------

void AuditedActorTable::client_joined(ProcessId client) {
  clients_.insert(client);
  table_.client_joined(client);
}

void AuditedActorTable::client_left(ProcessId client) {
  clients_.erase(client);
  for (auto& [id, each] : books_) each.links.erase(client);
  root_left(client);
  table_.client_left(client);
  agree();
}

void AuditedActorTable::root_left(ProcessId root) {
  for (auto& [id, each] : books_) {
    if (each.spec.detached || each.spec.root != root) continue;
    book(id, "root left");
    finish(each, true);
  }
}

Result<ActorId> AuditedActorTable::create(const ActorSpec& spec) {
  Result<ActorId> answer = table_.create(spec);
  auto holder = spec.name ? names_.find(*spec.name) : names_.end();
  if (!spec.detached && !clients_.contains(spec.root)) {
    if (answer.is_ok()) violate("an actor begins in a program that has ended");
  } else if (holder != names_.end() && spec.get_if_exists) {
    if (!answer.is_ok() || *answer != holder->second) violate("get_if_exists misses the actor that has the name");
    books_.at(holder->second).forgotten = false;
  } else if (holder != names_.end()) {
    if (answer.is_ok()) violate(fmt::format("{} takes a name that {} has", text(spec.id), text(holder->second)));
  } else {
    if (!answer.is_ok() || *answer != spec.id) violate(text(spec.id) + " is refused: " + answer.status().message());
    log_.event(kAbsent, "create");
    books_[spec.id].spec = spec;
    if (spec.detached) clients_.insert(spec.home);
    if (spec.name) names_[*spec.name] = spec.id;
  }
  agree();
  return answer;
}

Result<ActorId> AuditedActorTable::find(const std::string& name) {
  Result<ActorId> answer = table_.find("default", name);
  auto holder = names_.find(name);
  if (answer.is_ok() != (holder != names_.end())) violate("a name is found that nobody has, or is not found");
  if (!answer.is_ok()) return answer;
  if (*answer != holder->second) violate("a name leads to another actor");
  books_.at(*answer).forgotten = false;
  return answer;
}

void AuditedActorTable::connect(ProcessId client, ActorId actor) {
  Book* found = book(actor, "connect");
  if (clients_.contains(client)) {
    if (found == nullptr) {
      strays_.insert({client, actor});
    } else {
      found->links[client] = {};
      found->forgotten = false;
    }
  }
  table_.connect(client, actor);
}

void AuditedActorTable::kill(ActorId actor, bool no_restart) {
  if (Book* found = book(actor, no_restart ? "kill" : "kill, may restart")) {
    if (no_restart) finish(*found, true);
    if (!no_restart && found->worker != 0) found->deliberate = true;
  }
  table_.kill(actor, no_restart);
  agree();
}

void AuditedActorTable::unreferenced(ActorId actor) {
  Book* found = book(actor, "unreferenced");
  if (found != nullptr && !found->spec.name) finish(*found, false);
  table_.unreferenced(actor);
  agree();
}

void AuditedActorTable::forgotten(ActorId actor) {
  if (Book* found = book(actor, "forgotten")) {
    found->forgotten = true;
    if (!found->spec.name) finish(*found, false);
  }
  table_.forgotten(actor);
  agree();
}

void AuditedActorTable::granted(ActorId actor, ProcessId worker) {
  if (Book* found = book(actor, "granted"); found != nullptr && found->requested && !found->over)
    found->worker = worker;
  table_.granted(actor, worker);
}

void AuditedActorTable::refused(ActorId actor) {
  if (Book* found = book(actor, "refused"); found != nullptr && found->requested) finish(*found, false);
  table_.refused(actor, StatusCode::kUnavailable, "its workers cannot be started");
  agree();
}

void AuditedActorTable::constructed(ActorId actor, std::uint32_t incarnation, Moment now) {
  if (Book* found = running(actor, incarnation, "constructed"); found != nullptr && !found->ready) {
    found->ready = true;
    found->ready_since = now;
  }
  table_.constructed(actor, incarnation, now);
  agree();
}

void AuditedActorTable::constructor_raised(ActorId actor, std::uint32_t incarnation) {
  if (Book* found = running(actor, incarnation, "raised"); found != nullptr && !found->ready) finish(*found, false);
  table_.constructor_raised(actor, incarnation, "ValueError: no");
  agree();
}

void AuditedActorTable::worker_lost(ActorId actor, ProcessId worker, Moment now) {
  if (Book* found = book(actor, "worker lost"); found != nullptr && found->worker == worker) lose(*found, now);
  table_.worker_lost(actor, worker, "signal 9", now);
  agree();
}

void AuditedActorTable::lose(Book& book, Moment now) {
  const bool steady = book.ready && now - book.ready_since >= RestartPolicy::kSteady;
  const bool deliberate = book.deliberate;
  book.worker = 0;
  book.ready = book.requested = book.deliberate = false;
  book.killed = book.over && book.killed;
  if (book.over) return bury(book);
  if (book.spec.max_restarts >= 0 && book.started > static_cast<std::uint32_t>(book.spec.max_restarts)) {
    return finish(book, true);
  }
  book.quick_ends = steady || deliberate ? 0 : book.quick_ends + 1;
  book.earliest = now;
  if (book.quick_ends > 1) {
    const Moment doubled = RestartPolicy::kFirstDelay * (1u << std::min(book.quick_ends - 2, 20u));
    book.earliest += std::min(doubled, RestartPolicy::kLongestDelay);
  }
}

void AuditedActorTable::tick(Moment now) {
  for (const auto& [id, each] : books_) {
    const std::optional<ActorView> view = table_.view(id);
    if (view && view->due && *view->due <= now) log_.event(to_string(view->state), "due");
  }
  table_.tick(now);
}

void AuditedActorTable::finish(Book& book, bool must_kill) {
  book.must_kill |= must_kill;
  if (book.over) return;
  book.over = true;
  if (book.spec.name) names_.erase(*book.spec.name);
  if (book.worker == 0) bury(book);
}

void AuditedActorTable::bury(const Book& book) {
  if (book.spec.detached && clients_.erase(book.spec.home) > 0) root_left(book.spec.home);
}

// --- judgement
// --------------------------------------------------------------------------------------------------------

void AuditedActorTable::agree() const {
  for (const auto& [id, each] : books_) {
    const std::optional<ActorView> view = table_.view(id);
    if (!view) continue;  // it was forgotten in this round: judged with its command
    if ((view->death.cause != DeathCause::kNone) != each.over) {
      violate(fmt::format("{} is {}, and should {}be over", text(id), to_string(view->state), each.over ? "" : "not "));
    }
    if (!each.over && view->worker != each.worker) violate(text(id) + " is with another worker");
  }
  std::size_t named = 0;
  for (const NamedActor& row : table_.named(std::nullopt)) {
    auto holder = names_.find(row.name);
    if (holder == names_.end() || holder->second != row.actor) violate("the name " + row.name + " is not free");
    ++named;
  }
  if (named != names_.size()) violate("a living actor lost its name");
}

std::vector<Command> AuditedActorTable::take_commands(Moment now) {
  now_ = now;
  std::vector<Command> commands = table_.take_commands();
  for (const Command& command : commands) {
    std::visit([this](const auto& each) { check(each); }, command);
  }
  settle();
  return commands;
}

// What must be so once all commands of a round are out.
void AuditedActorTable::settle() const {
  if (!strays_.empty()) violate("a client that asked for an unknown actor is not answered");
  for (const auto& [id, each] : books_) {
    if (!each.over) continue;
    if (!each.links.empty())
      violate(fmt::format("process {} is not told that {} is dead", each.links.begin()->first, text(id)));
    if (each.worker == 0 && !each.closed) violate("the home stays open of " + text(id));
    if (each.worker != 0 && !each.told && !each.killed) violate("nobody ends the worker of " + text(id));
    if (each.worker != 0 && each.must_kill && !each.killed) violate("nobody kills the worker of " + text(id));
  }
}

AuditedActorTable::Book& AuditedActorTable::known(ActorId actor) {
  auto found = books_.find(actor);
  if (found == books_.end()) violate(text(actor) + " is not known");
  return found->second;
}

void AuditedActorTable::check(const RequestWorker& command) {
  Book& book = known(command.actor);
  if (book.closed || book.spec.home != command.home) violate("a worker is asked for in the name of another home");
  if (book.requested || book.worker != 0) violate("a second worker is asked for " + text(command.actor));
  if (now_ < book.earliest) violate(text(command.actor) + " is restarted too soon");
  book.requested = true;
}

void AuditedActorTable::check(const StartActor& command) {
  Book& book = known(command.actor);
  if (book.closed) violate(text(command.actor) + " is started and dead");
  if (!book.over && book.worker != command.worker) violate(text(command.actor) + " is started on another worker");
  for (const auto& [id, other] : books_) {
    if (id != command.actor && other.worker == command.worker) violate("a worker hosts two actors");
  }
  if (command.incarnation != ++book.started) violate("incarnations do not ascend by one");
  const std::int32_t most = book.spec.max_restarts;
  if (most >= 0 && book.started > static_cast<std::uint32_t>(most) + 1) violate("more restarts than allowed");
}

void AuditedActorTable::check(const EndWorker& command) {
  Book& book = known(command.actor);
  if (!book.over || book.told) violate("a worker is told to end that is needed, or twice");
  book.told = true;
}

void AuditedActorTable::check(const KillWorker& command) {
  Book& book = known(command.actor);
  if (book.worker == command.worker && !book.must_kill && !book.deliberate) violate("a worker is killed for nothing");
  book.killed = book.worker == command.worker;
}

void AuditedActorTable::check(const Connect& command) {
  Book& book = known(command.actor);
  auto link = book.links.find(command.client);
  if (link == book.links.end()) return;  // it left later in the same round
  if (command.incarnation != book.started) violate("a client is connected to an incarnation that is gone");
  if (link->second.connected == command.incarnation) violate("a client is connected twice");
  link->second.connected = command.incarnation;
}

void AuditedActorTable::check(const ReportLost& command) {
  Book& book = known(command.actor);
  auto link = book.links.find(command.client);
  if (link == book.links.end()) return;
  if (link->second.connected != command.incarnation) violate("an incarnation is lost that the client did not have");
  if (book.ready && book.started == command.incarnation) violate("a living incarnation is reported lost");
  link->second.connected = 0;
}

void AuditedActorTable::check(const ReportDead& command) {
  if (strays_.erase({command.client, command.actor}) > 0) {
    if (command.death.cause != DeathCause::kUnknown) violate("an unknown actor died of something");
    return;
  }
  auto found = books_.find(command.actor);
  if (found == books_.end()) return;  // asked, and forgotten, in the same round
  if (!found->second.over) violate(text(command.actor) + " lives and is reported dead");
  if (command.death.text.empty() || command.death.code == StatusCode::kOk) violate("a death without a reason");
  found->second.links.erase(command.client);
}

void AuditedActorTable::check(const CloseHome& command) {
  Book& book = known(command.actor);
  if (!book.over || book.worker != 0 || book.closed)
    violate("the home is closed twice or too soon of " + text(command.actor));
  book.closed = true;
}

void AuditedActorTable::check(const Forget& command) {
  Book& book = known(command.actor);
  if (!book.closed || !book.forgotten) violate(text(command.actor) + " is forgotten too soon");
  books_.erase(command.actor);
}

void AuditedActorTable::check_at_rest() const {
  for (const auto& [id, each] : books_) {
    if (each.over) continue;
    if (!each.ready) violate(fmt::format("{} stays {}", text(id), to_string(table_.view(id)->state)));
    for (const auto& [client, link] : each.links) {
      if (link.connected != each.started) violate(fmt::format("process {} waits for {} for ever", client, text(id)));
    }
  }
}

}  // namespace fray::actor
