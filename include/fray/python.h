// Python functions and classes as tasks and actors of a C++ program.
//
//   auto sqrt = fray::python<double>("math:sqrt");
//   double three = fray::get(fray::submit(sqrt, 9.0)).value_or_throw();
//
//   auto model = fray::create_actor(fray::python_class("serving:Model"), "weights.npz").value_or_throw();
//   fray::Array<float> scores = fray::get(model.call<fray::Array<float>>("score", batch)).value_or_throw();
//
// Arguments and results are None, bool, int, float, str, bytes, list, dict with keys of these types, arrays, refs and
// handles. For a value of any other type the call fails with an error that names the type. Exceptions arrive with their
// type, text and traceback.
//
// Threading:  any thread.
// Ownership:  a function or class is a name, and can be copied.
// Failure:    kNotFound if there is no interpreter (Options::python). A module that cannot be imported fails the task.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fray/actor.h"
#include "fray/value.h"

namespace fray {
inline namespace v1 {

namespace detail {

// The type as which an argument is encoded for Python, whose functions declare no types: its own type. For a ref, that
// of its value.
template <typename A>
struct AsGiven {
  using type = std::conditional_t<std::is_convertible_v<const A&, std::string_view>, std::string_view, A>;
};
template <typename T>
struct AsGiven<ObjectRef<T>> {
  using type = fray::Kept<T>;
};
template <typename A>
using Given = typename AsGiven<A>::type;

}  // namespace detail

template <typename R>
struct PythonFunction {
  explicit PythonFunction(std::string given) : name(std::move(given)) {}
  std::string name;  // "module:function"
};

// Names a Python function, as "module:function". `R` is the type of its result.
template <typename R = Value>
PythonFunction<R> python(std::string name) {
  return PythonFunction<R>(std::move(name));
}

template <typename R, typename... A>
ObjectRef<Kept<R>> submit(const TaskOptions& options, const PythonFunction<R>& function, const A&... arguments) {
  auto send = [&](fray_session* session, const fray_value* values, std::size_t count, fray_object** out) {
    Status status;
    auto made = detail::make_function(session, FRAY_PYTHON, function.name.c_str(), &options, &status);
    if (made == nullptr) return fray_refuse(static_cast<int>(status.code()), status.message().c_str());
    return fray_submit(session, made.get(), values, count, out);
  };
  return detail::send_call<R, detail::Given<A>...>(send, arguments...);
}

template <typename R, typename... A>
ObjectRef<Kept<R>> submit(const PythonFunction<R>& function, const A&... arguments) {
  return submit(TaskOptions(), function, arguments...);
}

struct PythonClass {
  explicit PythonClass(std::string given) : name(std::move(given)) {}
  std::string name;  // "module:Class"
};
// Names a Python class, as "module:Class".
inline PythonClass python_class(std::string name) { return PythonClass(std::move(name)); }

// A handle of an actor of a Python class. Methods are called by their name.
class PythonActor : public AnyActor {
 public:
  PythonActor() = default;
  explicit PythonActor(AnyActor any) : AnyActor(std::move(any)) {}

  template <typename R = Value, typename... A>
  ObjectRef<Kept<R>> call(const std::string& method, const A&... arguments) const {
    return send<R, detail::Given<A>...>(method.c_str(), arguments...);
  }
};

template <typename... A>
Result<PythonActor> create_actor(const ActorOptions& options, const PythonClass& type, const A&... arguments) {
  Result<AnyActor> made = detail::create_with(FRAY_PYTHON, type.name.c_str(), options,
                                              detail::Parameters<detail::Given<A>...>(), arguments...);
  if (!made) return made.status();
  return PythonActor(*std::move(made));
}

template <typename... A>
Result<PythonActor> create_actor(const PythonClass& type, const A&... arguments) {
  return create_actor(ActorOptions(), type, arguments...);
}

inline Result<PythonActor> find_python_actor(const std::string& name, const std::string& name_space = {}) {
  Result<AnyActor> found = detail::find(name, name_space);
  if (!found) return found.status();
  return PythonActor(*std::move(found));
}

}  // namespace v1
}  // namespace fray
