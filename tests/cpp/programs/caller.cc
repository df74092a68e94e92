// A program that calls Python: caller CHECK. Prints what it found; the tests compare.
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <vector>

#include <fray/api.h>

namespace {

template <typename T>
std::string outcome(const fray::Result<T>& result) {
  const fray::Status& status = result.status();
  if (!status.is_ok()) return "failed: " + status.type_name() + "|" + status.message();
  return "ok";
}

void functions() {
  std::cout << fray::get(fray::submit(fray::python<double>("math:sqrt"), 9.0)).value_or_throw() << '\n';
  auto join = fray::python<std::string>("os.path:join");
  std::cout << fray::get(fray::submit(join, "a", fray::put(std::string("b")))).value_or_throw() << '\n';
  fray::Value value = fray::get(fray::submit(fray::python("callee:describe"), 3)).value_or_throw();
  std::cout << value.at("number").to<int>().value_or_throw() << ' '
            << value.at("list").at(1).to<std::string>().value_or_throw() << '\n';
}

void arrays() {
  std::vector<double> samples(100'000, 0.5);
  auto total = fray::python<double>("callee:total");
  std::cout << fray::get(fray::submit(total, std::span<const double>(samples))).value_or_throw() << '\n';
  auto ref = fray::submit(fray::python<fray::Array<float>>("callee:ramp"), 300, 200);
  fray::Array<float> one = fray::get(ref).value_or_throw(), other = fray::get(ref).value_or_throw();
  std::cout << one.shape()[0] << ' ' << one.shape()[1] << ' ' << one(299, 199) << ' '
            << (one.data() == other.data() ? "shared" : "copied") << '\n';
}

void failures() {
  std::cout << outcome(fray::get(fray::submit(fray::python<int>("callee:fails"), "no stock"))) << '\n';
  fray::Status status = fray::get(fray::submit(fray::python<int>("callee:fails"), "no stock")).status();
  std::cout << (status.traceback().find("callee.py") != std::string::npos ? "traceback" : "none") << '\n';
  std::cout << outcome(fray::get(fray::submit(fray::python<int>("callee:pair")))) << '\n';
  std::cout << outcome(fray::get(fray::submit(fray::python<int>("callee:shop")))) << '\n';
  std::cout << outcome(fray::get(fray::submit(fray::python<int>("callee:missing")))) << '\n';
  std::cout << outcome(fray::get(fray::submit(fray::python<int>("no_such_module:f")))) << '\n';
  std::cout << outcome(fray::get(fray::submit(fray::python<int>("nocolon")))) << '\n';
  std::cout << outcome(fray::get(fray::submit(fray::python<int>("callee:describe"), 3))) << '\n';
  fray::TaskOptions once{.max_retries = 0};
  std::cout << outcome(fray::get(fray::submit(once, fray::python<int>("callee:leaves")))) << '\n';
}

void actors() {
  auto total = fray::create_actor(fray::python_class("callee:Total"), 10).value_or_throw();
  std::cout << fray::get(total.call<int>("add", 5)).value_or_throw() << '\n';
  std::cout << fray::get(total.call<int>("add", fray::put(5))).value_or_throw() << '\n';
  std::cout << outcome(fray::get(total.call<int>("fails"))) << '\n';
  auto named = fray::create_actor({.name = "total"}, fray::python_class("callee:Total"), 1).value_or_throw();
  auto found = fray::find_python_actor("total").value_or_throw();
  std::cout << fray::get(found.call<int>("add", 1)).value_or_throw() << '\n';
  auto async = fray::create_actor(fray::python_class("callee:Async")).value_or_throw();
  auto waits = async.call<int>("wait");
  std::cout << fray::get(async.call<int>("release")).value_or_throw() << ' ' << fray::get(waits).value_or_throw()
            << '\n';
  auto refuses = fray::create_actor(fray::python_class("callee:Total"), "text").value_or_throw();
  std::cout << outcome(fray::get(refuses.call<int>("add", 1))) << '\n';
  std::cout << outcome(
                   fray::get(fray::create_actor(fray::python_class("callee:Nobody")).value_or_throw().call<int>("f")))
            << '\n';
}

void several() {
  auto back = fray::python<fray::ObjectRef<int>>("callee:starts");
  std::cout << fray::get(fray::get(fray::submit(back, 4)).value_or_throw()).value_or_throw() << '\n';
  std::vector<fray::ObjectRef<double>> refs;
  for (int i = 0; i < 500; ++i) refs.push_back(fray::submit(fray::python<double>("math:sqrt"), 1.0 * i * i));
  std::vector<double> roots = fray::get(refs).value_or_throw();
  std::cout << std::accumulate(roots.begin(), roots.end(), 0.0) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  auto session = fray::connect({.cpus = 2, .python = argc > 2 ? argv[2] : ""}).value_or_throw();
  std::map<std::string, std::function<void()>> checks{
      {"functions", functions}, {"arrays", arrays}, {"failures", failures}, {"actors", actors}, {"several", several}};
  checks.at(argv[1])();
}
