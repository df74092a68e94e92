// Registry: the tasks and actors that this process can run, by name.
//
// Threading:  any thread; filled while static objects are made, before main() or inside dlopen().
// Ownership:  owns the entries; the text of a name belongs to the code that registered it.
// Failure:    a name that was registered with two bodies is ambiguous: running it fails, because it is not known which
//             one the caller means.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fray.h>

#include "base/mutex.h"
#include "base/status.h"

namespace fray::capi {

struct TaskEntry {
  fray_body body = nullptr;
  void* context = nullptr;
  bool ambiguous = false;
};

struct ActorEntry {
  fray_constructor construct = nullptr;
  void (*destroy)(void* self) = nullptr;
  void* context = nullptr;
  std::unordered_map<std::string_view, fray_method> methods;
  bool ambiguous = false;
};

class Registry {
 public:
  // The process's one: made when it is first used, whatever the order of static objects, and never taken down.
  static Registry& instance();

  // Code that was compiled for another version of fray.h: nothing of this process can be trusted to run.
  void require_abi(std::uint32_t version, const char* who);
  void add_task(const char* name, TaskEntry entry);
  void add_actor(const char* name, ActorEntry entry);
  const char* name_of(const void* context);
  // kNotFound lists the names that there are.
  Result<TaskEntry> find_task(std::string_view name);
  Result<const ActorEntry*> find_actor(std::string_view name);

 private:
  Mutex mutex_;
  Status usable_ FRAY_GUARDED_BY(mutex_);
  std::unordered_map<const void*, const char*> names_ FRAY_GUARDED_BY(mutex_);  // by context
  std::unordered_map<std::string, TaskEntry> tasks_ FRAY_GUARDED_BY(mutex_);
  std::unordered_map<std::string, ActorEntry> actors_ FRAY_GUARDED_BY(mutex_);
};

}  // namespace fray::capi
