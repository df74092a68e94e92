// A node process, its fork servers and workers: leases, deaths and what is left behind.
#include <csignal>

#include <sys/socket.h>

#include "node/node_test_client.h"
#include "os/process/child_processes.h"
#include "os/process/pidfd.h"
#include "wire/process.h"

namespace fray::node {
namespace {

using wire::ControlType;

TEST(NodeWorkers, LeasedWorkerAnswersOnTheDirectSocket) {
  TestNode node;
  node.join();
  TestLease lease = lease_worker(node.client());
  lease.order('e');
  EXPECT_EQ(lease.answer<char>(), 'e');
  node.client().send_raw(wire::frame(ControlType::kReturnLease, lease.lease));
  while (node.client().status()["resources"]["free"]["CPU"] != 2.0) {
  }
}

TEST(NodeWorkers, KilledWorkerIsReportedWithFacts) {
  TestNode node;
  node.join();
  TestLease lease = lease_worker(node.client());
  lease.order('l');
  lease.answer<char>();
  lease.order('k');
  auto lost = node.client().expect<wire::WorkerLost>(ControlType::kWorkerLost);
  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->expected);
  EXPECT_EQ(lost->facts.signal, SIGKILL);
  EXPECT_EQ(lost->facts.pid, lease.pid);
  EXPECT_EQ(lost->facts.task, "test task");
  EXPECT_GT(lost->facts.peak_memory_bytes, 0u);
  EXPECT_NE(lost->facts.log_tail.find("second line"), std::string::npos) << lost->facts.log_tail;
  EXPECT_NE(lost->facts.log_tail.find("a complaint"), std::string::npos) << lost->facts.log_tail;
}

TEST(NodeWorkers, ExitCodeOfAWorkerIsReported) {
  TestNode node;
  node.join();
  TestLease lease = lease_worker(node.client());
  lease.order('x');
  auto lost = node.client().expect<wire::WorkerLost>(ControlType::kWorkerLost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->facts.signal, 0);
  EXPECT_EQ(lost->facts.exit_code, 7);
}

TEST(NodeWorkers, KillLeaseKillsTheWorkerAsExpected) {
  TestNode node;
  node.join();
  TestLease lease = lease_worker(node.client());
  node.client().send_raw(wire::frame(ControlType::kKillLease, lease.lease));
  auto lost = node.client().expect<wire::WorkerLost>(ControlType::kWorkerLost);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->expected);
  EXPECT_EQ(lost->facts.signal, SIGKILL);
}

TEST(NodeWorkers, WholeLinesReachTheDriver) {
  TestNode node;
  node.join();
  TestLease lease = lease_worker(node.client());
  lease.order('l');
  std::string standard_output;
  std::string standard_error;
  while (standard_output.size() < 23 || standard_error.size() < 12) {
    auto log = node.client().expect<wire::Log>(ControlType::kLog);
    ASSERT_TRUE(log);
    EXPECT_EQ(log->pid, lease.pid);
    (log->stream == 1 ? standard_output : standard_error) += log->text;
  }
  EXPECT_EQ(standard_output, "first line\nsecond line\n");
  EXPECT_EQ(standard_error, "a complaint\n");
}

TEST(NodeWorkers, OutputWithoutLineEndsIsCutAndWaitsForASlowDriver) {
  TestNode node;
  node.join();
  TestLease lease = lease_worker(node.client());
  lease.order('s');
  auto log = node.client().expect<wire::Log>(ControlType::kLog);
  ASSERT_TRUE(log);
  EXPECT_LE(log->text.size(), 2 * (64u << 10) + 1);
  TestClient other = node.connect();
  other.hello(wire::Role::kObserver);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(other.status()["clients"].size(), 1u);  // served while the flood waits
}

TEST(NodeWorkers, ChildrenAndOrphansOfADeadWorkerAreKilled) {
  TestNode node;
  node.join();
  TestLease lease = lease_worker(node.client());
  lease.order('c');
  os::Fd child = watch_process(lease.answer<pid_t>());
  lease.order('o');
  os::Fd orphan = watch_process(lease.answer<pid_t>());
  lease.order('k');
  EXPECT_TRUE(becomes_readable(child.get()));
  EXPECT_TRUE(becomes_readable(orphan.get()));
}

TEST(NodeWorkers, AnEmbeddedNodeHangsUpOnItsLastClientOnceNothingOfItIsLeft) {
  TestNode node;
  node.join();
  TestLease lease = lease_worker(node.client());
  os::Fd worker = watch_process(lease.pid);
  ::shutdown(node.client().fd(), SHUT_WR);
  EXPECT_TRUE(node.client().ends());
  EXPECT_TRUE(becomes_readable(worker.get(), std::chrono::milliseconds(0)));
  EXPECT_FALSE(std::filesystem::exists(node.session_folder()));
}

TEST(NodeWorkers, AnEmbeddedNodeHangsUpAtOnceOnAClientWhileAnotherIsThere) {
  TestNode node;
  node.join();
  TestClient second = node.connect();
  second.hello();
  ASSERT_TRUE(second.expect<wire::Welcome>(ControlType::kWelcome));
  TestLease lease = lease_worker(second);
  ::shutdown(node.client().fd(), SHUT_WR);
  EXPECT_TRUE(node.client().ends());
  lease.order('e');
  EXPECT_EQ(lease.answer<char>(), 'e');
}

TEST(NodeWorkers, OrphansOfALivingWorkerOutliveOtherWorkersAndEndWithItsGuardian) {
  TestNode node;
  node.join();
  TestLease first = lease_worker(node.client());
  first.order('o');
  os::Fd orphan = watch_process(first.answer<pid_t>());
  TestLease dying = lease_worker(node.client(), 1, 1);
  ASSERT_TRUE(dying.direct.is_open());
  dying.order('o');
  os::Fd other = watch_process(dying.answer<pid_t>());
  dying.order('k');
  ASSERT_TRUE(node.client().expect<wire::WorkerLost>(ControlType::kWorkerLost));
  EXPECT_TRUE(becomes_readable(other.get()));
  EXPECT_FALSE(os::has_ended(orphan));
  ASSERT_EQ(::kill(os::parent_of(first.pid), SIGKILL), 0);
  auto lost = node.client().expect<wire::WorkerLost>(ControlType::kWorkerLost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->facts.pid, first.pid);
  EXPECT_TRUE(becomes_readable(orphan.get()));
}

TEST(NodeWorkers, DeadForkServerTakesItsWorkersAlongAndTheNextDemandStartsAnother) {
  TestNode node;
  node.join();
  TestLease lease = lease_worker(node.client());
  lease.order('o');
  os::Fd orphan = watch_process(lease.answer<pid_t>());
  os::Fd worker = watch_process(lease.pid);
  const pid_t server = os::parent_of(os::parent_of(lease.pid));  // the worker's own parent is its guardian
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  auto lost = node.client().expect<wire::WorkerLost>(ControlType::kWorkerLost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->facts.signal, SIGKILL);
  EXPECT_TRUE(becomes_readable(worker.get()));
  EXPECT_TRUE(becomes_readable(orphan.get()));
  TestLease again = lease_worker(node.client());
  again.order('e');
  EXPECT_EQ(again.answer<char>(), 'e');
}

TEST(NodeWorkers, KeyWhoseForkServerFailsIsRefusedWithItsLastWords) {
  TestNode node;
  node.join();
  node.client().send(ControlType::kDefineKey, 0, test_key(0, "fail"));
  wire::Demand demand;
  demand.demand = 4;
  demand.count = 1;
  node.client().send(ControlType::kDemand, 0, demand);
  auto refused = node.client().expect<wire::DemandRefused>(ControlType::kDemandRefused);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->demand, 4u);
  EXPECT_EQ(refused->code, StatusCode::kRuntimeEnv);
  EXPECT_NE(refused->reason.find("cannot import what is needed"), std::string::npos) << refused->reason;
}

TEST(NodeWorkers, MissingInterpreterIsNamed) {
  TestNode node;
  node.join();
  wire::DefineKey key;
  key.description.command = {"/nowhere/python"};
  node.client().send(ControlType::kDefineKey, 0, key);
  wire::Demand demand;
  demand.count = 1;
  node.client().send(ControlType::kDemand, 0, demand);
  auto refused = node.client().expect<wire::DemandRefused>(ControlType::kDemandRefused);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->reason.find("/nowhere/python"), std::string::npos) << refused->reason;
}

// Runs in a process of its own: starts a node, leases a worker with children, tells the test the process numbers, and
// leaves behind a child that keeps the node's socket open.
void be_a_driver(int tell, const std::string& home) {
  TestNode node(R"({"cpus": 2})", home);
  node.join();
  TestLease lease = lease_worker(node.client());
  lease.order('c');
  pid_t child = lease.answer<pid_t>();
  lease.order('o');
  pid_t orphan = lease.answer<pid_t>();
  pid_t holder = ::fork();
  if (holder == 0) {
    while (true) ::pause();
  }
  pid_t told[] = {node.pid(), lease.pid, child, orphan, holder};
  if (::write(tell, told, sizeof(told)) != static_cast<ssize_t>(sizeof(told))) ::_exit(1);
  while (true) ::pause();
}

TEST(NodeWorkers, KilledDriverLeavesNothingBehind) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::string home = testing::TempDir() + "fray-driver-XXXXXX";
  ASSERT_NE(::mkdtemp(home.data()), nullptr);
  pid_t driver = ::fork();
  if (driver == 0) be_a_driver(ends[1], home);
  pid_t told[5] = {};
  ASSERT_TRUE(becomes_readable(ends[0]));
  ASSERT_EQ(::read(ends[0], told, sizeof(told)), static_cast<ssize_t>(sizeof(told)));
  std::vector<os::Fd> watched;
  for (int i = 0; i < 4; ++i) watched.push_back(watch_process(told[i]));
  ASSERT_EQ(::kill(driver, SIGKILL), 0);
  for (os::Fd& process : watched) EXPECT_TRUE(becomes_readable(process.get()));
  ::kill(told[4], SIGKILL);
  ::waitpid(driver, nullptr, 0);
  for (int end : ends) ::close(end);
  EXPECT_TRUE(std::filesystem::is_empty(home + "/run"));
  std::filesystem::remove_all(home);
}

TEST(NodeWorkers, KilledNodeLeavesNoProcessBehind) {
  TestNode node;
  node.join();
  TestLease lease = lease_worker(node.client());
  lease.order('o');
  os::Fd orphan = watch_process(lease.answer<pid_t>());
  os::Fd worker = watch_process(lease.pid);
  ASSERT_TRUE(os::send_signal(node.pidfd(), SIGKILL).is_ok());
  EXPECT_TRUE(node.client().ends());
  EXPECT_TRUE(becomes_readable(worker.get()));
  EXPECT_TRUE(becomes_readable(orphan.get()));
}

}  // namespace
}  // namespace fray::node
