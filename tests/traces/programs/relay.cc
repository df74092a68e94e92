// C++ between Python functions: a program with a task and an actor, or as a library these alone. What is traced goes through.
#include <unistd.h>

#include <iostream>
#include <stdexcept>

#include <fray/api.h>

double relay(double number) {
  return fray::get(fray::submit(fray::python<double>("leaf:leaf"), number)).value_or_throw();
}
FRAY_TASK(relay);

double fails(double number) { throw std::runtime_error("no stock of " + std::to_string(number)); }
FRAY_TASK(fails);

double twice(double number) { return fray::get(fray::submit(relay, number)).value_or_throw(); }
FRAY_TASK(twice);

int own_pid() { return ::getpid(); }
FRAY_TASK(own_pid);

class Shop {
 public:
  explicit Shop(double price) : price_(price) {}
  double buy(double count) { return fray::get(fray::submit(relay, price_ * count)).value_or_throw(); }

 private:
  double price_;
};
FRAY_ACTOR(Shop, (double), buy);

int main() {
  auto session = fray::connect({.cpus = 2}).value_or_throw();
  std::cout << fray::get(fray::submit(relay, 20.5)).value_or_throw() << '\n';
  std::cout << fray::get(fray::submit(fails, 1.0)).status().message() << '\n';
  auto shop = fray::create_actor<Shop>(2.0).value_or_throw();
  std::cout << fray::get(shop.call(&Shop::buy, 3.0)).value_or_throw() << '\n';
}
