// parameter_server: workers fit a line to data that each of them has a part of; an actor holds the parameters.
//
// The data lies in shared memory: a worker reads its part where it is. Rounds are asynchronous: a worker takes the
// parameters as they are now, and its gradient is applied when it comes.
#include <cmath>
#include <iostream>
#include <random>
#include <vector>

#include <fray/api.h>

constexpr std::size_t kWorkers = 4;
constexpr std::size_t kPoints = 50'000;  // of each worker
constexpr int kRounds = 200;
constexpr double kSlope = 3.0, kOffset = -1.0;

struct Line {
  double slope = 0;
  double offset = 0;
};
FRAY_STRUCT(Line, slope, offset);

class ParameterServer {
 public:
  explicit ParameterServer(double rate) : rate_(rate) {}

  // Takes a step against the gradient, and says where that led.
  Line apply(const Line& gradient) {
    line_.slope -= rate_ * gradient.slope;
    line_.offset -= rate_ * gradient.offset;
    return line_;
  }
  Line now() const { return line_; }

 private:
  double rate_;
  Line line_;
};
FRAY_ACTOR(ParameterServer, (double), apply, now);

// Of the mean squared error of `line` on the points, rows of (x, y).
Line gradient_of(const Line& line, std::span<const double> points) {
  Line sum;
  for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
    const double error = line.slope * points[i] + line.offset - points[i + 1];
    sum.slope += 2 * error * points[i];
    sum.offset += 2 * error;
  }
  const double count = static_cast<double>(points.size()) / 2;
  return {sum.slope / count, sum.offset / count};
}

// One worker: so many rounds on its own part of the data.
int train(const fray::ActorHandle<ParameterServer>& server, fray::Array<double> points, int rounds) {
  Line line = fray::get(server.call(&ParameterServer::now)).value_or_throw();
  for (int round = 0; round < rounds; ++round) {
    line = fray::get(server.call(&ParameterServer::apply, gradient_of(line, points))).value_or_throw();
  }
  return rounds;
}
FRAY_TASK(train);

fray::ObjectRef<fray::Array<double>> make_part(unsigned seed) {
  auto room = fray::empty<double>({kPoints, 2}).value_or_throw();
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> where(-1.0, 1.0);
  std::normal_distribution<double> noise(0.0, 0.1);
  for (std::size_t i = 0; i < room.size(); i += 2) {
    room[i] = where(random);
    room[i + 1] = kSlope * room[i] + kOffset + noise(random);
  }
  return fray::put(std::move(room));
}

int main() {
  auto session = fray::connect().value_or_throw();
  auto server = fray::create_actor<ParameterServer>(0.05).value_or_throw();
  std::vector<fray::ObjectRef<int>> workers;
  for (unsigned i = 0; i < kWorkers; ++i) workers.push_back(fray::submit(train, server, make_part(i), kRounds));
  fray::get(workers).value_or_throw();
  Line line = fray::get(server.call(&ParameterServer::now)).value_or_throw();
  std::cout << "y = " << line.slope << " x + " << line.offset << '\n';
  return std::abs(line.slope - kSlope) < 0.05 && std::abs(line.offset - kOffset) < 0.05 ? 0 : 1;
}
