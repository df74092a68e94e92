// ObjectRef<T>: stands for the result of a task, or for a value that was put. The functions get, put, wait,
// as_completed and cancel work on refs.
//
//   fray::ObjectRef<int> ref = fray::submit(add, 1, 2);
//   int three = fray::get(ref).value_or_throw();
//   for (const auto& done : fray::as_completed(refs)) use(fray::get(done));
//
// Threading:  any thread. Ownership:  refs are counted in all processes, and the object is deleted with its last ref. A
// ref may be an argument, a
//             result, and a part of either.
// Failure:    get() returns the failure of the task. When submit() fails, it returns a ref that carries the reason.
#pragma once

#include <fray.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fray/codec.h"
#include "fray/status.h"

namespace fray {
inline namespace v1 {

// A time to wait, in seconds or any other unit of std::chrono. A negative time stands for no limit.
using Timeout = std::chrono::duration<double>;
inline constexpr Timeout kForever{-1.0};

template <typename T>
class ObjectRef;

namespace detail {

// The type that stores a value of type T: std::string for a string_view, Array<T> for a span.
template <typename T>
struct KeptAs {
  using type = std::remove_cvref_t<T>;
};
template <>
struct KeptAs<std::string_view> : KeptAs<std::string> {};
template <>
struct KeptAs<const char*> : KeptAs<std::string> {};
template <>
struct KeptAs<std::span<const std::byte>> : KeptAs<Bytes> {};
template <typename T>
struct KeptAs<std::span<const T>> : KeptAs<Array<T>> {};
template <typename T>
struct KeptAs<Room<T>> : KeptAs<Array<T>> {};
template <typename T>
struct KeptAs<Result<T>> : KeptAs<T> {};

}  // namespace detail

template <typename T>
using Kept = typename detail::KeptAs<std::remove_cvref_t<T>>::type;

// A ref whose type of value is not known.
class AnyRef {
 public:
  AnyRef() = default;
  // Takes over one count of the object.
  AnyRef(fray_session* session, fray_object* object) : session_(session), object_(object) {
    fray_session_retain(session);
  }
  explicit AnyRef(Status status) : status_(std::move(status)) {}
  AnyRef(const AnyRef& other) : session_(other.session_), object_(other.object_), status_(other.status_) {
    if (object_ == nullptr) return;
    fray_object_retain(session_, object_);
    fray_session_retain(session_);
  }
  AnyRef(AnyRef&& other) noexcept
      : session_(other.session_), object_(std::exchange(other.object_, nullptr)), status_(std::move(other.status_)) {}
  AnyRef& operator=(AnyRef other) noexcept {
    std::swap(session_, other.session_);
    std::swap(object_, other.object_);
    std::swap(status_, other.status_);
    return *this;
  }
  ~AnyRef() {
    if (object_ == nullptr) return;
    fray_object_release(session_, object_);
    fray_session_release(session_);
  }

  // Returns whether the ref stands for an object. After a submit() that failed it does not, and status() says why.
  explicit operator bool() const { return object_ != nullptr; }
  const Status& status() const { return status_; }
  bool is_ready() const { return object_ == nullptr || fray_object_is_ready(object_) != 0; }
  fray_session* session() const { return session_; }
  fray_object* object() const { return object_; }
  friend bool operator==(const AnyRef& a, const AnyRef& b) { return a.object_ == b.object_; }

  // Returns the reason why the ref stands for no object, or kOk if it stands for one.
  Status unusable() const {
    if (object_ != nullptr) return Status();
    return status_.is_ok() ? Status(Code::kInvalidArgument, "the ref is empty: it was made by default or moved from")
                           : status_;
  }

 private:
  fray_session* session_ = nullptr;
  fray_object* object_ = nullptr;
  Status status_;
};

// A ref to a value of type T.
template <typename T>
class ObjectRef : public AnyRef {
 public:
  using value_type = Kept<T>;
  using AnyRef::AnyRef;
  explicit ObjectRef(AnyRef any) : AnyRef(std::move(any)) {}

  // The same as fray::get(ref, timeout).
  Result<Kept<T>> result(Timeout timeout = kForever) const { return get(*this, timeout); }
};

template <typename T>
struct Codec<ObjectRef<T>> {
  static void write(Encoder& out, const ObjectRef<T>& ref) {
    if (ref) {
      out.ref(ref.object());
    } else {
      out.items().none();
    }
  }
  static bool read(Decoder& in, ObjectRef<T>& ref) {
    Item item = in.next();
    if (item.kind == Kind::kNone) {
      ref = ObjectRef<T>();
      return true;
    }
    if (item.kind != Kind::kRef) return in.fail("ref", item);
    fray_object* object = in.object(item);
    if (object == nullptr) return false;
    fray_object_retain(in.session(), object);
    ref = ObjectRef<T>(in.session(), object);
    return true;
  }
};

namespace detail {

template <typename T>
Result<T> decode(fray_session* session, const fray_view& view) {
  Decoder in(session, view);
  if constexpr (std::is_void_v<T>) {
    return Result<void>();
  } else {
    T value{};
    if (!in.read(value)) {
      Status status = in.status();
      return status.is_ok() ? Status(Code::kWrongType, "the value cannot be read") : status;
    }
    return value;
  }
}

inline fray_session* session_or_null(Status* status) {
  fray_session* session = fray_current_session();
  if (session == nullptr) *status = Status(Code::kUnavailable, "call fray::connect() first");
  return session;
}

}  // namespace detail

// Waits for the value and returns it. Arrays are in shared memory and are not copied.
template <typename T>
Result<Kept<T>> get(const ObjectRef<T>& ref, Timeout timeout = kForever) {
  if (Status unusable = ref.unusable(); !unusable.is_ok()) return unusable;
  fray_object* object = ref.object();
  if (int code = fray_wait(ref.session(), &object, 1, 1, timeout.count()); code != FRAY_OK) return Status::of(code);
  fray_view view;
  if (int code = fray_read(ref.session(), object, &view); code != FRAY_OK) return Status::of(code);
  return detail::decode<Kept<T>>(ref.session(), view);
}

namespace detail {

template <typename T>
std::vector<fray_object*> objects_of(std::span<const ObjectRef<T>> refs) {
  std::vector<fray_object*> objects;
  objects.reserve(refs.size());
  for (const ObjectRef<T>& ref : refs) {
    if (ref) objects.push_back(ref.object());
  }
  return objects;
}

}  // namespace detail

// Waits for all values and returns them in the order of the refs, or the first failure in that order.
template <typename T>
Result<std::vector<Kept<T>>> get(const std::vector<ObjectRef<T>>& refs, Timeout timeout = kForever) {
  std::vector<fray_object*> objects = detail::objects_of(std::span<const ObjectRef<T>>(refs));
  if (!objects.empty()) {
    fray_session* session =
        std::find_if(refs.begin(), refs.end(), [](const auto& ref) { return bool(ref); })->session();
    int code = fray_wait(session, objects.data(), objects.size(), objects.size(), timeout.count());
    if (code != FRAY_OK) return Status::of(code);
  }
  std::vector<Kept<T>> values;
  values.reserve(refs.size());
  for (const ObjectRef<T>& ref : refs) {
    Result<Kept<T>> value = get(ref);
    if (!value) return value.status();
    values.push_back(*std::move(value));
  }
  return values;
}

inline Result<void> get(const std::vector<ObjectRef<void>>& refs, Timeout timeout = kForever) {
  std::vector<fray_object*> objects = detail::objects_of(std::span<const ObjectRef<void>>(refs));
  if (!objects.empty()) {
    int code = fray_wait(refs.front().session(), objects.data(), objects.size(), objects.size(), timeout.count());
    if (code != FRAY_OK) return Status::of(code);
  }
  for (const ObjectRef<void>& ref : refs) {
    if (Result<void> done = get(ref); !done) return done;
  }
  return {};
}

// Stores a value and returns a ref to it, which tasks can take as an argument. The elements of a Room are not copied.
template <typename T>
  requires Writable<std::remove_cvref_t<T>>
ObjectRef<Kept<T>> put(const T& value) {
  Status status;
  fray_session* session = detail::session_or_null(&status);
  if (session == nullptr) return ObjectRef<Kept<T>>(status);
  Encoder out;
  out.whole(value);
  fray_value view = out.view();
  fray_object* object = nullptr;
  if (int code = fray_put(session, &view, &object); code != FRAY_OK) return ObjectRef<Kept<T>>(Status::of(code));
  return ObjectRef<Kept<T>>(session, object);
}

template <Element T>
ObjectRef<Array<T>> put(Room<T>&& room) {
  Encoder out;
  out.array_outside(detail::dtype_of<T>(), {room.shape().begin(), room.shape().end()}, std::as_bytes(room.span()));
  fray_value view = out.view();
  fray_object* object = nullptr;
  if (int code = fray_room_put(room.session(), &view, &object); code != FRAY_OK) {
    return ObjectRef<Array<T>>(Status::of(code));
  }
  return ObjectRef<Array<T>>(room.session(), object);
}

// The refs that wait() was given: those that are ready, and the others.
template <typename T>
struct Waited {
  std::vector<ObjectRef<T>> ready;
  std::vector<ObjectRef<T>> others;
};

// Waits until `count` refs are ready or the time is over. Returns the first `count` ready refs, and all other refs,
// both in the order in which they were given.
template <typename T>
Result<Waited<T>> wait(const std::vector<ObjectRef<T>>& refs, std::size_t count = 1, Timeout timeout = kForever) {
  if (count < 1 || count > refs.size()) {
    return Status(Code::kInvalidArgument, "wait: count is " + std::to_string(count) + ", it must be from 1 to the " +
                                              std::to_string(refs.size()) + " refs");
  }
  std::vector<fray_object*> objects = detail::objects_of(std::span<const ObjectRef<T>>(refs));
  const std::size_t refused = refs.size() - objects.size();  // refs without an object are ready, with a failure
  if (count > refused) {
    int code = fray_wait(fray_current_session(), objects.data(), objects.size(), count - refused, timeout.count());
    if (code != FRAY_OK && code != FRAY_TIMED_OUT) return Status::of(code);
  }
  Waited<T> split;
  for (const ObjectRef<T>& ref : refs) {
    (split.ready.size() < count && ref.is_ready() ? split.ready : split.others).push_back(ref);
  }
  return split;
}

// Cancels a task. A task that has not started will not start. A running task can ask fray::is_cancelled(); with `force`
// its worker is killed. Returns true if the task had not ended, and get() then returns kCancelled.
inline Result<bool> cancel(const AnyRef& ref, bool force = false) {
  if (!ref) return Status(Code::kInvalidArgument, "cancel: the ref is empty");
  int cancelled = 0;
  if (int code = fray_cancel(ref.session(), ref.object(), force ? 1 : 0, &cancelled); code != FRAY_OK) {
    return Status::of(code);
  }
  return cancelled != 0;
}

// Returns whether the task or call that runs in this thread was cancelled or has exceeded its timeout.
inline bool is_cancelled() { return fray_is_cancelled() != 0; }

// Refs in the order in which they become ready. A loop over them ends early when the session ends.
template <typename T>
class Completed {
 public:
  explicit Completed(std::vector<ObjectRef<T>> refs) : refs_(std::move(refs)) {
    for (const ObjectRef<T>& ref : refs_) {
      if (!ref) {
        refused_.push_back(ref);
        continue;
      }
      if (queue_ == nullptr) fray_queue_make(ref.session(), &queue_);
      fray_queue_add(queue_, ref.object());
    }
  }
  Completed(const Completed&) = delete;
  Completed& operator=(const Completed&) = delete;
  ~Completed() { fray_queue_free(queue_); }

  // Returns the next ref that is ready, or kNotFound after the last.
  Result<ObjectRef<T>> next(Timeout timeout = kForever) {
    if (!refused_.empty()) {
      ObjectRef<T> ref = std::move(refused_.front());
      refused_.pop_front();
      return ref;
    }
    if (queue_ == nullptr) return Status(Code::kNotFound, "nothing is waited for");
    fray_object* object = nullptr;
    int code = fray_queue_next(queue_, timeout.count(), &object);
    if (code != FRAY_OK) return Status::of(code);
    auto found = std::find_if(refs_.begin(), refs_.end(), [&](const auto& ref) { return ref.object() == object; });
    ObjectRef<T> ref = *found;
    std::swap(*found, refs_.back());
    refs_.pop_back();
    return ref;
  }

  class Iterator {
   public:
    using value_type = ObjectRef<T>;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Completed* owner) : owner_(owner) { ++*this; }
    const ObjectRef<T>& operator*() const { return ref_; }
    Iterator& operator++() {
      Result<ObjectRef<T>> next = owner_->next();
      more_ = next.is_ok();
      if (more_) ref_ = *std::move(next);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& iterator, std::default_sentinel_t) { return !iterator.more_; }

   private:
    Completed* owner_;
    ObjectRef<T> ref_;
    bool more_ = false;
  };
  Iterator begin() { return Iterator(this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::vector<ObjectRef<T>> refs_;
  std::deque<ObjectRef<T>> refused_;
  fray_queue* queue_ = nullptr;
};

// Returns the refs in the order in which they become ready, for a loop over them.
template <typename T>
Completed<T> as_completed(std::vector<ObjectRef<T>> refs) {
  return Completed<T>(std::move(refs));
}

}  // namespace v1
}  // namespace fray
