// status_report(): the JSON document behind `fray status`: which tasks, actors and jobs run, and which wait, and for
// what.
//
// Threading:  the node's loop.
// Ownership:  reads the parts of the node, keeps nothing.
// Failure:    none. Values of environment variables are never part of it.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace fray {
class ResourceSet;
}

namespace fray::node {

class ActorCarrier;
class JobCarrier;
class LeaseCarrier;
class MemoryCarrier;
class ObjectCarrier;
class ReservationKeeper;
class Roster;
class WorkerProcesses;
class WorkerWatch;

struct StatusSources {
  std::string release;
  std::string session_folder;
  std::uint64_t started_ns = 0;
  const ResourceSet& total;
  std::uint32_t max_workers = 0;
  const Roster& roster;
  const WorkerProcesses& processes;
  const LeaseCarrier& leases;
  const ReservationKeeper& reservations;
  const ObjectCarrier& objects;
  const ActorCarrier& actors;
  const JobCarrier& jobs;
  const MemoryCarrier& memory;
  const WorkerWatch& watch;
};

nlohmann::json status_json(const StatusSources& sources);
// The text of the status document.
std::string status_report(const StatusSources& sources);

}  // namespace fray::node
