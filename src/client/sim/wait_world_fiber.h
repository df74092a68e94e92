// Fiber: a function that runs on a stack of its own, and that is suspended and resumed explicitly. A switch between
// fibers does not involve the scheduler of the system, so a simulation takes as long on a busy machine as on an idle
// one.
//
//   Fiber home;                              // the fiber that runs now
//   Fiber other([&] { ... home.enter(other); });
//   other.enter(home);                       // returns when another fiber enters `home`
//
// Threading:  all fibers of a thread stay on it.
// Ownership:  owns its stack. A fiber may be destroyed once it is never entered again.
// Failure:    the function must not return: it ends by entering another fiber.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include <sanitizer/common_interface_defs.h>
#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

#include "base/sanitized.h"

namespace fray::client {

class Fiber {
 public:
  Fiber() {
    if constexpr (kUnderThreadSanitizer) thread_sanitizer_ = __tsan_get_current_fiber();
  }
  explicit Fiber(std::function<void()> body)
      : body_(std::move(body)), stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {
    ::getcontext(&context_);
    bottom_ = context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = size_ = kStackBytes;
    context_.uc_link = nullptr;
    ::makecontext(&context_, begin, 0);
    if constexpr (kUnderThreadSanitizer) thread_sanitizer_ = __tsan_create_fiber(0);
  }
  ~Fiber() {
    if constexpr (kUnderThreadSanitizer) {
      if (stack_) __tsan_destroy_fiber(thread_sanitizer_);
    }
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Suspends `from`, which is the caller, and resumes this fiber. Returns when `from` is entered again.
  void enter(Fiber& from) {
    entered_ = this;
    left_ = &from;
    if constexpr (kUnderAddressSanitizer) __sanitizer_start_switch_fiber(&from.fake_stack_, bottom_, size_);
    if constexpr (kUnderThreadSanitizer) __tsan_switch_to_fiber(thread_sanitizer_, 0);
    ::swapcontext(&from.context_, &context_);
    from.arrived();
  }

 private:
  static constexpr std::size_t kStackBytes = 256u << 10;

  // The sanitizer tells the bounds of the stack that was left. Those of the thread's first stack are known from no
  // other source.
  void arrived() {
    if constexpr (kUnderAddressSanitizer) __sanitizer_finish_switch_fiber(fake_stack_, &left_->bottom_, &left_->size_);
  }
  static void begin() {
    Fiber* self = entered_;
    self->arrived();
    self->body_();
  }

  static inline Fiber* entered_ = nullptr;
  static inline Fiber* left_ = nullptr;

  std::function<void()> body_;
  std::unique_ptr<std::byte[]> stack_;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
  void* fake_stack_ = nullptr;
  void* thread_sanitizer_ = nullptr;
  ucontext_t context_{};
};

}  // namespace fray::client
