// ReclaimPolicy: which clients are asked to give leases back, so that waiting demands get theirs. Pure: state in,
// requests out.
//
// Order of service. A tree (a driver and the workers below it) that has nothing running goes first, the one that had
// nothing for longest at the front; then deeper demands, because tasks that are less deep may wait for them; then those
// of the higher priority; then the client with fewer running leases; then the demand that waits longer. A grant or a
// returned lease puts a demand behind its equals. (Dedicated demands for no resources take nothing from anybody; they
// are served before all others, in no order.)
//
// The priority of a demand is that of its shape, and a step for each whole second that it waited since it came or last got
// a lease, up to the highest that waits or runs (actors apart). So none waits for ever, and a backlog of a low priority,
// which is a demand that gets a lease now and then, does not count as high for good. A lease has the priority of its shape.
//
// A waiting demand d of client c may be given a lease of client v, when what is free or already asked back does not
// suffice and the lease has some of what is missing, if one of these holds:
//   own        v is c, and the lease's demand wants no more, or d has nothing running and is at least as deep;
//   tree       c's tree has nothing running, and v is in another one;
//   nothing    c has nothing running, and v has two, or d is at least as deep as the lease;
//   share      v has at least two more running than c;
//   urgent     d is at least as deep as the lease and its priority is higher; from another tree only what leaves it one;
//   depth      v waits for nothing, is in c's tree, and d is deeper than the lease (it may be kept idle).
// All but `tree` only if d is deeper than the lease or its priority is at least as high, and the last four only if v waits
// for nothing that would be served before d: it would be served first again. So a client that waits
// never gives its only lease to a less deep demand of its own tree, whoever floods gives back in time, two clients on
// two CPUs end with one lease each, and with one CPU they take turns. Those who have most are asked first. A demand
// whose missing amount cannot be gathered in this way asks nobody. Dedicated leases are never asked for; dedicated
// demands need resources only, no place.
//
// Threading:  pure functions.
// Ownership:  none.
// Failure:    none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/lease_state.h"

namespace fray::scheduler {

// The waiting demands, in the order of service. Left out are those that need no order (see above); those that the node
// could not cover before an actor ends, and those for whole devices of which actors hold shares: they must not keep
// anything from others for as long as that; and those whose workers cannot be started.
std::vector<Demand*> in_order_of_service(const LeaseState& state);

std::vector<ReclaimLeases> plan_reclaims(const LeaseState& state);

// When a waiting demand gains its next step of priority; none when all have what they can.
std::optional<Moment> next_gain(const LeaseState& state);

}  // namespace fray::scheduler
