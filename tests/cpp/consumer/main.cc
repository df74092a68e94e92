// consumer [LIBRARY]: with a library workers load that, else they run this program.
#include <iostream>

#include "jobs.h"

int main(int argc, char** argv) {
  fray::Options options{.cpus = 2};
  if (argc > 1) options.library = argv[1];
  auto session = fray::connect(options).value_or_throw();
  fray::ObjectRef<double> cost = fray::submit(price, Order{"pear", 4});
  auto till = fray::create_actor<Till>(100.0).value_or_throw();
  std::cout << fray::get(till.call(&Till::take, cost)).value_or_throw() << '\n';
}
