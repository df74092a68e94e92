#include "capi/registry.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/join.h"

namespace fray::capi {

namespace {

template <typename Entries>
Status not_found(const char* kind, std::string_view name, const Entries& entries) {
  std::vector<std::string_view> names;
  for (const auto& [known, entry] : entries) names.push_back(known);
  std::sort(names.begin(), names.end());
  return Status(
      StatusCode::kNotFound,
      fmt::format("this worker has no {} '{}'; it has {}. Register it with FRAY_TASK or FRAY_ACTOR in the program or "
                  "library that workers run",
                  kind, name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

Status ambiguous(const char* kind, std::string_view name) {
  return Status(
      StatusCode::kAlreadyExists,
      fmt::format("the {} '{}' is registered twice, in two libraries or files of this worker; give one of them another "
                  "name",
                  kind, name));
}

}  // namespace

Registry& Registry::instance() {
  static auto* registry = new Registry;
  return *registry;
}

void Registry::require_abi(std::uint32_t version, const char* who) {
  if (version == FRAY_ABI_VERSION) return;
  MutexLock lock(mutex_);
  usable_ = Status(
      StatusCode::kVersionMismatch,
      fmt::format("{} was compiled for version {} of Fray's C interface, the libfray that this worker has loaded "
                  "(release {}) offers version {}; compile it again with the headers of that release",
                  who, version, FRAY_VERSION, FRAY_ABI_VERSION));
}

void Registry::add_task(const char* name, TaskEntry entry) {
  MutexLock lock(mutex_);
  names_.try_emplace(entry.context, name);
  auto [place, fresh] = tasks_.try_emplace(name, entry);
  if (!fresh && (place->second.body != entry.body || place->second.context != entry.context)) {
    place->second.ambiguous = true;
  }
}

void Registry::add_actor(const char* name, ActorEntry entry) {
  MutexLock lock(mutex_);
  auto [place, fresh] = actors_.try_emplace(name, entry);
  if (!fresh && place->second.construct != entry.construct) place->second.ambiguous = true;
}

const char* Registry::name_of(const void* context) {
  MutexLock lock(mutex_);
  auto found = names_.find(context);
  return found != names_.end() ? found->second : nullptr;
}

Result<TaskEntry> Registry::find_task(std::string_view name) {
  MutexLock lock(mutex_);
  FRAY_RETURN_IF_ERROR(usable_);
  auto found = tasks_.find(std::string(name));
  if (found == tasks_.end()) return not_found("task", name, tasks_);
  if (found->second.ambiguous) return ambiguous("task", name);
  return found->second;
}

Result<const ActorEntry*> Registry::find_actor(std::string_view name) {
  MutexLock lock(mutex_);
  FRAY_RETURN_IF_ERROR(usable_);
  auto found = actors_.find(std::string(name));
  if (found == actors_.end()) return not_found("actor class", name, actors_);
  if (found->second.ambiguous) return ambiguous("actor class", name);
  return &found->second;  // entries are never removed
}

}  // namespace fray::capi

void fray_require_abi(uint32_t version, const char* who) { fray::capi::Registry::instance().require_abi(version, who); }

void fray_register_task(const char* name, fray_body body, void* context) {
  fray::capi::Registry::instance().add_task(name, {body, context});
}

void fray_register_actor(const char* name, fray_constructor construct, void (*destroy)(void* self), void* context,
                         const fray_method* methods, size_t count) {
  fray::capi::ActorEntry entry;
  entry.construct = construct;
  entry.destroy = destroy;
  entry.context = context;
  for (size_t i = 0; i < count; ++i) entry.methods.emplace(methods[i].name, methods[i]);
  fray::capi::Registry::instance().add_actor(name, std::move(entry));
}

const char* fray_task_name(const void* context) { return fray::capi::Registry::instance().name_of(context); }
