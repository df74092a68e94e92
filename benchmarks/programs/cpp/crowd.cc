// crowd HOME WORKERS ACTORS TASKS: joins the started node of that home and is many: WORKERS processes that sleep, ACTORS actors, and
// TASKS short tasks that have run. Prints "ready" then, and runs a few tasks each second until its input ends.
//
// The node needs as many of the resource "seat" as there are sleepers; these and the actors hold no CPU, and the tasks one each.
// Processes of C++ are small: a few thousand of them fit where as many interpreters do not.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fray/api.h>

int sleep_for(int seconds) {
  while (seconds > 0 && !fray::is_cancelled()) {
    ::sleep(1);
    --seconds;
  }
  return seconds;
}
FRAY_TASK(sleep_for);

int next(int number) { return number + 1; }
FRAY_TASK(next);

class Idler {
 public:
  int next(int number) { return number + 1; }
};
FRAY_ACTOR(Idler, (), next);

namespace {

constexpr int kHour = 3600;
constexpr int kInFlight = 10'000;
constexpr int kPauseMs = 100;

void run_tasks(int count) {
  for (int left = count; left > 0; left -= kInFlight) {
    std::vector<fray::ObjectRef<int>> refs;
    for (int i = 0; i < std::min(left, kInFlight); ++i) refs.push_back(fray::submit(next, i));
    fray::get(refs).value_or_throw();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: crowd HOME WORKERS ACTORS TASKS\n");
    return 2;
  }
  auto session = fray::connect({.address = argv[1]}).value_or_throw();
  std::vector<fray::ObjectRef<int>> sleepers;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    sleepers.push_back(fray::submit({.num_cpus = 0, .resources = {{"seat", 1}}}, sleep_for, kHour));
  }
  std::vector<fray::ActorHandle<Idler>> actors;
  std::vector<fray::ObjectRef<int>> called;
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    actors.push_back(fray::create_actor<Idler>({.name = "idler " + std::to_string(i)}).value_or_throw());
    called.push_back(actors.back().call(&Idler::next, i));
  }
  fray::get(called).value_or_throw();
  run_tasks(std::atoi(argv[4]));
  std::puts("ready");
  std::fflush(stdout);
  for (pollfd input{STDIN_FILENO, POLLIN, 0}; ::poll(&input, 1, kPauseMs) == 0;) run_tasks(kInFlight / 100);
}
