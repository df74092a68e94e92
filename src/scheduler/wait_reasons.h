// Wait reasons: why demands wait and how they go on, for `fray status` and for errors, and which of them waits in vain.
//
// Threading:  pure functions.
// Ownership:  none; a Demand* is one of the state's.
// Failure:    none.
#pragma once

#include "model/wait_reason.h"
#include "scheduler/lease_state.h"

namespace fray::scheduler {

WaitReason wait_reason(const LeaseState& state, const Demand& demand);
// Of the client's first demand; empty when it waits for nothing.
WaitReason why_waiting(const LeaseState& state, ProcessId client);

// When as far as the events tell no waiting demand can ever be met: the deepest of them, and of these the one that waits
// longest; else nullptr.
const Demand* deadlocked(const LeaseState& state);

}  // namespace fray::scheduler
