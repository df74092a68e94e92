// JobWorld: a node, supervisors and impatient people in miniature, to drive a real JobTable through one seeded schedule.
//
// Jobs are accepted, stopped, removed; some launch children. Supervisors start, take their time, end well or badly, or
// vanish; environments are built or cannot be; the clock jumps to what is due. The node is killed at any moment: what was
// recorded comes back, what was not is as if it had not happened, and supervisors go on meanwhile.
//
// Checked at every step: nothing is started that was not recorded before; no attempt starts twice; what runs never needs
// more than there is; a final state never changes; attempts stay within the budgets; whoever waits has a reason. At rest
// every job has ended.
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
    bool asked = false;  // to stop
    bool heard = true;   // by the node that lives now
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
  std::map<std::string, JobRecord> kept_;          // records on the disk
  std::map<std::string, Supervisor> supervisors_;  // that run
  std::map<std::string, Report> reports_;          // of supervisors that ended, the newest of each job
  std::map<std::string, std::uint32_t> begun_;     // the newest attempt that a supervisor began
  std::set<std::string> building_;
  std::map<std::string, JobState> ended_;
};

}  // namespace fray::job
