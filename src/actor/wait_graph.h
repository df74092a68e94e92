// WaitGraph: finds the waits that can never end, among those that the node knows.
//
//   graph.add({worker, 1}, wait);
//   std::set<WaitKey> stuck = graph.stuck(worker_of);
//   for (const WaitStep& step : graph.circle(stuck, worker_of)) ...   // each waits for the next, the last for the first
//
// A wait ends when enough of the objects that it needs are ready. An object is never ready when the call that makes it
// is itself in a wait that can never end, or is to run in an actor all of whose places are taken by such calls. Any
// other object may become ready: one that a task computes, one of a call in an actor with a free place, one of which
// nothing is known. So the waits that can never end are the largest set in which each wait lacks an object that only
// others of the set could make (a greatest fixed point).
//
// A wait that a client tells is true at that moment, and may be over when the graph is searched. So such a set is only
// a suspicion. It is certain once each wait in it was told again, unchanged, after the last of them had been told: then
// there was a moment at which all of them existed together, and waits that only each other could end exist for ever.
//
// Threading:  confined to the node's loop (or a test).
// Ownership:  values only; refers to processes by number.
// Failure:    a wait for an object of which nothing is known counts as one that may end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/call_wait.h"

namespace fray::actor {

// One wait of one process.
struct WaitKey {
  ProcessId process = 0;
  std::uint64_t wait = 0;

  friend auto operator<=>(const WaitKey&, const WaitKey&) = default;
};

struct WaitStep {
  WaitKey key;
  std::string awaited;  // the name of what it waits for
};

class WaitGraph {
 public:
  // The process that runs an actor's calls; 0: none at present, or none is known.
  using WorkerOf = std::function<ProcessId(const ActorId&)>;

  // Takes the place of what was said of this wait before.
  void add(const WaitKey& key, CallWait wait);
  bool remove(const WaitKey& key);  // whether it was there
  bool remove_process(ProcessId process);
  const CallWait* find(const WaitKey& key) const;
  std::size_t size() const { return waits_.size(); }

  std::set<WaitKey> stuck(const WorkerOf& worker_of) const;
  // The circle that the youngest wait of `stuck` is in, or leads to. Not empty unless `stuck` is.
  std::vector<WaitStep> circle(const std::set<WaitKey>& stuck, const WorkerOf& worker_of) const;
  // Of the circle's waits, the one that was said last: it closed the circle.
  WaitKey youngest(const std::vector<WaitStep>& circle) const;

 private:
  struct Entry {
    CallWait wait;
    std::uint64_t order = 0;
  };
  // Some of the waits, by what others look for.
  struct Index {
    std::map<ObjectId, WaitKey> calls;
    std::map<ProcessId, std::vector<WaitKey>> processes;
  };

  Index index(const std::set<WaitKey>& keys) const;
  // The wait because of which this never comes; of an actor with all places taken, any of its calls. Null: it may come.
  const WaitKey* obstacle(const AwaitedCall& awaited, const Index& index, const WorkerOf& worker_of) const;

  std::map<WaitKey, Entry> waits_;
  std::uint64_t said_ = 0;
};

}  // namespace fray::actor
