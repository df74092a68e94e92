// status_report(): the JSON document behind `fray status`: which tasks, actors and jobs run, and which wait, and for
// what.
//
// Threading:  the node's loop.
// Ownership:  reads the parts of the node, keeps nothing.
// Failure:    none. Values of environment variables are never part of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

inline constexpr std::array<std::string_view, 7> kWorkerStates = {"starting", "idle",    "leased", "running",
                                                                  "blocked",  "stopped", "ending"};

nlohmann::json status_json(const StatusSources& sources);
// The parts of the document: sums, which cost little however many workers and actors there are, and lists.
std::array<std::size_t, kWorkerStates.size()> workers_by_state(const StatusSources& sources);
std::size_t living_actors(const StatusSources& sources);
nlohmann::json resources_json(const StatusSources& sources);
nlohmann::json worker_rows(const StatusSources& sources);
nlohmann::json waiting_rows(const LeaseCarrier& leases);
nlohmann::json actor_rows(const StatusSources& sources, bool only_waiting);  // of living actors
nlohmann::json job_rows(const JobCarrier& jobs);                             // of jobs that have not ended
// The text of the status document.
std::string status_report(const StatusSources& sources);

}  // namespace fray::node
