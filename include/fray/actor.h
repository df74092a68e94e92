// Actors: objects that live in processes of their own. FRAY_ACTOR registers a class, create_actor() starts an actor of
// it, and the calls of its methods run one after the other, in the order in which they were made.
//
//   struct Counter {
//     explicit Counter(int start) : count(start) {}
//     int add(int n) { return count += n; }
//     int count;
//   };
//   FRAY_ACTOR(Counter, (int), add);              // at namespace scope: constructor's parameters, then methods
//
//   auto counter = fray::create_actor<Counter>(10).value_or_throw();
//   fray::ObjectRef<int> eleven = counter.call(&Counter::add, 1);
//   auto named = fray::create_actor<Counter>({.name = "c", .get_if_exists = true}, 0);
//   auto found = fray::find_actor<Counter>("c");
//
// Threading:  any thread. With max_concurrency above 1 methods run at the same time, and the class needs locks of its
// own. Ownership:  handles are counted in all processes. An actor without a name ends with its last handle, and a
// detached
//             actor with the node.
// Failure:    an exception of a method fails its call. Calls of an actor that has ended fail with kActorDied, which
// says
//             why it ended.
#pragma once

#include <fray.h>

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "fray/task.h"

namespace fray {
inline namespace v1 {

struct ActorOptions {
  // The name by which find_actor() finds the actor; empty for an actor without a name.
  std::string name{};
  // The namespace of the name; empty for that of the session.
  std::string name_space{};
  // Whether create_actor() returns the living actor of that name, if there is one.
  bool get_if_exists = false;
  // Whether the actor lives until it is killed or the node ends, even without handles.
  bool detached = false;
  double num_cpus = 0;
  std::map<std::string, double> resources{};
  // How often the actor is restarted, with a new object, after its process died; -1 for no limit.
  int max_restarts = 0;
  // Attempts after the first for a call that ran when the process died; -1 for no limit.
  int max_task_retries = 0;
  // Calls that run at the same time. By default 1; more for a Python class with async methods.
  int max_concurrency = 0;
  // Calls of one process that have not ended, before the next call is refused; -1 for no limit.
  std::int64_t max_pending_calls = -1;
  // From -1000 to 1000. Among actors that wait for a worker, those of higher priority get one first.
  int priority = 0;
};

// A handle of an actor whose class the type does not name.
class AnyActor {
 public:
  AnyActor() = default;
  explicit AnyActor(fray_actor* actor) : actor_(actor) {}  // takes over one count of the actor
  AnyActor(const AnyActor& other) : actor_(other.actor_) {
    if (actor_ != nullptr) fray_actor_retain(actor_);
  }
  AnyActor(AnyActor&& other) noexcept : actor_(std::exchange(other.actor_, nullptr)) {}
  AnyActor& operator=(AnyActor other) noexcept {
    std::swap(actor_, other.actor_);
    return *this;
  }
  ~AnyActor() { fray_actor_release(actor_); }

  explicit operator bool() const { return actor_ != nullptr; }
  fray_actor* get() const { return actor_; }

  // Kills the actor's process. With `no_restart` the actor is not restarted, even where max_restarts permits it.
  Status kill(bool no_restart = true) const {
    if (actor_ == nullptr) return Status(Code::kInvalidArgument, "the handle is empty");
    return Status::of(fray_actor_kill(actor_, no_restart ? 1 : 0));
  }

 protected:
  template <typename R, typename... P, typename... A>
  ObjectRef<Kept<R>> send(const char* method, const A&... arguments) const {
    auto send = [&](fray_session*, const fray_value* values, std::size_t count, fray_object** out) {
      if (actor_ == nullptr) return fray_refuse(FRAY_INVALID_ARGUMENT, "the handle is empty");
      return fray_actor_call(actor_, method, values, count, out);
    };
    return detail::send_call<R, P...>(send, arguments...);
  }

 private:
  fray_actor* actor_ = nullptr;
};

template <typename T>
class ActorHandle;

namespace detail {

// The name and the methods with which FRAY_ACTOR has registered a class, in this program or library.
template <typename T>
struct ActorClass {
  struct Method {
    const char* name;
    std::array<char, 2 * sizeof(void*)> pointer;  // the bytes of the pointer to the member function
    fray_method_body body;
    std::size_t type;
  };
  static inline const char* name = nullptr;
  static std::vector<Method>& methods() {
    static std::vector<Method> known;
    return known;
  }
};

template <typename M>
std::array<char, 2 * sizeof(void*)> bytes_of(M pointer) {
  static_assert(sizeof(M) <= 2 * sizeof(void*));
  std::array<char, 2 * sizeof(void*)> bytes{};
  std::memcpy(bytes.data(), &pointer, sizeof(M));
  return bytes;
}

// Returns the name of a method, or null if FRAY_ACTOR does not list it.
template <typename T, typename M>
const char* method_name(M pointer) {
  const auto bytes = bytes_of(pointer);
  for (const auto& method : ActorClass<T>::methods()) {
    if (method.pointer == bytes && method.type == typeid(M).hash_code()) return method.name;
  }
  return nullptr;
}

template <auto method>
struct MethodBody;
template <typename C, typename R, typename... P, R (C::*method)(P...)>
struct MethodBody<method> {
  static_assert((Parameter<P> && ...), "a parameter of the method cannot travel: see fray/codec.h, and FRAY_STRUCT");
  static_assert(Returned<R>, "the result of the method cannot travel: see fray/codec.h, and FRAY_STRUCT");
  static void run(fray_call* call, void* self, void*) {
    answer<R, P...>(call, [self](auto&&... each) -> R {
      return (static_cast<C*>(self)->*method)(std::forward<decltype(each)>(each)...);
    });
  }
};
template <typename C, typename R, typename... P, R (C::*method)(P...) const>
struct MethodBody<method> {
  static_assert((Parameter<P> && ...), "a parameter of the method cannot travel: see fray/codec.h, and FRAY_STRUCT");
  static_assert(Returned<R>, "the result of the method cannot travel: see fray/codec.h, and FRAY_STRUCT");
  static void run(fray_call* call, void* self, void*) {
    answer<R, P...>(call, [self](auto&&... each) -> R {
      return (static_cast<const C*>(self)->*method)(std::forward<decltype(each)>(each)...);
    });
  }
};

template <typename T, auto method>
typename ActorClass<T>::Method describe_method(const char* name) {
  return {name, bytes_of(method), MethodBody<method>::run, typeid(method).hash_code()};
}

template <typename... P>
struct Parameters {};
template <typename Signature>
struct ParametersOf;
template <typename... P>
struct ParametersOf<void(P...)> {
  using type = Parameters<P...>;
};

// The parameters of the class's constructor, as FRAY_ACTOR gives them.
template <typename T>
struct ConstructorOf;

template <typename T, typename... P>
void* construct(fray_call* call, void*) {
  void* made = nullptr;
  guarded(call, [&] {
    std::tuple<Stored<P>...> values;
    if (!read_arguments<P...>(call, values)) return;
    made = std::apply([](auto&... each) { return new T(static_cast<P>(std::move(each))...); }, values);
  });
  return made;
}

template <typename T>
class ActorRegistrar {
 public:
  template <typename... P>
  ActorRegistrar(const char* name, Parameters<P...>, std::vector<typename ActorClass<T>::Method> methods) {
    static_assert((Parameter<P> && ...), "a parameter of the constructor cannot travel: see fray/codec.h");
    static_assert(std::is_constructible_v<T, P...>, "the class has no constructor with these parameters");
    ActorClass<T>::name = name;
    ActorClass<T>::methods() = std::move(methods);
    std::vector<fray_method> table;
    for (const auto& method : ActorClass<T>::methods()) table.push_back({method.name, method.body, nullptr});
    fray_require_abi(FRAY_ABI_VERSION, name);
    fray_register_actor(
        name, construct<T, P...>, [](void* self) { delete static_cast<T*>(self); }, nullptr, table.data(),
        table.size());
  }
};

inline Result<AnyActor> create(std::int32_t language, const char* name, const ActorOptions& options,
                               const fray_value* values, std::size_t count) {
  Status status;
  fray_session* session = session_or_null(&status);
  if (session == nullptr) return status;
  if (name == nullptr) {
    return Status(Code::kNotFound, "the class is not registered: write FRAY_ACTOR(Class, (parameters), methods...);");
  }
  std::vector<fray_resource> resources;
  for (const auto& [resource, amount] : options.resources) resources.push_back({resource.c_str(), amount});
  fray_actor_options given{};
  given.size = sizeof(given);
  given.name = options.name.empty() ? nullptr : options.name.c_str();
  given.name_space = options.name_space.empty() ? nullptr : options.name_space.c_str();
  given.get_if_exists = options.get_if_exists ? 1 : 0;
  given.detached = options.detached ? 1 : 0;
  given.num_cpus = options.num_cpus;
  given.resources = resources.data();
  given.resource_count = resources.size();
  given.max_restarts = options.max_restarts;
  given.max_task_retries = options.max_task_retries;
  given.max_concurrency = options.max_concurrency;
  given.max_pending_calls = options.max_pending_calls;
  given.priority = options.priority;
  fray_actor* made = nullptr;
  if (int code = fray_actor_create(session, language, name, &given, values, count, &made); code != FRAY_OK) {
    return Status::of(code);
  }
  return AnyActor(made);
}

template <typename... P, typename... A>
Result<AnyActor> create_with(std::int32_t language, const char* name, const ActorOptions& options, Parameters<P...>,
                             const A&... arguments) {
  if (Status status = refused_among(arguments...); !status.is_ok()) return status;
  std::tuple<Outgoing<P, A>...> outgoing(arguments...);
  return std::apply(
      [&](const auto&... each) {
        std::array<fray_value, sizeof...(A)> values{each.encoder().view()...};
        return create(language, name, options, values.data(), values.size());
      },
      outgoing);
}

inline Result<AnyActor> find(const std::string& name, const std::string& name_space) {
  Status status;
  fray_session* session = session_or_null(&status);
  if (session == nullptr) return status;
  fray_actor* found = nullptr;
  int code = fray_actor_find(session, name_space.empty() ? nullptr : name_space.c_str(), name.c_str(), &found);
  if (code != FRAY_OK) return Status::of(code);
  return AnyActor(found);
}

}  // namespace detail

// A handle of an actor of class T.
template <typename T>
class ActorHandle : public AnyActor {
 public:
  ActorHandle() = default;
  explicit ActorHandle(AnyActor any) : AnyActor(std::move(any)) {}

  // Calls a method, and returns a ref to its result without waiting for it.
  template <typename C, typename R, typename... P, typename... A>
  ObjectRef<Kept<R>> call(R (C::*method)(P...), const A&... arguments) const {
    return call_named<R, P...>(detail::method_name<T>(method), arguments...);
  }
  template <typename C, typename R, typename... P, typename... A>
  ObjectRef<Kept<R>> call(R (C::*method)(P...) const, const A&... arguments) const {
    return call_named<R, P...>(detail::method_name<T>(method), arguments...);
  }

 private:
  template <typename R, typename... P, typename... A>
  ObjectRef<Kept<R>> call_named(const char* name, const A&... arguments) const {
    static_assert(sizeof...(P) == sizeof...(A), "the method takes another number of arguments");
    if (name == nullptr) {
      return ObjectRef<Kept<R>>(Status(Code::kNotFound, "the method is not registered: name it in FRAY_ACTOR"));
    }
    return send<R, P...>(name, arguments...);
  }
};

template <typename T>
struct Codec<ActorHandle<T>> {
  static void write(Encoder& out, const ActorHandle<T>& handle) {
    if (handle) {
      out.actor(fray_actor_object(handle.get()), fray_actor_description(handle.get()));
    } else {
      out.items().none();
    }
  }
  static bool read(Decoder& in, ActorHandle<T>& handle) {
    Item item = in.next();
    if (item.kind == Kind::kNone) {
      handle = ActorHandle<T>();
      return true;
    }
    if (item.kind != Kind::kActor) return in.fail("actor handle", item);
    fray_object* object = in.object(item);
    if (object == nullptr) return false;
    fray_actor* adopted = nullptr;
    fray_actor_adopt(in.session(), object, item.bytes.data(), item.bytes.size(), &adopted);
    handle = ActorHandle<T>(AnyActor(adopted));
    return true;
  }
};

// Creates an actor of class T with these arguments of its constructor. Returns before the constructor has run; if the
// constructor fails, so do the calls.
template <typename T, typename... A>
Result<ActorHandle<T>> create_actor(const ActorOptions& options, const A&... arguments) {
  Result<AnyActor> made = detail::create_with(FRAY_CPP, detail::ActorClass<T>::name, options,
                                              typename detail::ConstructorOf<T>::type(), arguments...);
  if (!made) return made.status();
  return ActorHandle<T>(*std::move(made));
}

template <typename T, typename... A>
  requires(!std::is_same_v<std::tuple_element_t<0, std::tuple<A..., int>>, ActorOptions>)
Result<ActorHandle<T>> create_actor(const A&... arguments) {
  return create_actor<T>(ActorOptions(), arguments...);
}

// Returns the living actor of that name, or kNotFound if there is none.
template <typename T>
Result<ActorHandle<T>> find_actor(const std::string& name, const std::string& name_space = {}) {
  Result<AnyActor> found = detail::find(name, name_space);
  if (!found) return found.status();
  return ActorHandle<T>(*std::move(found));
}

}  // namespace v1
}  // namespace fray

#define FRAY_DESCRIBE_METHOD(owner, method) ::fray::detail::describe_method<owner, &owner::method>(#method),

// FRAY_ACTOR(Class, (int, const std::string&), method, other) registers a class with the parameters of its constructor
// and with its methods. It stands at global scope, where all code that creates such actors sees it.
#define FRAY_ACTOR(owner, parameters, ...)                                                                 \
  template <>                                                                                              \
  struct fray::v1::detail::ConstructorOf<owner> : ::fray::detail::ParametersOf<void parameters> {};        \
  [[maybe_unused]] static const ::fray::detail::ActorRegistrar<owner> FRAY_JOIN(fray_actor_, __COUNTER__)( \
      #owner, ::fray::detail::ConstructorOf<owner>::type(), {FRAY_FOR_EACH(FRAY_DESCRIBE_METHOD, owner, __VA_ARGS__)})
