// Growth: finds kinds of objects, by owner and function, whose sum of bytes grows, since when and by how much.
//
//   growth.add(time, sums);              // every few seconds, of all objects
//   for (const Growth::Row& row : growth.rows()) ...
//
// A healthy program drops objects while it makes others, so only the least sum within ten seconds counts. A kind grows
// since the last time that its least sum fell, if it has risen for at least a minute, and within the last minute.
//
// Threading:  one thread; pure.
// Ownership:  values; a few dozen bytes for each kind, kMostKinds at most: then the smallest are not followed.
// Failure:    none. After a gap of kGap without calls of add() all records are dropped.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"

namespace fray::dashboard {

class Growth {
 public:
  static constexpr double kStep = 10;  // seconds
  static constexpr double kGap = 60;
  static constexpr double kFewestSeconds = 60;
  static constexpr std::uint64_t kFewestBytes = 1u << 20;  // or
  static constexpr std::uint64_t kFewestObjects = 1000;
  static constexpr std::size_t kMostKinds = 500;

  struct Kind {
    ProcessId owner = 0;
    std::string function;  // empty: it was put, or its run is not known any more

    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  struct Row {
    Kind kind;
    double since = 0;  // the time at which it began
    double until = 0;  // that of the newest sum
    Sum then;
    Sum now;
  };

  // Times do not go back.
  void add(double time, const std::map<Kind, Sum>& sums);
  // The growing kinds, the fastest first.
  std::vector<Row> rows() const;

 private:
  struct Course {
    double since = 0;
    double rose = 0;  // when it last did
    Sum then;
    Sum least;    // of the step that is over
    Sum present;  // the least of the step that is not
  };

  void close_step(double time);

  std::map<Kind, Course> courses_;
  double step_began_ = 0;
  double newest_ = 0;
  bool begun_ = false;
};

}  // namespace fray::dashboard
