// Objects of the C API: put, wait, read, cancel, and queues of what becomes ready.
#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "capi/failure.h"
#include "capi/trace_context.h"
#include "capi/values.h"

using namespace fray;

namespace fray::capi {

namespace {

constexpr std::size_t kMostNamed = 32;  // of the refs of a wait that is traced

int fail_wait(fray_session& session, const Hooks& hooks, client::WaitResult result, std::size_t ready,
              std::size_t asked) {
  switch (result) {
    case client::WaitResult::kDone:
      return FRAY_OK;
    case client::WaitResult::kTimedOut:
      return fail(FRAY_TIMED_OUT, fmt::format("{} of {} refs were ready when the time was over", ready, asked));
    case client::WaitResult::kInterrupted:
      return fail(FRAY_CANCELLED, "the task that waits was cancelled, or is past its timeout");
    case client::WaitResult::kClosed:
      return fail(session.client->why_closed());
    case client::WaitResult::kDeadlock:
      break;
  }
  return fail(FRAY_DEADLOCK, hooks.deadlock);
}

// Begins the span of a wait, as fray._trace_recorder does for Python's.
void begin_wait(Span& span, fray_session& session, std::span<client::Object* const> objects, std::size_t needed) {
  std::vector<Spans::Sent> known;
  for (client::Object* object : objects.first(std::min(objects.size(), kMostNamed))) {
    if (auto sent = session.spans->find(object->id)) known.push_back(std::move(*sent));
  }
  const bool of_one_name =
      known.size() == objects.size() &&
      std::all_of(known.begin(), known.end(), [&](const auto& sent) { return sent.name == known.front().name; });
  const std::string what = of_one_name && !known.empty()
                               ? known.front().name
                               : fmt::format("{} result{}", objects.size(), objects.size() == 1 ? "" : "s");
  span.begin(session.spans.get(), {needed == objects.size() ? "get" : "wait", what, Span::Kind::kInternal},
             current_trace());
  span.set("fray.wait.count", objects.size());
  for (const Spans::Sent& sent : known) span.link(sent.context);
}

}  // namespace

}  // namespace fray::capi

void fray_object_retain(fray_session* session, fray_object* object) {
  (void)session;
  client::retain(capi::object_of(object));
}

void fray_object_release(fray_session* session, fray_object* object) {
  if (!session->inherited) session->client->objects().release(capi::object_of(object));
}

int fray_object_is_ready(const fray_object* object) { return capi::object_of(object)->is_ready() ? 1 : 0; }

int fray_put(fray_session* session, const fray_value* value, fray_object** out) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  if (capi::is_large(*value)) {
    auto made = capi::store(*session, *value);
    if (!made.is_ok()) return capi::fail(made.status());
    *out = capi::handle_of(*made);
    return FRAY_OK;
  }
  auto encoding = capi::encoding_of(*value);
  if (!encoding.is_ok()) return capi::fail(encoding.status());
  std::string bytes(static_cast<const char*>(value->data), value->size);
  *out =
      capi::handle_of(session->client->objects().put_inline(*encoding, std::move(bytes), capi::retained_refs(*value)));
  return FRAY_OK;
}

int fray_room_make(fray_session* session, size_t bytes, void** out) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  capi::Hooks hooks;
  auto room = session->client->values().make_room(bytes, hooks);
  if (!room.is_ok()) return capi::fail(room.status());
  *out = room->data;
  return FRAY_OK;
}

void fray_room_leave(fray_session* session, void* memory) {
  if (!session->inherited) session->client->values().leave_room(static_cast<const std::byte*>(memory));
}

int fray_room_put(fray_session* session, const fray_value* value, fray_object** out) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  if (value->encoding != FRAY_PORTABLE || value->buffer_count != 1) {
    return capi::fail(FRAY_INVALID_ARGUMENT, "an array that lies in the store is a value with one buffer");
  }
  std::span<const std::byte> whole(static_cast<const std::byte*>(value->data), value->size);
  std::span<const std::byte> buffer(static_cast<const std::byte*>(value->buffers[0].data), value->buffers[0].size);
  client::Object* made = session->client->values().put_in_place(wire::Encoding::kPortableBuffers, whole, buffer);
  if (made == nullptr) return capi::fail(FRAY_INVALID_ARGUMENT, "the buffer is no room of this session");
  *out = capi::handle_of(made);
  return FRAY_OK;
}

int fray_wait(fray_session* session, fray_object* const* objects, size_t count, size_t needed, double timeout_seconds) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  needed = std::min(needed, count);
  auto ready = [&] {
    return static_cast<size_t>(std::count_if(objects, objects + count,
                                             [](fray_object* object) { return capi::object_of(object)->is_ready(); }));
  };
  if (count == 1 ? needed == 0 || capi::object_of(objects[0])->is_ready() : ready() >= needed) return FRAY_OK;
  capi::Hooks hooks;
  std::span<client::Object* const> all(reinterpret_cast<client::Object* const*>(objects), count);
  capi::Span span;
  if (session->spans != nullptr && timeout_seconds != 0) [[unlikely]]
    capi::begin_wait(span, *session, all, needed);
  client::WaitResult result = session->client->waits().wait(all, needed, capi::deadline_after(timeout_seconds), hooks);
  if (result == client::WaitResult::kDone) return FRAY_OK;
  size_t done = ready();
  if (done >= needed) return FRAY_OK;
  const int code = capi::fail_wait(*session, hooks, result, done, count);
  span.fail("fray::Error", fray_last_error()->message);
  return code;
}

int fray_read(fray_session* session, fray_object* object, fray_view* out) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  if (!capi::object_of(object)->is_ready())
    return capi::fail(FRAY_INVALID_ARGUMENT, "the object is not ready: wait for it");
  return capi::read_object(*session, capi::object_of(object), out);
}

int fray_cancel(fray_session* session, fray_object* object, int force, int* cancelled) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  if (force != 0 && session->client->actors().is_actor_call(capi::object_of(object))) {
    return capi::fail(FRAY_INVALID_ARGUMENT,
                      "force would end the actor of this call and all its calls; leave it out, or kill the actor");
  }
  bool found = session->client->tasks().cancel(capi::object_of(object), force != 0);
  if (cancelled != nullptr) *cancelled = found ? 1 : 0;
  return FRAY_OK;
}

// ---- Queues ----

struct fray_queue {
  fray_session* session = nullptr;
  client::CompletionQueue ready;
  std::unordered_map<client::Object*, std::size_t> waiting;  // how often each object was added
  std::deque<client::Object*> taken;
};

int fray_queue_make(fray_session* session, fray_queue** out) {
  if (int code = capi::check_own(*session); code != FRAY_OK) return code;
  *out = new fray_queue;
  (*out)->session = session;
  fray_session_retain(session);
  return FRAY_OK;
}

void fray_queue_free(fray_queue* queue) {
  if (queue == nullptr || queue->session->inherited) return;
  client::Client& client = *queue->session->client;
  std::vector<client::Object*> objects;
  for (const auto& [object, count] : queue->waiting) objects.push_back(object);
  client.waits().forget_listener(&queue->ready, objects);
  for (const auto& [object, count] : queue->waiting) {
    for (std::size_t i = 0; i < count; ++i) client.objects().release(object);
  }
  for (client::Object* object : queue->taken) client.objects().release(object);
  fray_session_release(queue->session);
  delete queue;
}

void fray_queue_add(fray_queue* queue, fray_object* handle) {
  if (queue->session->inherited) return;
  client::Object* object = capi::object_of(handle);
  client::retain(object);
  if (queue->waiting[object]++ == 0) queue->session->client->waits().listen(object, &queue->ready);
}

int fray_queue_next(fray_queue* queue, double timeout_seconds, fray_object** out) {
  if (int code = capi::check_own(*queue->session); code != FRAY_OK) return code;
  client::Client& client = *queue->session->client;
  capi::Hooks hooks;
  while (queue->taken.empty()) {
    if (queue->waiting.empty()) return capi::fail(FRAY_NOT_FOUND, "nothing is waited for");
    client::WaitResult result =
        client.waits().wait_completed(&queue->ready, capi::deadline_after(timeout_seconds), hooks);
    if (result != client::WaitResult::kDone) {
      return capi::fail_wait(*queue->session, hooks, result, 0, queue->waiting.size());
    }
    for (client::Object* object : client.waits().take_completed(&queue->ready)) {
      auto found = queue->waiting.find(object);
      if (found == queue->waiting.end()) continue;
      queue->taken.insert(queue->taken.end(), found->second, object);
      queue->waiting.erase(found);
    }
  }
  client::Object* object = queue->taken.front();
  queue->taken.pop_front();
  *out = capi::handle_of(object);
  client.objects().release(object);  // the caller keeps its own reference
  return FRAY_OK;
}
