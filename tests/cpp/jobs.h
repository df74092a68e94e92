// The tasks and actors of the tests.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fray/api.h>

namespace jobs {

int add(int a, int b);
void nothing();
std::string join(const std::vector<std::string>& words, std::string_view between);
double sum(std::span<const double> values);
fray::Array<double> ramp(std::size_t count);
std::vector<std::byte> reversed(std::span<const std::byte> bytes);
int parent();
std::string working_folder();

struct Point {
  double x = 0;
  double y = 0;
  std::optional<std::string> label;
};
FRAY_STRUCT(Point, x, y, label);
Point mirrored(const Point& point);
std::map<std::string, std::vector<Point>> by_label(const std::vector<Point>& points);

struct Celsius {
  double degrees = 0;
};
void fray_write(fray::Encoder& out, const Celsius& value);
bool fray_read(fray::Decoder& in, Celsius& value);
Celsius warmer(Celsius value);

fray::Value same(const fray::Value& value);
int later(const fray::ObjectRef<int>& ref);
std::vector<fray::ObjectRef<int>> squares(int count);
int nested(int depth);

std::tuple<int, int> divide(int a, int b);
std::pair<std::string, fray::Array<double>> parts(std::size_t count);
std::string variable(const std::string& name);
int fails_at_first(const std::string& marker, int times);

int throws(const std::string& text);
int throws_number();
fray::Result<int> half(int number);
void segfaults();
void aborts();
void overflows_stack();
void leaves(int code);
void spins_until_cancelled();
void sleeps_for_ever();
void dies_once(const std::string& marker);
// How a child ends that the task forks and that does this: "returns", "throws", "leaves", or uses what is its parent's.
int ends_as_child(const std::string& deed);
std::size_t fills_memory(std::size_t bytes);

class Counter {
 public:
  explicit Counter(int start) : count_(start) {}
  int add(int n) { return count_ += n; }
  int get() const { return count_; }
  int fails(const std::string& text);
  void dies();
  int pid();
  int ends_as_child(const std::string& deed) { return jobs::ends_as_child(deed); }
  fray::ObjectRef<int> later(int n);

 private:
  int count_;
};

class Forks {
 public:
  Forks(const std::string& deed) : code_(ends_as_child(deed)) {}
  int code() const { return code_; }

 private:
  int code_;
};

class Refuses {
 public:
  Refuses();
  int nothing() { return 0; }
};

// Calls that run side by side meet here.
class Meeting {
 public:
  int meet(int others);

 private:
  int here_ = 0;
};

int add_through(const fray::ActorHandle<Counter>& counter, int n);

}  // namespace jobs

FRAY_ACTOR(jobs::Counter, (int), add, get, fails, dies, pid, ends_as_child, later);
FRAY_ACTOR(jobs::Forks, (const std::string&), code);
FRAY_ACTOR(jobs::Refuses, (), nothing);
FRAY_ACTOR(jobs::Meeting, (), meet);
