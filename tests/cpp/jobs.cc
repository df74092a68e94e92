#include "cpp/jobs.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace jobs {

int add(int a, int b) { return a + b; }
FRAY_TASK(add);

void nothing() {}
FRAY_TASK(nothing);

std::string join(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}
FRAY_TASK(join);

double sum(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }
FRAY_TASK(sum);

fray::Array<double> ramp(std::size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 0.0);
  return fray::Array<double>(values);
}
FRAY_TASK(ramp);

std::vector<std::byte> reversed(std::span<const std::byte> bytes) { return {bytes.rbegin(), bytes.rend()}; }
FRAY_TASK(reversed);

int parent() { return ::getppid(); }
FRAY_TASK(parent);

std::string working_folder() { return std::filesystem::current_path(); }
FRAY_TASK(working_folder);

Point mirrored(const Point& point) { return {-point.x, -point.y, point.label}; }
FRAY_TASK(mirrored);

std::map<std::string, std::vector<Point>> by_label(const std::vector<Point>& points) {
  std::map<std::string, std::vector<Point>> groups;
  for (const Point& point : points) groups[point.label.value_or("")].push_back(point);
  return groups;
}
FRAY_TASK(by_label);

void fray_write(fray::Encoder& out, const Celsius& value) { out.value(value.degrees + 273.15); }
bool fray_read(fray::Decoder& in, Celsius& value) {
  double kelvin = 0;
  if (!in.read(kelvin)) return false;
  if (kelvin < 0) return in.fail("a temperature below absolute zero");
  value.degrees = kelvin - 273.15;
  return true;
}
Celsius warmer(Celsius value) { return {value.degrees + 1}; }
FRAY_TASK(warmer);

fray::Value same(const fray::Value& value) { return value; }
FRAY_TASK(same);

int later(const fray::ObjectRef<int>& ref) { return fray::get(ref).value_or_throw() + 1; }
FRAY_TASK(later);

int square(int number) { return number * number; }
FRAY_TASK(square);

std::vector<fray::ObjectRef<int>> squares(int count) {
  std::vector<fray::ObjectRef<int>> refs;
  for (int i = 0; i < count; ++i) refs.push_back(fray::submit(square, i));
  return refs;
}
FRAY_TASK(squares);

int nested(int depth) {
  if (depth == 0) return 1;
  auto one = fray::submit(nested, depth - 1);
  auto other = fray::submit(nested, depth - 1);
  return fray::get(one).value_or_throw() + fray::get(other).value_or_throw();
}
FRAY_TASK(nested);

std::tuple<int, int> divide(int a, int b) {
  if (b == 0) throw std::domain_error("division by zero");
  return {a / b, a % b};
}
FRAY_TASK(divide);

std::pair<std::string, fray::Array<double>> parts(std::size_t count) { return {"ramp", ramp(count)}; }
FRAY_TASK(parts);

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? value : "";
}
FRAY_TASK(variable);

// One more byte in `marker` for each attempt.
int fails_at_first(const std::string& marker, int times) {
  std::ofstream(marker, std::ios::app) << 'x';
  const auto attempts = static_cast<int>(std::filesystem::file_size(marker));
  if (attempts <= times) throw std::runtime_error("attempt " + std::to_string(attempts));
  return attempts;
}
FRAY_TASK(fails_at_first);

int throws(const std::string& text) { throw std::out_of_range(text); }
FRAY_TASK(throws);

int throws_number() { throw 7; }
FRAY_TASK(throws_number);

fray::Result<int> half(int number) {
  if (number % 2 != 0) return fray::Status(fray::Code::kInvalidArgument, "the number is odd");
  return number / 2;
}
FRAY_TASK(half);

__attribute__((noinline)) void write_through(volatile int* nowhere) { *nowhere = 1; }
void segfaults() {
  std::cout << "about to crash" << std::endl;
  write_through(reinterpret_cast<volatile int*>(::getpid() > 0 ? 8 : 0));
}
FRAY_TASK(segfaults);

void aborts() { std::abort(); }
FRAY_TASK(aborts);

int deeper(int depth) {
  volatile char room[4096];
  room[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : deeper(depth + 1) + room[0];
}
void overflows_stack() { deeper(1); }
FRAY_TASK(overflows_stack);

void leaves(int code) { std::exit(code); }
FRAY_TASK(leaves);

void spins_until_cancelled() {
  while (!fray::is_cancelled()) {
  }
}
FRAY_TASK(spins_until_cancelled);

void sleeps_for_ever() {
  while (true) ::pause();
}
FRAY_TASK(sleeps_for_ever);

void dies_once(const std::string& marker) {
  if (std::filesystem::exists(marker)) return;
  std::ofstream(marker) << "x";
  ::raise(SIGKILL);
}
FRAY_TASK(dies_once);

int ends_as_child(const std::string& deed) {
  fray::ObjectRef<int> ref = fray::put(7);
  const pid_t child = ::fork();
  if (child != 0) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid failed");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  if (deed == "throws") throw std::out_of_range("thrown in a child");
  if (deed == "leaves") std::exit(7);
  if (deed == "gets") fray::get(ref).value_or_throw();
  if (deed == "copies and drops") [[maybe_unused]]
    fray::ObjectRef<int> copy = ref;
  if (deed == "submits") fray::get(fray::submit(add, 1, 1)).value_or_throw();
  if (deed == "connects") fray::connect().value_or_throw();
  if (deed == "forks")
    return ends_as_child("throws") == 1 ? 0 : throw std::logic_error("the grandchild ended otherwise");
  return 0;
}
FRAY_TASK(ends_as_child);

std::size_t fills_memory(std::size_t bytes) {
  std::vector<char> memory(bytes, 'x');
  spins_until_cancelled();
  return memory.size();
}
FRAY_TASK(fills_memory);

int Counter::fails(const std::string& text) { throw std::runtime_error(text); }
void Counter::dies() { ::raise(SIGKILL); }
int Counter::pid() { return ::getpid(); }
fray::ObjectRef<int> Counter::later(int n) { return fray::submit(jobs::add, count_, n); }

Refuses::Refuses() { throw std::runtime_error("no instance today"); }

int Meeting::meet(int others) {
  static std::mutex mutex;
  static std::condition_variable changed;
  std::unique_lock<std::mutex> lock(mutex);
  ++here_;
  changed.notify_all();
  changed.wait(lock, [&] { return here_ >= others; });
  return here_;
}

int add_through(const fray::ActorHandle<Counter>& counter, int n) {
  return fray::get(counter.call(&Counter::add, n)).value_or_throw();
}
FRAY_TASK(add_through);

}  // namespace jobs
