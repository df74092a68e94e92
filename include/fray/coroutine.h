// Coroutine<T>: a coroutine that waits for refs with co_await. One thread runs many of them. run() runs one to its end.
//
//   fray::Coroutine<int> both() {
//     fray::ObjectRef<int> one = fray::submit(add, 1, 2), other = fray::submit(add, 3, 4);
//     co_return (co_await one).value_or_throw() + (co_await other).value_or_throw();
//   }
//   int ten = fray::run(both());
//   std::vector<int> many = fray::run(fray::all(std::move(coroutines)));
//
// Threading:  a coroutine runs on the thread that calls run(), during that call. Outside of run(), co_await of a ref
// blocks
//             the thread, as get() does.
// Ownership:  a Coroutine owns its frame; co_await and run() take it over. It starts when it is awaited. Failure:
// co_await of a ref returns a Result. An exception of a coroutine goes to the coroutine that awaits it, or out
//             of run().
#pragma once

#include <fray.h>

#include <coroutine>
#include <deque>
#include <exception>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fray/ref.h"

namespace fray {
inline namespace v1 {

namespace detail {

// Resumes the coroutines of this thread when the refs are ready for which they wait.
class CoroutineLoop {
 public:
  CoroutineLoop() : outer_(std::exchange(current(), this)) {}
  CoroutineLoop(const CoroutineLoop&) = delete;
  CoroutineLoop& operator=(const CoroutineLoop&) = delete;
  ~CoroutineLoop() {
    current() = outer_;
    fray_queue_free(queue_);
  }

  static CoroutineLoop*& current() {
    thread_local CoroutineLoop* loop = nullptr;
    return loop;
  }
  void wait_for(const AnyRef& ref, std::coroutine_handle<> waiter) {
    if (queue_ == nullptr) fray_queue_make(ref.session(), &queue_);
    fray_queue_add(queue_, ref.object());
    waiting_.emplace(ref.object(), waiter);
  }
  void resume_later(std::coroutine_handle<> handle) { runnable_.push_back(handle); }
  void run_until(std::coroutine_handle<> last) {
    while (!last.done()) {
      if (!runnable_.empty()) {
        std::coroutine_handle<> next = runnable_.front();
        runnable_.pop_front();
        next.resume();
        continue;
      }
      fray_object* object = nullptr;
      int code = fray_queue_next(queue_, -1, &object);
      if (code != FRAY_OK) {  // the session is closed, or the task cancelled: get() fails in each coroutine
        for (auto& [waited, waiter] : std::exchange(waiting_, {})) runnable_.push_back(waiter);
        if (runnable_.empty()) std::terminate();  // the coroutine waits for an event that this loop cannot see
        continue;
      }
      auto found = waiting_.find(object);
      if (found == waiting_.end()) continue;
      std::coroutine_handle<> waiter = found->second;
      waiting_.erase(found);
      waiter.resume();
    }
  }

 private:
  CoroutineLoop* outer_;
  fray_queue* queue_ = nullptr;
  std::unordered_multimap<fray_object*, std::coroutine_handle<>> waiting_;
  std::deque<std::coroutine_handle<>> runnable_;
};

template <typename T>
struct RefAwaiter {
  ObjectRef<T> ref;
  bool await_ready() const { return ref.is_ready() || CoroutineLoop::current() == nullptr; }
  void await_suspend(std::coroutine_handle<> waiter) const { CoroutineLoop::current()->wait_for(ref, waiter); }
  Result<Kept<T>> await_resume() const { return get(ref); }
};

struct PromiseBase {
  std::coroutine_handle<> continuation;
  std::exception_ptr error;

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      std::coroutine_handle<> next = ended.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() { error = std::current_exception(); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  auto get_return_object() { return std::coroutine_handle<Promise>::from_promise(*this); }
  void return_value(T given) { value = std::move(given); }
  T take() {
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }
};
template <>
struct Promise<void> : PromiseBase {
  auto get_return_object() { return std::coroutine_handle<Promise>::from_promise(*this); }
  void return_void() const {}
  void take() const {
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace detail

template <typename T>
detail::RefAwaiter<T> operator co_await(ObjectRef<T> ref) {
  return {std::move(ref)};
}

template <typename T = void>
class [[nodiscard]] Coroutine {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Coroutine(Handle handle) : handle_(handle) {}  // NOLINT: from get_return_object()
  Coroutine(Coroutine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Coroutine& operator=(Coroutine&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Coroutine() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const { return handle_.done(); }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) {
    handle_.promise().continuation = waiter;
    return std::exchange(started_, true) ? std::coroutine_handle<>(std::noop_coroutine()) : handle_;
  }
  T await_resume() { return handle_.promise().take(); }

  // Runs the coroutine up to its first wait. It can be awaited later, for its result.
  void start() {
    if (!std::exchange(started_, true)) handle_.resume();
  }
  Handle handle() const { return handle_; }

 private:
  Handle handle_;
  bool started_ = false;
};

// Runs a coroutine, and those that it has started, until it has ended, and returns its result.
template <typename T>
T run(Coroutine<T> coroutine) {
  detail::CoroutineLoop loop;
  coroutine.start();
  loop.run_until(coroutine.handle());
  return coroutine.handle().promise().take();
}

// Runs several coroutines at the same time, and returns their results in the order of the coroutines.
template <typename T>
Coroutine<std::vector<T>> all(std::vector<Coroutine<T>> coroutines) {
  for (Coroutine<T>& each : coroutines) each.start();
  std::vector<T> results;
  results.reserve(coroutines.size());
  for (Coroutine<T>& each : coroutines) results.push_back(co_await each);
  co_return results;
}

}  // namespace v1
}  // namespace fray
