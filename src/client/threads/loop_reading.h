// LoopReading: whether the backup thread reads at once what event loops wait for, as no thread of theirs reads, or in
// groups, once a tick. A part of WaitKernel (client/threads/wait_kernel.h).
//
// In groups they are read where loops wait for many objects, because a loop has enough to do meanwhile and would have to
// share its CPU; and while frames stream in that are for others, such as results that nobody waits for yet.
//
// Threading:  under the client's mutex.
// Ownership:  a value.
// Failure:    none. What it decides is how soon a loop hears of an answer, not whether it does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace fray::client {

class LoopReading {
 public:
  // More objects than these are read in groups. About where both ways are equally fast on two CPUs (decision 0030).
  static constexpr std::size_t kFewAwaited = 32;
  // Looks in a row that find frames for others, after which loops hear of theirs in groups.
  static constexpr int kMostLooksForOthers = 4;

  // Asks the backup thread to look, because a loop waits whose answer it would not hear. False: it was asked already.
  bool ask() { return !std::exchange(asked_, true); }
  // A loop was told of an object that it waits for.
  void note_told() { told_ = true; }
  // A thread leads: the backup thread would be woken by what that one reads.
  void note_leader() { follows_ = false; }

  void begin_look() { told_ = false; }
  // `read`: frames were read. `soon`: the look before was less than a tick ago. Returns whether ask() was called before.
  bool end_look(bool read, bool soon) {
    const bool asked = std::exchange(asked_, false);
    follows_ = asked || told_;
    if (told_ || !soon) looks_for_others_ = 0;
    if (read && !told_) looks_for_others_ = std::min(looks_for_others_ + 1, kMostLooksForOthers);
    return asked;
  }

  // Of loops that wait for so many objects.
  bool in_groups(std::size_t awaited) const {
    return awaited > kFewAwaited || looks_for_others_ == kMostLooksForOthers;
  }
  // Whether the backup thread sleeps on all sockets: for loops that wait for so many objects, or that did so just now and
  // will again as far as can be told. So it need not be asked for each of the calls that are awaited one after the other.
  bool at_once(std::size_t awaited) const { return (follows_ || awaited > 0) && !in_groups(awaited); }

 private:
  bool asked_ = false;        // since the last look
  bool told_ = false;         // during this look
  bool follows_ = false;      // the last look was for loops
  int looks_for_others_ = 0;  // in a row, each but the first within a tick of the one before
};

}  // namespace fray::client
