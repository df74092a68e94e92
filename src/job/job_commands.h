// Commands of the JobTable: what the node has to do. Values, compared as such in tests.
//
// Threading:  values.
// Ownership:  they own their strings; jobs are named by id.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace fray::job {

struct Record {  // keep JobTable::record(job), before any command that comes after this one
  std::string job;
  friend bool operator==(const Record&, const Record&) = default;
};
struct Prepare {  // make its environment; answered by prepared() or prepare_failed(), with preparing() in between
  std::string job;
  friend bool operator==(const Prepare&, const Prepare&) = default;
};
struct Start {  // all its replicas; answered by started() or attempt_ended()
  std::string job;
  std::uint32_t attempt = 0;
  friend bool operator==(const Start&, const Start&) = default;
};
struct Find {  // see what became of an attempt that a node before this one began: started(), attempt_ended() or Start
  std::string job;
  std::uint32_t attempt = 0;
  friend bool operator==(const Find&, const Find&) = default;
};
struct Stop {  // answered by attempt_ended()
  std::string job;
  std::uint32_t attempt = 0;
  friend bool operator==(const Stop&, const Stop&) = default;
};
struct AttemptOver {  // what it held is free, what was made in its name ends
  std::string job;
  std::uint32_t attempt = 0;
  friend bool operator==(const AttemptOver&, const AttemptOver&) = default;
};
struct Ended {  // the job is in a final state: tell who waits; what only a start would need can go
  std::string job;
  friend bool operator==(const Ended&, const Ended&) = default;
};
struct Remove {  // drop its record and its folder
  std::string job;
  friend bool operator==(const Remove&, const Remove&) = default;
};
using Command = std::variant<Record, Prepare, Start, Find, Stop, AttemptOver, Ended, Remove>;

}  // namespace fray::job
