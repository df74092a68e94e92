#include "node/jobs/job_folders.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/join.h"
#include "os/files/whole_file.h"
#include "supervisor/order.h"

namespace fray::node {

namespace {

namespace fs = std::filesystem;
using os::Durability;

std::uint32_t newest_attempt(const std::string& folder) {
  std::uint32_t newest = 0;
  while (::access(supervisor::attempt_folder(folder, newest + 1).c_str(), F_OK) == 0) ++newest;
  return newest;
}

std::string packed(const auto& environment) {
  std::string bytes;
  for (const auto& [name, value] : environment) bytes += name + "=" + value + '\0';
  return bytes;
}

}  // namespace

Status JobFolders::make(const JobSpec& spec, const job::JobRecord& accepted) {
  Status made = fill(spec, accepted);
  if (!made.is_ok() && made.code() != StatusCode::kAlreadyExists) remove(spec.id);
  return made;
}

Status JobFolders::fill(const JobSpec& spec, const job::JobRecord& accepted) {
  const std::string folder = path(spec.id);
  if (::mkdir(folder.c_str(), 0700) != 0) {
    if (errno == EEXIST) return Status(StatusCode::kAlreadyExists, "there is a folder " + folder + " already");
    return Status::io_error("cannot create " + folder, errno);
  }
  FRAY_RETURN_IF_ERROR(os::write_file(environment_path(spec.id), packed(spec.environment), Durability::kSynced));
  if (!spec.call.empty()) FRAY_RETURN_IF_ERROR(os::write_file(call_path(spec.id), spec.call, Durability::kSynced));
  FRAY_RETURN_IF_ERROR(os::write_file(folder + "/spec.json", accepted.json(), Durability::kSynced));
  FRAY_RETURN_IF_ERROR(os::sync_folder(folder));
  return os::sync_folder(root_);
}

Result<JobVariables> JobFolders::environment(const std::string& id) const {
  FRAY_ASSIGN_OR_RETURN(std::string bytes, os::read_file(environment_path(id)));
  JobVariables environment;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
    const std::size_t equals = bytes.find('=', at);
    if (equals < end)
      environment.emplace_back(bytes.substr(at, equals - at), bytes.substr(equals + 1, end - equals - 1));
    at = end + 1;
  }
  return environment;
}

Result<std::string> JobFolders::write_changed(const std::string& id, const JobVariables& environment) const {
  std::string path = environment_path(id) + ".changed";
  FRAY_RETURN_IF_ERROR(os::write_file(path, packed(environment), Durability::kNone));
  return path;
}

void JobFolders::keep_in_use(const std::string& id, const std::vector<std::string>& entries) const {
  // Best effort: without this file an entry may be pruned while an adopted job uses it.
  if (!entries.empty()) {
    (void)os::write_file(path(id) + "/in_use", fmt::format("{}\n", fmt::join(entries, "\n")), Durability::kNone)
        .is_ok();
  }
}

std::vector<std::string> JobFolders::in_use(const std::string& id) const {
  std::vector<std::string> entries;
  auto text = os::read_file(path(id) + "/in_use");
  std::istringstream lines(text.is_ok() ? *text : "");
  for (std::string line; std::getline(lines, line);) entries.push_back(line);
  return entries;
}

void JobFolders::keep_end(const job::JobRecord& record) {
  const std::string& id = record.spec.id;
  ::unlink(environment_path(id).c_str());
  ::unlink((environment_path(id) + ".changed").c_str());
  ::unlink(call_path(id).c_str());
  ::unlink((path(id) + "/in_use").c_str());
  // Best effort: the database has the record too.
  (void)os::write_file(path(id) + "/record.json", record.json(), Durability::kNone).is_ok();
}

void JobFolders::remove(const std::string& id) {
  std::error_code ignored;
  fs::remove_all(path(id), ignored);
}

// The folder of a job that runs, or waits for another attempt, is kept even if the records do not know the job.
void JobFolders::remove_unknown(const std::set<std::string>& known) {
  std::vector<std::string> unknown;
  std::error_code error;
  for (fs::directory_iterator entry(root_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string id = entry->path().filename().string();
    if (known.contains(id) || !is_job_id(id)) continue;
    const bool never_taken = newest_attempt(path(id)) == 0 && ::access(environment_path(id).c_str(), F_OK) == 0;
    const bool half_removed = ::access((path(id) + "/record.json").c_str(), F_OK) == 0;
    if (never_taken || half_removed) unknown.push_back(id);
  }
  for (const std::string& id : unknown) remove(id);
}

std::vector<job::JobRecord> JobFolders::read_all() const {
  std::vector<job::JobRecord> records;
  std::error_code error;
  for (fs::directory_iterator entry(root_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string folder = entry->path().string();
    auto text = os::read_file(folder + "/record.json");
    const bool has_ended = text.is_ok();
    if (!has_ended) text = os::read_file(folder + "/spec.json");
    if (!text.is_ok()) continue;
    auto record = job::JobRecord::parse(*text);
    if (!record.is_ok() || record->spec.id != entry->path().filename().string()) continue;
    if (!has_ended) {
      record->attempt = newest_attempt(folder);
      record->attempt_open = record->attempt > 0;
    }
    records.push_back(std::move(record).value());
  }
  return records;
}

}  // namespace fray::node
