// hello: two tasks in worker processes, one of which needs what the other gives.
#include <iostream>

#include <fray/api.h>

int add(int a, int b) { return a + b; }
FRAY_TASK(add);

std::string greet(const std::string& whom, int number) { return "Hello, " + whom + " " + std::to_string(number); }
FRAY_TASK(greet);

int main() {
  auto session = fray::connect().value_or_throw();
  fray::ObjectRef<int> sum = fray::submit(add, 40, 2);
  std::cout << fray::get(fray::submit(greet, "world", sum)).value_or_throw() << '\n';
}
