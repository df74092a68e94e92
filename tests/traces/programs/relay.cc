// C++ between Python functions: a program with a task, or as a library the task alone. What is traced goes through.
#include <iostream>

#include <fray/api.h>

double relay(double number) {
  return fray::get(fray::submit(fray::python<double>("leaf:leaf"), number)).value_or_throw();
}
FRAY_TASK(relay);

int main() {
  auto session = fray::connect({.cpus = 2}).value_or_throw();
  std::cout << fray::get(fray::submit(relay, 20.5)).value_or_throw() << '\n';
}
