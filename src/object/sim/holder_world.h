// HolderWorld: processes that pass refs to each other in miniature, to drive a real HolderTable through one seeded
// schedule.
//
// Processes put values, call each other with refs as arguments, answer with refs inside, drop refs, ask for values,
// die. Messages to the node and between processes travel in FIFO channels; which one moves next is chosen at random, so
// they overtake each other freely. The node reads in rounds: a round ends when all that lay in the channels at its
// beginning was read. What processes really hold is known here, so that every Forget and ReportLost can be judged.
//
// Not judged: refs that were received when their sender was dead already. Their holds may have been gone (`ghosts`);
// whoever wants such an object must still get an answer.
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
  struct Message {  // to the node
    Kind kind;
    ObjectId object;
    ProcessId holder = 0;          // kComplete
    std::vector<ObjectId> nested;  // kComplete
  };
  struct Answer {  // from the node
    ObjectId object;
    bool lost = false;
    std::vector<ObjectId> nested;
  };
  struct Frame {  // from process to process: a call or its result
    CallId call = 0;
    bool is_result = false;
    bool recorded = false;  // the result was completed at the node by who made it
    ObjectId result;
    std::vector<ObjectId> refs;  // arguments, or what the result contains
  };
  struct Ref {
    std::uint32_t count = 0;      // variables, arguments of calls, values made here that contain it
    std::uint32_t variables = 0;  // of these
    bool counted = false;         // the node was told that this process holds it
    bool owes_release = false;    // the node may count this process as holder
    bool wanted = false;
  };
  struct Call {  // of mine, or of somebody else that I work on
    ProcessId peer = 0;
    ObjectId result;
    std::vector<ObjectId> refs;
    std::uint32_t attempts = 0;
    bool escaped = false;  // the result was registered: others may wait for it whether we still do or not
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
    std::map<ObjectId, std::vector<ObjectId>> own_values;  // made here, not known to the node
    std::map<CallId, Call> calls;
    std::map<CallId, Call> work;
  };
  enum class Act : std::uint8_t { kRead, kRoundEnds, kAnswer, kFrame, kFinish, kPeerDied, kDo };
  struct Choice {
    Act act;
    ProcessId process = 0;
    std::uint64_t subject = 0;  // a process or a call
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
  std::map<ObjectId, std::vector<ObjectId>> contents_;  // of every value ever made: kept free of circles
  // The node.
  HolderTable table_;
  std::map<ProcessId, std::size_t> to_read_;  // in this round
  std::map<ObjectId, std::vector<ObjectId>> values_;
  std::set<ObjectId> ghosts_;
};

}  // namespace fray::object
