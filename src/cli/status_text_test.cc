#include "cli/status_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fray::cli {
namespace {

TEST(StatusText, SaysWhatRunsAndWhyTheRestWaits) {
  auto report = nlohmann::json::parse(R"({
    "node": {"pid": 7, "release": "0.1.0", "session_folder": "/run/x", "uptime_seconds": 90.0},
    "resources": {"total": {"CPU": 2.0, "memory": 1048576.0}, "free": {"CPU": 0.5, "memory": 1048576.0}},
    "clients": [{"pid": 3}],
    "workers": [{"pid": 9, "state": "running", "task": "count", "running_seconds": 1.5, "resources": {"CPU": 1.5}}],
    "waiting": [{"client": 1, "count": 2, "depth": 0, "resources": {"CPU": 1.0}, "reason": "waits for CPU 1"}],
    "objects": {"count": 4}, "store": {"used_bytes": 2048, "limit_bytes": 4096, "spilled_bytes": 0}})");
  std::string text = status_text(report);
  for (const char* part :
       {"node 0.1.0 (pid 7), up 2 min", "CPU  0.5 of 2 free", "memory  1.0 MiB of 1.0 MiB free",
        "store  2.0 KiB of 4.0 KiB used", "running", "count  1.5 s", "2 x CPU 1", "waits for CPU 1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

TEST(StatusText, SaysSinceWhenAWorkerIsStopped) {
  auto report = nlohmann::json::parse(
      R"({"workers": [{"pid": 9, "state": "stopped", "task": "count", "running_seconds": 9.5, "stopped_seconds": 4.5}]})");
  EXPECT_NE(status_text(report).find("pid 9        stopped   count  9.5 s  (for 4.5 s or longer)\n"), std::string::npos)
      << status_text(report);
}

TEST(StatusText, SaysWhatActorsAreAndWhyOneIsNotAlive) {
  auto report = nlohmann::json::parse(R"({"actors": [
    {"pid": 9, "state": "alive", "class": "Counter", "name": "total", "namespace": "jobs", "detached": true, "restarts": 2},
    {"state": "pending", "class": "Trainer", "reason": "waits for GPU 1"}]})");
  std::string text = status_text(report);
  for (const char* part : {"actors: 2", "alive     Counter \"total\" in jobs  detached  restarts 2\n",
                           "pending   Trainer: waits for GPU 1\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

TEST(StatusText, EmptyDocumentIsNoCrash) { EXPECT_FALSE(status_text(nlohmann::json::object()).empty()); }

}  // namespace
}  // namespace fray::cli
