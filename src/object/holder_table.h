// HolderTable: the node's record of registered objects: whether their value is known, and their holders.
//
//   table.process_joined(1);
//   table.registered(1, id);
//   table.completed(1, id, {});
//   table.released(1, id);
//   table.round_drained(); table.round_drained();
//   table.take_commands();                        // Forget{id}
//
// Additions (register, hold, complete) count at once; removals (release, process_left) only after a grace round, see
// round_drained(). So no acknowledgement is ever needed, in whatever order sockets are read.
//
// An object is held by processes and by registered objects that contain it. When the last holder is gone it is
// forgotten, the objects it contained lose a holder, and Forget names it (the node then drops bytes, descriptors,
// spilled files). Objects that contain each other in a circle are never forgotten. A value contains only refs that its
// maker had, so a circle needs a task that gets hold of the ref of its own result while it runs: through a global of
// its process or an actor.
//
// Threading:  confined to the node's loop (or a test).
// Ownership:  ids and flags only; the bytes of a value belong to the node's object store, keyed by the same id.
// Failure:    messages about unknown objects create an entry (they may overtake each other between sockets). It is lost
//             if a grace round later nobody has registered or completed it, or its owner is gone. Contradictions
//             (messages of processes that are gone, ids of another engine) are ignored and counted. Whoever wants an
//             object gets an answer: Deliver or ReportLost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "model/ids.h"
#include "object/holder_commands.h"
#include "object/process_set.h"
#include "object/removal_queue.h"

namespace fray::object {

class HolderTable {
 public:
  explicit HolderTable(std::uint32_t epoch) : epoch_(epoch) {}

  void process_joined(ProcessId process);
  // Call it when the process's socket has been read to its end. Its holds vanish; objects it owns that are still
  // pending become lost, unless they are completed before the grace round ends; what it wanted is forgotten.
  void process_left(ProcessId process);

  // The sender holds the object, and lets it escape for the first time. Idempotent: a process holds an object or not.
  void registered(ProcessId process, ObjectId object);
  // The sender holds an object that it got from another process, which registered it or held it before.
  void held(ProcessId process, ObjectId object);
  void released(ProcessId process, ObjectId object);
  // The value is known. `holder`, in whose name the maker speaks, holds the object, and the object holds `nested`. A
  // second completion of the same object, or one of a lost object, is dropped (a late attempt) and returns false: the
  // caller must then drop the bytes it came with. A release by `holder` that waits for its round is not undone by this.
  bool completed(ProcessId holder, ObjectId object, const std::vector<ObjectId>& nested);
  void wanted(ProcessId process, ObjectId object);

  // A round has ended in which everything was read that lay in any socket when the round began. Removals that were read
  // before that round began take effect. While has_removals(), the node makes further rounds without sleeping.
  void round_drained();
  bool has_removals() const { return !removals_.empty(); }

  std::vector<Command> take_commands();

  bool is_complete(ObjectId object) const;
  bool is_lost(ObjectId object) const;
  bool is_known(ObjectId object) const { return entries_.contains(object); }
  std::size_t size() const { return entries_.size(); }
  std::vector<ProcessId> holders(ObjectId object) const;   // ascending; processes only
  std::vector<ObjectId> held_by(ProcessId process) const;  // complete ones; a walk over all entries if there is any
  std::uint64_t contradictions() const { return contradictions_; }
  // One entry, for lists that people read.
  struct ObjectView {
    ObjectId id;
    bool complete = false;
    bool lost = false;
    std::uint32_t containers = 0;
    const ProcessSet& holders;
  };
  template <typename Visit>
  void visit(Visit visit) const {
    for (const auto& [id, entry] : entries_) {
      visit(ObjectView{id, entry.state == State::kComplete, entry.state == State::kLost, entry.containers,
                       entry.processes});
    }
  }

 private:
  enum class State : std::uint8_t { kPending, kComplete, kLost };
  struct Rare {  // members that few entries need
    std::vector<ObjectId> nested;
    std::vector<ProcessId> wanted_by;
  };
  struct Entry {
    ProcessSet processes;
    std::unique_ptr<Rare> rare;
    std::uint32_t containers = 0;  // complete objects that contain it, each as often as it does
    bool confirmed = false;        // registered or completed, not only mentioned
    State state = State::kPending;
    StatusCode lost_code = StatusCode::kOk;

    Rare& with_rare();
    bool held() const { return containers > 0 || !processes.empty(); }
  };
  struct Process {
    std::uint64_t holds = 0;
    std::uint64_t pending = 0;  // objects it owns that are in the table and pending
  };

  bool joined(ProcessId process) const { return processes_.contains(process); }
  // nullptr when the message is to be ignored.
  Entry* accept(ProcessId process, ObjectId object);
  Entry* hold(ProcessId process, ObjectId object);
  Entry& entry(ObjectId object);
  void add_holder(ProcessId process, Entry& entry);
  void leave_pending(ObjectId object, Entry& entry, State state);
  void lose(ObjectId object, Entry& entry, StatusCode code);
  void answer_wanting(ObjectId object, Entry& entry);
  void answer(ProcessId process, ObjectId object, const Entry& entry);
  void apply_release(const Hold& hold);
  void apply_departures(const std::vector<ProcessId>& departed);
  void depart_from(ObjectId object, Entry& entry, const std::vector<ProcessId>& departed);
  void apply_suspicion(ObjectId object);
  void collect();

  std::uint32_t epoch_;
  std::unordered_map<ObjectId, Entry> entries_;
  std::unordered_map<ProcessId, Process> processes_;  // joined
  std::unordered_map<ProcessId, Process> departed_;   // left, and their removals wait
  RemovalQueue removals_;
  std::vector<ObjectId> unheld_;  // may be forgotten, if still without a holder
  std::vector<Command> commands_;
  std::uint64_t contradictions_ = 0;
};

}  // namespace fray::object
