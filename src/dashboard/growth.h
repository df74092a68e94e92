// Growth: whose objects grow: of which owner and made by which function, since when and by how much.
//
//   growth.add(time, sums);              // every few seconds, of all objects
//   for (const Growth::Row& row : growth.rows()) ...
//
// A program that works lets its objects go as others come, so the least sum within ten seconds is what counts: a kind grows
// since the last time that this least sum has fallen, if it went up for a minute at least and within the last minute.
//
// Threading:  one thread; pure.
// Ownership:  values; a few dozen bytes for each kind, kMostKinds at most: then the smallest are not followed.
// Failure:    none. After a gap of kGap, in which nobody looked, all begins anew.
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
  // Those that grow, the fastest first.
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
