#include "capi/session.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "capi/failure.h"
#include "capi/program.h"
#include "capi/running_call.h"
#include "capi/trace_context.h"
#include "capi/worker_process.h"
#include "client/open_client.h"
#include "client/output/output_writer.h"
#include "door/find_node.h"
#include "model/json_text.h"

namespace fray::capi {

namespace {

constexpr const char* kNamespaceVariable = "FRAY_NAMESPACE";
constexpr std::size_t kMostRecentKeys = 64;

std::atomic<fray_session*> current{nullptr};  // counted

bool is_child_of_task = false;

// In a child of fork() the connection belongs to the parent. The child may connect again, unless a task or an actor has
// forked it: its worker would hold a CPU while it waits for tasks that need that CPU.
void leave_to_parent() {
  fray_session* parents = current.exchange(nullptr);
  if (parents == nullptr) return;
  parents->inherited = true;
  is_child_of_task = parents->of_worker;
  parents->client->abandon_after_fork();
}

std::string namespace_of(const fray_connect_options& options) {
  if (options.name_space != nullptr) return options.name_space;
  const char* text = std::getenv(kNamespaceVariable);
  return text != nullptr && *text != '\0' ? text : "default";
}

Status check_amount(const char* name, double amount) {
  if (std::isfinite(amount) && amount >= 0) return Status::ok();
  return Status(
      StatusCode::kInvalidArgument,
      fmt::format("Options::{} must be a finite number above 0, got {}; leave it out for the default", name, amount));
}

Result<std::string> node_settings(const fray_connect_options& options) {
  nlohmann::json settings = nlohmann::json::object();
  FRAY_RETURN_IF_ERROR(check_amount("cpus", options.cpus));
  if (options.cpus > 0) settings["cpus"] = options.cpus;
  if (options.memory_bytes > 0) settings["memory_bytes"] = options.memory_bytes;
  if (options.store_memory_bytes > 0) settings["store_memory_bytes"] = options.store_memory_bytes;
  if (options.spill_folder != nullptr) settings["spill_folder"] = options.spill_folder;
  if (options.max_workers > 0) settings["max_workers"] = options.max_workers;
  for (std::size_t i = 0; i < options.resource_count; ++i) {
    FRAY_RETURN_IF_ERROR(check_amount(options.resources[i].name, options.resources[i].amount));
    settings["resources"][options.resources[i].name] = options.resources[i].amount;
  }
  return json_text(settings);
}

// The node that the options name, or the node of this process's job, or a new node of its own.
Result<client::NodeChoice> node_of(const fray_connect_options& options) {
  client::NodeChoice node;
  node.address = door::node_of_this_job();
  if (options.address != nullptr) node.address = options.address;
  if (node.address) return node;
  FRAY_ASSIGN_OR_RETURN(node.options_json, node_settings(options));
  FRAY_ASSIGN_OR_RETURN(node.program, node_program());
  return node;
}

void set_variable(wire::WorkerKey* key, std::string_view name, std::string_view value) {
  std::erase_if(key->environment, [&](const auto& entry) { return entry.first == name; });
  key->environment.emplace_back(name, value);
}

// The key of workers of this language, without further variables.
Result<wire::WorkerKey> plain_key(fray_session& session, std::int32_t language) FRAY_REQUIRES(session.keys_mutex) {
  if (language == FRAY_PYTHON) {
    if (!session.python_key) {
      FRAY_ASSIGN_OR_RETURN(session.python_key, python_key(session.python));
      set_variable(&*session.python_key, kNamespaceVariable, session.name_space);
      for (const auto& [name, value] : session.span_exporter.worker_variables()) {
        set_variable(&*session.python_key, name, value);
      }
    }
    return *session.python_key;
  }
  if (!session.cpp_key) {
    FRAY_ASSIGN_OR_RETURN(session.cpp_key, own_worker_key());
  }
  return *session.cpp_key;
}

Result<fray_session*> connect(const fray_connect_options& options) {
  auto session = std::make_unique<fray_session>();
  session->name_space = namespace_of(options);
  session->python = text_or(options.python);
  client::ClientOptions settings;
  settings.output = &client::OutputWriter::of_process();
  if (is_child_of_task) {
    return Status(
        StatusCode::kInvalidArgument,
        "a process that a task has forked cannot connect; start the work in the task itself, or return what is "
        "to be done");
  }
  FRAY_ASSIGN_OR_RETURN(settings.key, options.library != nullptr ? library_key(options.library) : own_binary_key());
  set_variable(&settings.key, kNamespaceVariable, session->name_space);
  if (traces_are_asked_for()) session->span_exporter = SpanExporter::of_program();
  for (const auto& [name, value] : session->span_exporter.worker_variables()) set_variable(&settings.key, name, value);
  {
    MutexLock lock(session->keys_mutex);
    session->cpp_key = settings.key;
  }
  FRAY_ASSIGN_OR_RETURN(client::NodeChoice node, node_of(options));
  if (!node.address) {
    settings.prestart = options.cpus >= 1 ? static_cast<std::uint32_t>(options.cpus)
                                          : static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  }
  FRAY_ASSIGN_OR_RETURN(session->client, client::open_client(std::move(node), std::move(settings)));
  session->spans = session->span_exporter.begin(session->client->node().folder, session->python);
  return session.release();
}

}  // namespace

int check_own(const fray_session& session) {
  if (!session.inherited) return FRAY_OK;
  return fail(
      FRAY_UNAVAILABLE,
      "the session was made before this process was forked, and so were its refs, functions and actors; get values "
      "before the fork");
}

fray_session* current_session() { return current.load(std::memory_order_acquire); }

void set_current_session(fray_session* session) {
  static const int registered = ::pthread_atfork(nullptr, nullptr, leave_to_parent);
  (void)registered;
  current.store(session, std::memory_order_release);
}

Result<std::uint32_t> hold_worker_key(fray_session& session, std::int32_t language, const Variables& environment) {
  MutexLock lock(session.keys_mutex);
  auto known = session.recent_keys.find({language, environment});
  if (known == session.recent_keys.end()) {
    FRAY_ASSIGN_OR_RETURN(wire::WorkerKey key, plain_key(session, language));
    for (const auto& [name, value] : environment) set_variable(&key, name, value);
    if (session.recent_keys.size() >= kMostRecentKeys) {
      for (const auto& [shape, number] : std::exchange(session.recent_keys, {}))
        session.client->tasks().forget_key(number);
    }
    known =
        session.recent_keys.emplace(std::pair(language, environment), session.client->tasks().define_key(key)).first;
  }
  session.client->tasks().hold_key(known->second);
  return known->second;
}

client::ObjectWaits::Deadline deadline_after(double seconds) {
  constexpr double kForever = 1e9;
  if (seconds < 0 || !(seconds < kForever)) return std::nullopt;
  return client::Clock::now() +
         std::chrono::duration_cast<client::Clock::duration>(std::chrono::duration<double>(seconds));
}

bool Hooks::interrupted() {
  fray_call* call = current_call();
  return call != nullptr && call->interrupted();
}

bool Hooks::is_main_thread() const { return current_call() != nullptr; }

client::WorkerDuty* Hooks::duty() {
  fray_call* call = current_call();
  return call != nullptr ? call->duty : nullptr;
}

}  // namespace fray::capi

using namespace fray;

int fray_connect(const fray_connect_options* given, fray_session** out) {
  fray_serve();
  fray_connect_options options{};
  if (given != nullptr) std::memcpy(&options, given, std::min(given->size, sizeof(options)));
  if (capi::current_session() != nullptr) {
    return capi::fail(FRAY_ALREADY_EXISTS, "this process is connected already; use that session, or close it first");
  }
  auto connected = capi::connect(options);
  if (!connected.is_ok()) return capi::fail(connected.status());
  fray_session_retain(*connected);
  capi::set_current_session(*connected);
  *out = *connected;
  return FRAY_OK;
}

fray_session* fray_current_session(void) { return capi::current_session(); }

void fray_close(fray_session* session) {
  if (capi::current.compare_exchange_strong(session, nullptr)) {
    client::Client& client = *session->client;
    capi::Hooks hooks;
    capi::wait_for_spans(client.node().folder);
    client.output().drain(hooks);
    session->span_exporter.end();
    client.close();
    fray_session_release(session);
  }
}

void fray_session_retain(fray_session* session) { session->references.fetch_add(1, std::memory_order_relaxed); }

void fray_session_release(fray_session* session) {
  if (session->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete session;
}

int fray_status(fray_session* session, char** out) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  capi::Hooks hooks;
  Result<std::string> text = session->client->status(hooks);
  if (!text.is_ok()) return capi::fail(text.status());
  *out = ::strdup(text->c_str());
  return FRAY_OK;
}

void fray_text_free(char* text) { std::free(text); }
