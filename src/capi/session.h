// fray_session: this process's connection to a node, as a driver or as a worker.
//
// Threading:  any thread. Members that are not atomic are set before the session is handed out, or guarded by
//             the mutex beside them.
// Ownership:  counted: each ref, function, pin and handle keeps its session. close() disconnects; the client itself is
//             destroyed with the last of them.
// Failure:    when the node is gone every call fails with kUnavailable. In a child of fork() so does every call that
//             needs the parent's session, and nothing is given back: a thread that the child does not have may hold its
//             locks.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include <fray.h>

#include "base/mutex.h"
#include "capi/span_exporter.h"
#include "capi/spans.h"
#include "client/client.h"
#include "wire/worker_key.h"

struct fray_session {
  std::atomic<std::size_t> references{1};
  std::unique_ptr<fray::client::Client> client;
  std::string name_space;
  std::string python;                        // the interpreter of Python workers; empty: as found
  bool of_worker = false;                    // this process was started to run tasks
  bool inherited = false;                    // it is the parent's of this process; written where there is one thread
  std::unique_ptr<fray::capi::Spans> spans;  // null: nobody traces
  fray::capi::SpanExporter span_exporter;    // of a driver that is traced

  fray::Mutex keys_mutex;
  std::optional<fray::wire::WorkerKey> python_key FRAY_GUARDED_BY(keys_mutex);  // known once it was asked for
  std::optional<fray::wire::WorkerKey> cpp_key FRAY_GUARDED_BY(keys_mutex);     // of a driver: from the beginning
  // Numbers of worker keys that were used lately, each held once, by language and variables.
  std::map<std::pair<std::int32_t, std::map<std::string, std::string>>, std::uint32_t> recent_keys
      FRAY_GUARDED_BY(keys_mutex);

  fray::Mutex functions_mutex;
  // Functions that were submitted lately, by payload and label.
  std::unordered_map<std::string, std::shared_ptr<fray::client::Function>> functions FRAY_GUARDED_BY(functions_mutex);
};

// One call that runs on this thread; see capi/running_call.h.
struct fray_call;

namespace fray::capi {

fray_session* current_session();
// The process's own count goes along. A worker's session stays for ever.
void set_current_session(fray_session* session);

using Variables = std::map<std::string, std::string>;

// The number of the worker key for workers of this language and session, with these variables in their environment: C++
// workers are like this process, or like those of this driver. Held once for the caller, see Client::forget_key().
Result<std::uint32_t> hold_worker_key(fray_session& session, std::int32_t language, const Variables& environment);

// FRAY_OK; in a child of fork(), why the session cannot be used.
int check_own(const fray_session& session);

// What a wait of this thread does: inside a call it says that the call is blocked, and gives up when that is cancelled.
class Hooks : public client::WaitHooks {
 public:
  bool interrupted() override;
  bool is_main_thread() const override;
  client::WorkerDuty* duty() override;
};

client::ObjectWaits::Deadline deadline_after(double seconds);  // below 0: none
inline client::Object* object_of(fray_object* object) { return reinterpret_cast<client::Object*>(object); }
inline const client::Object* object_of(const fray_object* object) {
  return reinterpret_cast<const client::Object*>(object);
}
inline fray_object* handle_of(client::Object* object) { return reinterpret_cast<fray_object*>(object); }
inline std::string text_or(const char* text, const char* otherwise = "") { return text != nullptr ? text : otherwise; }

}  // namespace fray::capi
