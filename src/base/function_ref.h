// FunctionRef: a callable passed down a call, by reference: two words, no allocation.
//
// Threading:  as the callable.
// Ownership:  none; the callable must outlive the call it is passed to. Never store one.
// Failure:    none.
#pragma once

#include <type_traits>
#include <utility>

#include "base/thread_annotations.h"

namespace fray {

template <typename Signature>
class FunctionRef;

template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
 public:
  template <typename Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>)
  FunctionRef(Callable&& callable)  // NOLINT: implicit by design
      : object_(const_cast<void*>(static_cast<const void*>(&callable))),
        call_([](void* object, Args... args) FRAY_UNCHECKED_LOCKING -> R {  // its caller knows what it needs
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace fray
