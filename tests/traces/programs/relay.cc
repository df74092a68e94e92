// C++ between Python functions: a program with a task and an actor, or as a library these alone. What is traced goes through.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include <fray/api.h>

// Writes down that this thread waits: `rest` returns when all that do so sleep.
template <typename Ref>
auto wait_for(const Ref& result) {
  std::ofstream("waiting", std::ios::app) << ::getpid() << "/task/" << ::gettid() << '\n';
  return fray::get(result);
}

double relay(double number) {
  return wait_for(fray::submit(fray::python<double>("leaf:leaf"), number)).value_or_throw();
}
FRAY_TASK(relay);

double fails(double number) {
  wait_for(fray::submit(fray::python<double>("leaf:rest"), number)).value_or_throw();
  throw std::runtime_error("no stock of " + std::to_string(number));
}
FRAY_TASK(fails);

double twice(double number) { return wait_for(fray::submit(relay, number)).value_or_throw(); }
FRAY_TASK(twice);

int own_pid() { return ::getpid(); }
FRAY_TASK(own_pid);

class Shop {
 public:
  explicit Shop(double price) : price_(price) {}
  double buy(double count) { return wait_for(fray::submit(relay, price_ * count)).value_or_throw(); }

 private:
  double price_;
};
FRAY_ACTOR(Shop, (double), buy);

int main() {
  auto session = fray::connect({.cpus = 2}).value_or_throw();
  std::cout << wait_for(fray::submit(relay, 20.5)).value_or_throw() << '\n';
  std::cout << wait_for(fray::submit(fails, 1.0)).status().message() << '\n';
  auto shop = fray::create_actor<Shop>(2.0).value_or_throw();
  std::cout << wait_for(shop.call(&Shop::buy, 3.0)).value_or_throw() << '\n';
}
