#include "capi/values.h"

#include <fmt/format.h>

#include "capi/failure.h"
#include "capi/running_call.h"
#include "store/buffer_layout.h"
#include "wire/actor.h"

// Keeps the memory of views alive: a mapping, an object, and the refs inside the value.
struct fray_pin {
  explicit fray_pin(fray_session& owner) : session(&owner) { fray_session_retain(session); }
  ~fray_pin() {
    if (session->inherited) return;
    for (fray::client::Object* ref : refs) session->client->objects().release(ref);
    if (object != nullptr) session->client->objects().release(object);
    fray_session_release(session);
  }
  fray_pin(const fray_pin&) = delete;
  fray_pin& operator=(const fray_pin&) = delete;

  std::atomic<std::size_t> references{1};
  fray_session* session;
  fray::client::Object* object = nullptr;  // counted
  fray::store::Pin mapping;
  std::vector<fray_bytes> buffers;
  std::vector<fray::client::Object*> refs;  // counted
};

void fray_pin_retain(fray_pin* pin) {
  if (pin != nullptr) pin->references.fetch_add(1, std::memory_order_relaxed);
}

void fray_pin_release(fray_pin* pin) {
  if (pin != nullptr && pin->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete pin;
}

namespace fray::capi {

using wire::Encoding;

Result<Encoding> encoding_of(const fray_value& value) {
  switch (value.encoding) {
    case FRAY_NONE:
    case FRAY_TRUE:
    case FRAY_FALSE:
    case FRAY_INT64:
    case FRAY_FLOAT64:
    case FRAY_UTF8:
    case FRAY_BYTES:
    case FRAY_REFS:
      if (value.buffer_count == 0) return static_cast<Encoding>(value.encoding);
      break;
    case FRAY_PORTABLE:
      return value.buffer_count > 0 ? Encoding::kPortableBuffers : Encoding::kPortable;
    default:
      break;
  }
  return Status(StatusCode::kInvalidArgument, fmt::format("{} is no encoding of a value", value.encoding));
}

std::vector<client::Object*> retained_refs(const fray_value& value) {
  std::vector<client::Object*> refs;
  refs.reserve(value.ref_count);
  for (std::size_t i = 0; i < value.ref_count; ++i) {
    client::retain(object_of(value.refs[i]));
    refs.push_back(object_of(value.refs[i]));
  }
  return refs;
}

Result<client::Object*> store(fray_session& session, const fray_value& value) {
  FRAY_ASSIGN_OR_RETURN(Encoding encoding, encoding_of(value));
  std::span<const std::byte> whole(static_cast<const std::byte*>(value.data), value.size);
  std::vector<std::span<const std::byte>> buffers;
  for (std::size_t i = 0; i < value.buffer_count; ++i) {
    buffers.emplace_back(static_cast<const std::byte*>(value.buffers[i].data), value.buffers[i].size);
  }
  Hooks hooks;
  FRAY_ASSIGN_OR_RETURN(client::Object * made, session.client->values().put_large(encoding, whole, buffers, hooks));
  made->detail->nested = retained_refs(value);
  return made;
}

// ---- Reading ----

namespace {

fray_view plain_view(Encoding encoding, std::string_view bytes) {
  fray_view view{};
  view.encoding = static_cast<std::int32_t>(encoding);
  view.data = bytes.data();
  view.size = bytes.size();
  return view;
}

// Fills in the fields of a view besides the bytes, and takes over the pin where the view needs it.
int finish_view(Encoding encoding, std::string_view bytes, std::unique_ptr<fray_pin> pin, fray_view* out) {
  fray_view view = plain_view(encoding, bytes);
  if (encoding == Encoding::kPickle || encoding == Encoding::kPickleBuffers) {
    return fail(FRAY_WRONG_TYPE,
                "the value is a pickle, which only Python can read; C++ and Python share None, bool, int, float, str, "
                "bytes, list, dict and arrays");
  }
  if (encoding == Encoding::kItems) {
    return fail(FRAY_WRONG_TYPE, "the value is what a Python generator gave, which only Python can read");
  }
  if (encoding == Encoding::kPortableBuffers) {
    auto layout = store::BufferLayout::parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
    if (!layout.is_ok()) return fail(layout.status());
    view.encoding = FRAY_PORTABLE;
    view.data = layout->pickle.data();
    view.size = layout->pickle.size();
    for (std::span<const std::byte> buffer : layout->buffers) pin->buffers.push_back({buffer.data(), buffer.size()});
    view.buffers = pin->buffers.data();
    view.buffer_count = pin->buffers.size();
  }
  if (pin != nullptr && (pin->object != nullptr || !pin->refs.empty())) {
    view.refs = reinterpret_cast<fray_object* const*>(pin->refs.data());
    view.ref_count = pin->refs.size();
    view.pin = pin.release();
  }
  *out = view;
  return FRAY_OK;
}

int fail_as(Encoding encoding, std::string_view bytes) {
  if (encoding == Encoding::kStatus && !bytes.empty()) {
    return fail(Status(static_cast<StatusCode>(bytes[0]), std::string(bytes.substr(1))));
  }
  if (encoding == Encoding::kFailure) {
    auto failure = wire::decode<wire::Failure>(bytes);
    return failure.is_ok() ? fail(*failure) : fail(failure.status());
  }
  if (encoding == Encoding::kActorDied) {
    auto death = wire::decode<wire::ActorDeath>(bytes);
    if (!death.is_ok()) return fail(death.status());
    static constexpr const char* kRan[] = {"the call did not run", "the call ran", "the call may have run"};
    std::string who = death->class_name + (death->name.empty() ? "" : " '" + death->name + "'");
    const char* what = death->fate == wire::ActorFate::kLivesOn ? "lost the call" : "has ended";
    return fail(FRAY_ACTOR_DIED, fmt::format("actor {} {}: {} ({})", who, what, death->text,
                                             kRan[static_cast<std::size_t>(death->executed) % 3]));
  }
  // A task that Python submitted: its exception is a pickle.
  wire::Failure failure;
  failure.task = "?";
  failure.type_name = "a Python exception";
  failure.message = "it was raised for a Python caller, and only Python can read it";
  return fail(failure);
}

}  // namespace

int read_object(fray_session& session, client::Object* object, fray_view* out) {
  if (object->failed()) return fail_as(object->encoding, object->bytes);
  std::unique_ptr<fray_pin> pin;
  if (!object->sealed && !object->detail) return finish_view(object->encoding, object->bytes, nullptr, out);
  pin = std::make_unique<fray_pin>(session);
  pin->refs = session.client->objects().nested(object);
  if (!object->sealed) return finish_view(object->encoding, object->bytes, std::move(pin), out);
  Hooks hooks;
  Result<store::View> view = session.client->values().view(object, hooks);
  if (!view.is_ok()) return fail(view.status());
  client::retain(object);
  pin->object = object;
  pin->mapping = view->pin;
  std::string_view bytes(reinterpret_cast<const char*>(view->bytes.data()), view->bytes.size());
  return finish_view(object->encoding, bytes, std::move(pin), out);
}

int read_value(fray_session& session, const wire::ValueView& value, fray_view* out) {
  if (value.kind == wire::ValueKind::kSealed) {
    client::Object* object = session.client->objects().adopt_sealed(value);
    int code = read_object(session, object, out);
    session.client->objects().release(object);
    return code;
  }
  if (wire::is_failure(value.encoding)) return fail_as(value.encoding, value.bytes);
  if (value.nested_count == 0) return finish_view(value.encoding, value.bytes, nullptr, out);
  auto pin = std::make_unique<fray_pin>(session);
  std::vector<ObjectId> ids(value.nested_count);
  std::memcpy(ids.data(), value.nested_bytes.data(), value.nested_bytes.size());
  pin->refs = session.client->objects().adopt(ids);
  return finish_view(value.encoding, value.bytes, std::move(pin), out);
}

// ---- Results ----

Status write_result(fray_call& call, const fray_value& value) {
  client::Client& client = *call.session.client;
  ObjectId id{client.node().epoch, call.task.client, call.task.number + call.outcome.values};
  wire::ValueView view;
  FRAY_ASSIGN_OR_RETURN(view.encoding, encoding_of(value));
  wire::ByteWriter out(call.outcome.bytes);
  if (!is_large(value) && value.ref_count == 0) {
    view.bytes = {static_cast<const char*>(value.data), value.size};
    call.outcome.bytes_out += value.size + 1;
    wire::encode(out, view);
    ++call.outcome.values;
    return Status::ok();
  }
  wire::Value whole;
  whole.encoding = view.encoding;
  client::Object* made = nullptr;
  std::vector<client::Object*> refs = retained_refs(value);
  if (!refs.empty()) {
    client.objects().share(refs);
    for (client::Object* ref : refs) whole.nested.push_back(ref->id);
  }
  Status stored = Status::ok();
  if (is_large(value)) {
    Result<client::Object*> sealed = store(call.session, value);
    if (sealed.is_ok()) {
      made = *sealed;
      whole.kind = wire::ValueKind::kSealed;
      whole.location = made->detail->location;
      call.outcome.bytes_out += whole.location.size;
    } else {
      stored = sealed.status();
    }
  } else {
    whole.bytes.assign(static_cast<const char*>(value.data), value.size);
    whole.object = id;
    call.outcome.bytes_out += value.size + 1;
  }
  if (stored.is_ok()) {
    client.record_result(id, call.task.client, whole, made);
    wire::encode(out, whole);
    ++call.outcome.values;
  }
  if (made != nullptr) client.objects().release(made);
  for (client::Object* ref : refs) client.objects().release(ref);
  return stored;
}

}  // namespace fray::capi
