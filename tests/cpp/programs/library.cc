// A library of tasks and actors that Python calls.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include <fray/api.h>

int add(int a, int b) { return a + b; }
FRAY_TASK(add);

fray::Value same(const fray::Value& value) { return value; }
FRAY_TASK(same);

std::string kind_of(const fray::Value& value) {
  static constexpr const char* kKinds[] = {"none", "bool",  "int",  "uint64", "float",
                                           "str",  "bytes", "list", "dict",   "array"};
  return kKinds[value.value.index()];
}
FRAY_TASK(kind_of);

double sum(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }
FRAY_TASK(sum);

fray::Array<std::int32_t> table(std::size_t rows, std::size_t columns) {
  std::vector<std::int32_t> values(rows * columns);
  std::iota(values.begin(), values.end(), 0);
  return {values, {rows, columns}};
}
FRAY_TASK(table);

struct Point {
  double x = 0;
  double y = 0;
};
FRAY_STRUCT(Point, x, y);
Point mirrored(const Point& point) { return {-point.x, -point.y}; }
FRAY_TASK(mirrored);

std::tuple<int, int> divide(int a, int b) { return {a / b, a % b}; }
FRAY_TASK(divide);

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

void crashes() { std::raise(SIGSEGV); }
FRAY_TASK(crashes);

void waits() {
  while (!fray::is_cancelled()) {
  }
}
FRAY_TASK(waits);

// Says by files that it has begun, and that it was cancelled.
void waits_and_tells(const std::string& mark) {
  std::ofstream(mark) << 'x';
  waits();
  std::ofstream(mark + ".cancelled") << 'x';
}
FRAY_TASK(waits_and_tells);

fray::ObjectRef<int> started(int a, int b) { return fray::submit(add, a, b); }
FRAY_TASK(started);

int got(const fray::ObjectRef<int>& ref) { return fray::get(ref).value_or_throw(); }
FRAY_TASK(got);

double through_python(double value) {
  return fray::get(fray::submit(fray::python<double>("math:sqrt"), value)).value_or_throw();
}
FRAY_TASK(through_python);

class Counter {
 public:
  explicit Counter(int start) : count_(start) {
    if (start < 0) throw std::invalid_argument("start is negative");
  }
  int add(int n) { return count_ += n; }
  int fails() { throw std::runtime_error("no more counting"); }

 private:
  int count_;
};
FRAY_ACTOR(Counter, (int), add, fails);

int add_through(const fray::ActorHandle<Counter>& counter, int n) {
  return fray::get(counter.call(&Counter::add, n)).value_or_throw();
}
FRAY_TASK(add_through);

class Starter {
 public:
  bool starts(const std::string& mark) { return fray::get(fray::submit(waits_and_tells, mark)).is_ok(); }
};
FRAY_ACTOR(Starter, (), starts);
