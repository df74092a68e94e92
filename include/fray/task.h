// Tasks: functions that run in workers. FRAY_TASK registers a function by its name, and submit() runs it.
//
//   int add(int a, int b) { return a + b; }
//   FRAY_TASK(add);                                     // at namespace scope, in the code that workers run
//
//   fray::ObjectRef<int> sum = fray::submit(add, 1, 2);
// fray::ObjectRef<int> more = fray::submit(add, sum, 3);                       // the task waits for sum; submit() does
// not
//   fray::ObjectRef<int> other = fray::submit({.num_cpus = 2, .timeout = 5s}, add, 1, 2);
//   auto [quotient, rest] = fray::submit_tuple(divide, 7, 2);                    // a ref for each part of a tuple
//
// A function may take and return every type that has a codec (fray/codec.h). It may also take spans and string_views,
// and return a Result<T>. An exception fails the task, with the name of its type and its what().
//
// Threading:  any thread. The function runs in another process, which runs one task at a time.
// Ownership:  arguments are copied, or are in shared memory.
// Failure:    when a task cannot be submitted, submit() returns a ref that carries the reason, and get() returns it.
#pragma once

#include <cxxabi.h>
#include <fray.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "fray/ref.h"

namespace fray {
inline namespace v1 {

struct TaskOptions {
  // The name of the task in logs, status and errors; empty for the name of the function.
  std::string label{};
  double num_cpus = 1;
  std::map<std::string, double> resources{};
  // Attempts after the first for a task whose worker died; -1 for no limit.
  int max_retries = 3;
  // The time that one attempt may take; 0 for no limit.
  Timeout timeout{0};
  // Whether an attempt whose function throws is repeated as well, within max_retries. For C++ functions only.
  bool retry_exceptions = false;
  // Environment variables of the workers, in addition to those of this process. They take precedence over those.
  std::map<std::string, std::string> environment{};
  // From -1000 to 1000. Among tasks that wait, those of higher priority are placed first.
  int priority = 0;
};

namespace detail {

// The type of the variable into which an argument for a parameter of type P is read.
template <typename P>
using Stored = fray::Kept<P>;

template <typename T>
inline constexpr bool is_ref = false;
template <typename T>
inline constexpr bool is_ref<ObjectRef<T>> = true;

template <typename P>
concept Parameter = Readable<Stored<P>> && std::is_convertible_v<Stored<P>&, P> &&
                    !(std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>);
template <typename T>
inline constexpr bool is_result = false;
template <typename T>
inline constexpr bool is_result<Result<T>> = true;

// For a function that returns a Result<T>, the T must be writable, which is its Kept<>.
template <typename R>
concept Returned = std::is_void_v<fray::Kept<R>> || Writable<std::remove_cvref_t<R>> ||
                   (is_result<std::remove_cvref_t<R>> && Writable<fray::Kept<R>>);

inline std::string readable_name(const char* mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : mangled;
  std::free(text);
  return name;
}

inline void fail_call(fray_call* call, const Status& status) {
  fray_call_fail(call, status.type_name().empty() ? "fray::Error" : status.type_name().c_str(),
                 status.message().c_str());
}

// Runs `body`; an exception fails the call.
template <typename Body>
void guarded(fray_call* call, Body&& body) {
  try {
    body();
  } catch (const std::exception& error) {
    fray_call_fail(call, readable_name(typeid(error).name()).c_str(), error.what());
  } catch (abi::__forced_unwind&) {
    throw;  // pthread_cancel() or pthread_exit() ends this thread
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    fray_call_fail(call, type != nullptr ? readable_name(type->name()).c_str() : "unknown", "it is no std::exception");
  }
}

// Reads one argument. Returns false, and fails the call, when the argument has another type.
template <typename T>
bool read_argument(fray_call* call, std::size_t index, T& value) {
  fray_view view;
  if (fray_call_argument(call, index, &view) != FRAY_OK) {
    fail_call(call, Status::last());
    return false;
  }
  Decoder in(fray_current_session(), view);
  if (in.read(value)) return true;
  std::string text = "argument " + std::to_string(index) + ": " + in.status().message();
  fray_call_fail(call, "fray::Error", text.c_str());
  return false;
}

template <typename T>
void give_one(fray_call* call, const T& value) {
  Encoder out;
  out.whole(value);
  fray_value view = out.view();
  if (fray_call_return(call, &view) != FRAY_OK) fail_call(call, Status::last());
}

template <typename T>
concept TupleLike = requires { std::tuple_size<T>::value; };

// Returns each part of a tuple as a value of its own, for a caller that wants several values.
template <typename T>
void give_parts(fray_call* call, const T& value) {
  const std::size_t wanted = fray_call_returns(call);
  if constexpr (TupleLike<T>) {
    if (wanted == std::tuple_size_v<T>) {
      std::apply([&](const auto&... each) { (give_one(call, each), ...); }, value);
      return;
    }
  }
  std::string text = "the task is to give " + std::to_string(wanted) + " values, but its function returns " +
                     readable_name(typeid(T).name());
  fray_call_fail(call, "fray::Error", text.c_str());
}

template <typename T>
void give_back(fray_call* call, const T& value) {
  if constexpr (is_result<T>) {
    if (!value) {
      fail_call(call, value.status());
    } else if constexpr (!std::is_same_v<T, Result<void>>) {
      give_back(call, *value);
    }
  } else if (fray_call_returns(call) > 1) {
    give_parts(call, value);
  } else {
    give_one(call, value);
  }
}

template <typename... P>
bool read_arguments(fray_call* call, std::tuple<Stored<P>...>& values) {
  if (fray_call_count(call) != sizeof...(P)) {
    std::string text = "it takes " + std::to_string(sizeof...(P)) + " arguments, but " +
                       std::to_string(fray_call_count(call)) + " were given";
    fray_call_fail(call, "fray::Error", text.c_str());
    return false;
  }
  std::size_t index = 0;
  return std::apply([&](auto&... each) { return (read_argument(call, index++, each) && ...); }, values);
}

// Reads the arguments, calls the function, and returns its result to the caller of the task.
template <typename R, typename... P, typename Function>
void answer(fray_call* call, Function&& function) {
  guarded(call, [&] {
    std::tuple<Stored<P>...> values;
    if (!read_arguments<P...>(call, values)) return;
    auto run = [&](auto&... each) -> R { return function(static_cast<P>(std::move(each))...); };
    if constexpr (std::is_void_v<R>) {
      std::apply(run, values);
    } else {
      give_back(call, std::apply(run, values));
    }
  });
}

template <typename R, typename... P>
void run_task(fray_call* call, void* context) {
  answer<R, P...>(call, reinterpret_cast<R (*)(P...)>(context));
}

class TaskRegistrar {
 public:
  template <typename R, typename... P>
  TaskRegistrar(R (*function)(P...), const char* text, const char* name = nullptr) {
    static_assert(
        (Parameter<P> && ...),
        "a parameter's type cannot travel: see fray/codec.h for those that can, and FRAY_STRUCT for your own; "
        "parameters are values, const references, spans or string_views");
    static_assert(Returned<R>, "the result's type cannot travel: see fray/codec.h, and FRAY_STRUCT for your own");
    fray_require_abi(FRAY_ABI_VERSION, text);
    fray_register_task(name != nullptr ? name : text, run_task<R, P...>, reinterpret_cast<void*>(function));
  }
};

// ---- The caller's side ----

// Encodes an argument for a parameter of type P.
template <typename P, typename A>
void encode_argument(Encoder& out, const A& argument) {
  using Given = std::remove_cvref_t<A>;
  using Wanted = std::remove_cvref_t<P>;
  if constexpr (is_ref<Given> && !is_ref<Wanted>) {
    static_assert(std::is_same_v<typename Given::value_type, Stored<P>>,
                  "the ref stands for a value of another type than the parameter");
    out.value_of(argument.object());
  } else {
    static_assert(std::is_convertible_v<const A&, Wanted>, "an argument has another type than the parameter");
    if constexpr (std::is_same_v<Given, Wanted>) {
      out.whole(argument);
    } else {
      out.whole(static_cast<const Wanted&>(Wanted(argument)));
    }
  }
}

// An encoded argument, together with the converted value that the encoder borrows.
template <typename P, typename A>
class Outgoing {
 public:
  explicit Outgoing(const A& argument) : converted_(convert(argument)) { encode_argument<P>(out_, converted_); }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  const Encoder& encoder() const { return out_; }

 private:
  using Wanted = std::remove_cvref_t<P>;
  static constexpr bool kAsItIs = std::is_same_v<std::remove_cvref_t<A>, Wanted> || is_ref<std::remove_cvref_t<A>>;
  using Held = std::conditional_t<kAsItIs, const A&, Wanted>;
  static Held convert(const A& argument) {
    if constexpr (kAsItIs) {
      return argument;
    } else {
      static_assert(std::is_convertible_v<const A&, Wanted>, "an argument has another type than the parameter");
      return static_cast<Wanted>(argument);
    }
  }

  Held converted_;
  Encoder out_;
};

// Returns the reason why the first ref without an object among the arguments has none, or kOk if each ref has one.
template <typename... A>
Status refused_among(const A&... arguments) {
  Status status;
  [[maybe_unused]] auto look = [&](const auto& argument) {
    if constexpr (is_ref<std::remove_cvref_t<decltype(argument)>>) {
      if (!argument && status.is_ok()) {
        status = argument.status().is_ok() ? Status(Code::kInvalidArgument, "an argument is an empty ref")
                                           : argument.status();
      }
    }
  };
  (look(arguments), ...);
  return status;
}

// Encodes the arguments and sends them. Returns make(session, objects), or refuse(status) after a failure.
template <typename... P, typename Send, typename Make, typename Refuse, typename... A>
auto send_arguments(Send&& send, Make&& make, Refuse&& refuse, const A&... arguments) {
  Status status = refused_among(arguments...);
  fray_session* session = status.is_ok() ? session_or_null(&status) : nullptr;
  if (session == nullptr) return refuse(std::move(status));
  std::tuple<Outgoing<P, A>...> outgoing(arguments...);
  return std::apply(
      [&](const auto&... each) {
        std::array<fray_value, sizeof...(A)> values{each.encoder().view()...};
        std::array<fray_object*, std::remove_cvref_t<Make>::kCount> objects{};
        const int code = send(session, values.data(), values.size(), objects.data());
        return code == FRAY_OK ? make(session, objects) : refuse(Status::of(code));
      },
      outgoing);
}

template <typename R>
struct MakeRef {
  static constexpr std::size_t kCount = 1;
  using Ref = ObjectRef<Kept<R>>;
  Ref operator()(fray_session* session, const std::array<fray_object*, 1>& objects) const {
    return Ref(session, objects[0]);
  }
  Ref operator()(Status status) const { return Ref(std::move(status)); }
};

// Makes a ref for each part of a tuple.
template <typename R, typename Places = std::make_index_sequence<std::tuple_size_v<R>>>
struct MakeRefs;
template <typename R, std::size_t... Place>
struct MakeRefs<R, std::index_sequence<Place...>> {
  static constexpr std::size_t kCount = sizeof...(Place);
  using Refs = std::tuple<ObjectRef<Kept<std::tuple_element_t<Place, R>>>...>;
  Refs operator()(fray_session* session, const std::array<fray_object*, kCount>& objects) const {
    return Refs(ObjectRef<Kept<std::tuple_element_t<Place, R>>>(session, objects[Place])...);
  }
  Refs operator()(const Status& status) const {
    return Refs(ObjectRef<Kept<std::tuple_element_t<Place, R>>>(status)...);
  }
};

template <typename R, typename... P, typename Send, typename... A>
ObjectRef<Kept<R>> send_call(Send&& send, const A&... arguments) {
  return send_arguments<P...>(send, MakeRef<R>(), MakeRef<R>(), arguments...);
}

struct FreeFunction {
  void operator()(fray_function* function) const { fray_function_release(function); }
};
using FunctionHandle = std::unique_ptr<fray_function, FreeFunction>;

inline FunctionHandle make_function(fray_session* session, std::int32_t language, const char* name,
                                    const TaskOptions* given, Status* status) {
  std::vector<fray_resource> resources;
  std::vector<fray_variable> environment;
  fray_task_options options{};
  if (given != nullptr) {
    for (const auto& [resource, amount] : given->resources) resources.push_back({resource.c_str(), amount});
    for (const auto& [variable, value] : given->environment) environment.push_back({variable.c_str(), value.c_str()});
    options = {sizeof(options),        given->label.empty() ? nullptr : given->label.c_str(),
               given->num_cpus,        resources.data(),
               resources.size(),       given->max_retries,
               given->timeout.count(), given->retry_exceptions ? 1 : 0,
               environment.data(),     environment.size(),
               given->priority};
  }
  fray_function* made = nullptr;
  int code = fray_function_make(session, language, name, given != nullptr ? &options : nullptr, &made);
  if (code != FRAY_OK) *status = Status::of(code);
  return FunctionHandle(made);
}

inline FunctionHandle make_registered(fray_session* session, void* key, const TaskOptions* options, Status* status) {
  if (const char* name = fray_task_name(key)) return make_function(session, FRAY_CPP, name, options, status);
  *status = Status(Code::kNotFound, "the function is not registered: write FRAY_TASK(function); beside it");
  return nullptr;
}

// A slot of a cache, which holds the functions that this thread has submitted last without options.
struct KnownFunction {
  fray_session* session = nullptr;
  void* key = nullptr;
  FunctionHandle handle;
};
inline fray_function* known_function(fray_session* session, void* key, Status* status) {
  constexpr std::size_t kSlots = 64;
  thread_local std::array<KnownFunction, kSlots> known;
  KnownFunction& slot = known[(reinterpret_cast<std::uintptr_t>(key) >> 4) % kSlots];
  if (slot.key == key && slot.session == session) return slot.handle.get();
  FunctionHandle made = make_registered(session, key, nullptr, status);
  if (made == nullptr) return nullptr;
  slot = {session, key, std::move(made)};
  return slot.handle.get();
}

}  // namespace detail

// Submits a task that calls the function with these arguments, and returns a ref to its result. An argument may be a
// ref to a value of the parameter's type: the task then starts when that value is there.
template <typename R, typename... P, typename... A>
ObjectRef<Kept<R>> submit(R (*function)(P...), const A&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "the function takes another number of arguments");
  auto send = [&](fray_session* session, const fray_value* values, std::size_t count, fray_object** out) {
    Status status;
    fray_function* known = detail::known_function(session, reinterpret_cast<void*>(function), &status);
    if (known == nullptr) return fray_refuse(static_cast<int>(status.code()), status.message().c_str());
    return fray_submit(session, known, values, count, out);
  };
  return detail::send_call<R, P...>(send, arguments...);
}

template <typename R, typename... P, typename... A>
ObjectRef<Kept<R>> submit(const TaskOptions& options, R (*function)(P...), const A&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "the function takes another number of arguments");
  auto send = [&](fray_session* session, const fray_value* values, std::size_t count, fray_object** out) {
    Status status;
    auto made = detail::make_registered(session, reinterpret_cast<void*>(function), &options, &status);
    if (made == nullptr) return fray_refuse(static_cast<int>(status.code()), status.message().c_str());
    return fray_submit(session, made.get(), values, count, out);
  };
  return detail::send_call<R, P...>(send, arguments...);
}

// Submits a task whose function returns a tuple, pair or array, and returns a tuple with a ref for each part. Code that
// needs only one part then waits for that part alone, and reads no other.
template <typename R, typename... P, typename... A>
  requires detail::TupleLike<R>
auto submit_tuple(const TaskOptions& options, R (*function)(P...), const A&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "the function takes another number of arguments");
  using Make = detail::MakeRefs<R>;
  auto send = [&](fray_session* session, const fray_value* values, std::size_t count, fray_object** out) {
    Status status;
    auto made = detail::make_registered(session, reinterpret_cast<void*>(function), &options, &status);
    if (made == nullptr) return fray_refuse(static_cast<int>(status.code()), status.message().c_str());
    return fray_submit_several(session, made.get(), values, count, out, Make::kCount);
  };
  return detail::send_arguments<P...>(send, Make(), Make(), arguments...);
}

template <typename R, typename... P, typename... A>
  requires detail::TupleLike<R>
auto submit_tuple(R (*function)(P...), const A&... arguments) {
  return submit_tuple(TaskOptions(), function, arguments...);
}

}  // namespace v1
}  // namespace fray

#define FRAY_JOIN_INNER(a, b) a##b
#define FRAY_JOIN(a, b) FRAY_JOIN_INNER(a, b)

// FRAY_TASK(function) or FRAY_TASK(function, "name") registers a function. It needs a name if another function has the
// same one, and for overloads: FRAY_TASK(static_cast<int (*)(int)>(twice), "twice_int").
#define FRAY_TASK(function, ...)                                                                  \
  [[maybe_unused]] static const ::fray::detail::TaskRegistrar FRAY_JOIN(fray_task_, __COUNTER__)( \
      function, #function __VA_OPT__(, ) __VA_ARGS__)
