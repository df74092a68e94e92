// HolderWorld: a simulation of processes that pass refs to each other, which drives a real HolderTable through one
// seeded schedule.
//
// Processes put values, call each other with refs as arguments, return results that contain refs, drop refs, ask for
// values, and die. Messages to the node and between processes travel in FIFO channels. The channel whose message is
// read next is chosen at random, so messages of different channels overtake each other. The node reads in rounds: a
// round ends when the node has read every message that was in a channel when the round began. The simulation knows
// which refs each process really holds, and checks every Forget and ReportLost against that.
//
// It does not check refs that a process has received after the death of their sender, because the holds of such refs
// may have ended before (`ghosts_`). A process that asks for the value of such an object must still get an answer.
//
// Threading:  one thread.
// Ownership:  owns everything it simulates.
// Failure:    throws SimulationViolation.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sim/simulation.h"
#include "object/holder_table.h"

namespace fray::object {

class HolderWorld {
 public:
  HolderWorld(std::uint64_t seed, SimulationLog& log);
  void run();
  static void list_possible(SimulationLog& log);

 private:
  using CallId = std::uint32_t;
  enum class Kind : std::uint8_t { kRegister, kHold, kRelease, kComplete, kWant, kEnd };
  struct Message {  // from a process to the node
    Kind kind;
    ObjectId object;
    ProcessId holder = 0;          // kComplete
    std::vector<ObjectId> nested;  // kComplete
  };
  struct Answer {  // from the node to a process
    ObjectId object;
    bool lost = false;
    std::vector<ObjectId> nested;
  };
  struct Frame {  // from a process to another: a call or its result
    CallId call = 0;
    bool is_result = false;
    bool recorded = false;  // the process that made the result has completed it at the node
    ObjectId result;
    std::vector<ObjectId> refs;  // the refs among the arguments, or in the result
  };
  struct Ref {
    std::uint32_t count = 0;      // of variables, arguments of calls and local values that contain the ref
    std::uint32_t variables = 0;  // those among `count`
    bool counted = false;         // the node was told that this process holds it
    bool owes_release = false;    // the node may count this process as holder
    bool wanted = false;
  };
  struct Call {  // that the process has made, or works on for another process
    ProcessId peer = 0;
    ObjectId result;
    std::vector<ObjectId> refs;
    std::uint32_t attempts = 0;
    bool escaped = false;  // the result was registered: other processes may wait for it
    bool retried = false;  // an attempt that was given up may have recorded a result
  };
  struct Process {
    bool alive = true;
    bool ended = false;  // the node has read its channel to the end
    std::uint32_t stopped_until = 0;
    std::uint32_t to_do = 0;
    std::uint64_t sequence = 0;
    std::deque<Message> up;
    std::deque<Answer> down;
    std::map<ObjectId, Ref> refs;
    std::map<ObjectId, std::vector<ObjectId>> own_values;  // local values, which the node does not know
    std::map<CallId, Call> calls;
    std::map<CallId, Call> work;
  };
  enum class Act : std::uint8_t { kRead, kRoundEnds, kAnswer, kFrame, kFinish, kPeerDied, kDo };
  struct Choice {
    Act act;
    ProcessId process = 0;
    std::uint64_t subject = 0;  // the ID of a process or a call
  };
  using Pipe = std::pair<ProcessId, ProcessId>;  // from, to

  // holder_world.cc: the schedule and the node.
  std::vector<Choice> choices();
  void step(const Choice& choice);
  void inject_fault();
  void kill(ProcessId id);
  void read(ProcessId id);
  void to_table(ProcessId id, const Message& message);
  void begin_round();
  bool round_is_over() const;
  void round_ends();
  void judge_commands();
  void judge(const Deliver& command);
  void judge(const ReportLost& command);
  void judge(const Forget& command);
  void note(ObjectId object, std::string_view event);
  void check_answers();
  bool drop_everything();

  // holder_world_processes.cc: what processes do.
  Process& at(ProcessId id) { return processes_.at(id); }
  bool active(const Process& process) const { return process.alive && process.stopped_until <= step_; }
  void act(ProcessId id);
  void put(ProcessId id);
  void call(ProcessId id);
  void want(ProcessId id);
  void drop(ProcessId id, ObjectId object);
  void drop_variable(ProcessId id);
  void gain(ProcessId id, ObjectId object, bool from_the_dead);
  void escape(ProcessId id, ObjectId object);
  void send_call(ProcessId id, CallId call);
  void take_frame(ProcessId from, ProcessId to);
  void take_result(ProcessId id, const Frame& frame);
  void take_answer(ProcessId id);
  void finish_work(ProcessId id, CallId call);
  void peer_died(ProcessId id, CallId call);
  void end_call(ProcessId id, CallId call, bool recorded);
  std::vector<ObjectId> some_refs(ProcessId id, std::uint32_t most);
  ProcessId other_than(ProcessId id);
  bool leads_to(ObjectId from, ObjectId to) const;

  SimulationRandom random_;
  SimulationLog& log_;
  std::uint32_t step_ = 0;
  std::uint32_t faults_left_ = 0;
  bool dropping_ = false;
  std::map<ProcessId, Process> processes_;
  std::map<Pipe, std::deque<Frame>> pipes_;
  CallId last_call_ = 0;
  std::map<ObjectId, std::vector<ObjectId>> contents_;  // of every value ever made; no circles
  // The node.
  HolderTable table_;
  std::map<ProcessId, std::size_t> to_read_;  // messages that this round has yet to read
  std::map<ObjectId, std::vector<ObjectId>> values_;
  std::set<ObjectId> ghosts_;
};

}  // namespace fray::object
