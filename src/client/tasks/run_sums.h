// runs_since(): what a client answers when its node asks what ran: the runs that its timeline has, as sums by function
// and as bars for a picture.
//
// Many short runs of one function that follow one another in one worker become one bar. So the size of the answer depends
// on the time that has passed, and hardly on how many ran.
//
// Threading:  under the client's mutex; some ten nanoseconds a run.
// Ownership:  reads the timeline, keeps nothing.
// Failure:    none. Beyond kMostFunctions functions they are summed as kOtherFunctions; beyond kMostBars the oldest bars are
//             left out, and counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/tasks/timeline.h"
#include "model/worker_page.h"
#include "wire/runs.h"

namespace fray::client {

inline constexpr std::size_t kMostFunctions = 500;
inline constexpr std::size_t kMostBars = 4000;
inline constexpr std::size_t kMostFunctionNameBytes = WorkerPage::kNameBytes - 1;  // as a running one's
inline constexpr std::uint64_t kLongestBarNs = 50'000'000;                         // of several runs
inline constexpr std::uint64_t kLongestGapNs = 5'000'000;                          // between two of them
inline constexpr std::uint64_t kLongestShortNs = 5'000'000;                        // a run that may be one of several
inline constexpr const char* kOtherFunctions = "(others)";

wire::RunsTold runs_since(const wire::TellRuns& question, const Timeline& timeline);

}  // namespace fray::client
