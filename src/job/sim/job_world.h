// JobWorld: a simulation of a node, supervisors and users, which drives a real JobTable through one seeded schedule.
//
// Users submit, stop and remove jobs; some jobs launch child jobs. Supervisors start, run for some time, and succeed,
// fail or vanish. Environments are built, or fail to build. The clock jumps to the next moment at which something is
// due. The node may be killed at any moment: a new node then has the records that were on the disk and no others, and
// the supervisors continue meanwhile.
//
// The simulation checks at every step that a job is recorded before it is started, that no attempt starts twice, that
// running jobs never hold more resources than the node has, that a final state never changes, that the attempts stay
// within their budgets, and that each waiting job has a reason for which it waits. At the end every job must have
// ended.
//
// Threading:  one thread.
// Ownership:  owns everything it simulates.
// Failure:    throws SimulationViolation.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/sim/simulation.h"
#include "job/job_table.h"

namespace fray::job {

class JobWorld {
 public:
  JobWorld(std::uint64_t seed, SimulationLog& log);
  void run();
  static void list_possible(SimulationLog& log);

 private:
  struct Supervisor {
    std::uint32_t attempt = 0;
    bool asked = false;  // the supervisor was asked to stop
    bool heard = true;   // the present node knows of the supervisor
  };
  struct Report {
    std::uint32_t attempt = 0;
    AttemptEnd end;
  };

  void act();
  void submit(const std::string& parent);
  void end_supervisor();
  void repeat_report();
  void kill_node();
  void carry_out();
  void carry_out(const Record& command);
  void carry_out(const Prepare& command);
  void carry_out(const Start& command);
  void carry_out(const Find& command);
  void carry_out(const Stop& command);
  void carry_out(const AttemptOver&) {}
  void carry_out(const Ended& command);
  void carry_out(const Remove& command);
  ResourceSet free() const;
  void check();
  void check(bool holds, const std::string& what) const;
  std::string draw_living();
  AttemptEnd draw_end(const Supervisor& supervisor, const JobRecord& record);
  Now now() const { return {now_, now_.count()}; }

  SimulationRandom random_;
  SimulationLog& log_;
  ResourceSet total_;
  std::unique_ptr<JobTable> table_;
  Moment now_{1};
  std::uint32_t submitted_ = 0;
  std::uint32_t left_ = 0;
  bool ending_ = false;
  std::map<std::string, JobRecord> kept_;          // the records on the disk
  std::map<std::string, Supervisor> supervisors_;  // those that run
  std::map<std::string, Report> reports_;          // the newest report of an ended supervisor, by job
  std::map<std::string, std::uint32_t> begun_;     // the newest attempt that a supervisor began, by job
  std::set<std::string> building_;
  std::map<std::string, JobState> ended_;
};

}  // namespace fray::job
