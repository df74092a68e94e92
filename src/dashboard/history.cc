#include "dashboard/history.h"

#include <cmath>
#include <limits>

namespace fray::dashboard {

namespace {
constexpr double kGapSteps = 3;  // steps without a sample that count as a gap
}  // namespace

void History::add(const Sample& sample) {
  for (Level& level : levels_) level.add(sample);
}

void History::Level::add(const Sample& sample) {
  const auto number = static_cast<std::int64_t>(std::floor(sample.time / step));
  if (number != present) close();
  present = number;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += sample.values[i];
  ++summed;
}

void History::Level::close() {
  if (summed == 0) return;
  Sample mean;
  mean.time = static_cast<double>(present) * step;
  for (std::size_t i = 0; i < sums.size(); ++i) mean.values[i] = sums[i] / static_cast<double>(summed);
  if (samples.size() == most) samples.pop_front();
  samples.push_back(mean);
  sums = {};
  summed = 0;
}

History::Columns History::columns(double seconds, double now) const {
  std::size_t finest = 0;
  while (finest + 1 < levels_.size() && static_cast<double>(levels_[finest].most) * levels_[finest].step < seconds) {
    ++finest;
  }
  const Level& level = levels_[finest];
  Columns rows;
  rows.step = level.step;
  rows.columns.resize(kFields.size());
  const auto add_row = [&rows](double time, auto value) {
    rows.times.push_back(time);
    for (std::size_t i = 0; i < rows.columns.size(); ++i) rows.columns[i].push_back(value(i));
  };
  double last = std::numeric_limits<double>::infinity();
  for (const Sample& sample : level.samples) {
    if (sample.time < now - seconds) continue;
    if (sample.time - last > kGapSteps * level.step) {
      add_row(last + level.step, [](std::size_t) { return std::numeric_limits<double>::quiet_NaN(); });
    }
    add_row(sample.time, [&sample](std::size_t i) { return sample.values[i]; });
    last = sample.time;
  }
  return rows;
}

}  // namespace fray::dashboard
