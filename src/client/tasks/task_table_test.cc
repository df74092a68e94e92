#include "client/tasks/task_table.h"

#include <algorithm>
#include <deque>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "client/leases/demand_window.h"
#include "client/objects/shared_memory.h"
#include "client/tasks/task_queue.h"
#include "model/work_shape.h"
#include "wire/demand.h"
#include "wire/lease.h"

namespace fray::client {
namespace {

using wire::ControlType;
using wire::DirectType;

os::Fd connect_to(wire::FrameSocket* other) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  *other = wire::FrameSocket(os::Fd(ends[1]));
  return os::Fd(ends[0]);
}

// A worker played by the test: what it was sent, and its answers.
struct FakeWorker {
  wire::FrameSocket socket;
  std::vector<std::uint64_t> tasks;
  wire::TaskHead last_head;
  int recalls = 0;
  int functions = 0;
  std::set<std::uint64_t> known;

  void read() {
    Status ignored = socket.fill();
    wire::Incoming frame;
    while (socket.next(&frame).value()) {
      switch (static_cast<DirectType>(frame.header.type)) {
        case DirectType::kTask:
          tasks.push_back(frame.header.id);
          last_head = wire::ByteReader(frame.body).get<wire::TaskHead>();
          break;
        case DirectType::kRecall:
          ++recalls;
          break;
        case DirectType::kFunction:
          ++functions;
          known.insert(frame.header.id);
          break;
        case DirectType::kForget:
          known.erase(frame.header.id);
          break;
        default:
          break;
      }
    }
  }
  void answer(std::uint64_t task, std::uint64_t duration_ns = 1000) {
    std::size_t begin = wire::begin_frame(socket.output(), DirectType::kResult, task);
    wire::ByteWriter out(socket.output());
    wire::ResultHead head;
    head.duration_ns = duration_ns;
    head.values = 1;
    out.put(head);
    wire::encode(out, wire::Value{});
    wire::finish_frame(socket.output(), begin);
    ASSERT_TRUE(socket.flush().is_ok());
  }
  void ask_for_retry(std::uint64_t task) {
    wire::ResultHead head;
    head.status = wire::TaskStatus::kRetry;
    wire::append_frame(socket.output(), DirectType::kResult, task,
                       std::string_view(reinterpret_cast<const char*>(&head), sizeof(head)));
    ASSERT_TRUE(socket.flush().is_ok());
  }
  void give_back(wire::ReturnReason reason, const std::vector<std::uint64_t>& returned) {
    wire::append_frame(socket.output(), DirectType::kReturned, 0, wire::encoded(wire::Returned{reason, returned}));
    ASSERT_TRUE(socket.flush().is_ok());
  }
};

class TaskTableTest : public ::testing::Test {
 protected:
  TaskTableTest() {
    objects_.set_identity(77, 1);
    memory_.set_process(1);
    table_.set_limits({2, 32, std::chrono::seconds(1)});
    function_->id = 5;
    function_->name = "f";
    function_->payload = std::make_shared<const std::string>("x");
    cpu_.set_units("CPU", ResourceSet::kUnitsPerOne);
  }
  ~TaskTableTest() override {
    table_.clear();
    ledger_.fail_all(StatusCode::kUnavailable, "end of the test");
    for (Object* result : results_) release(result);
  }

  Object* submit(std::int32_t retries = 0, std::uint16_t returns = 1) {
    auto* result = new Object;
    result->id = objects_.own_id(objects_.take_sequence(1));
    result->references = 2;
    auto* task = new Task;
    result->producer = task;
    task->function = function_;
    task->first_result = result;
    task->retries_left = retries;
    task->queue = table_.queue({.resources = cpu_, .key = key_}, depth_);
    for (std::uint16_t i = 1; i < returns; ++i) {
      auto* another = new Object;
      another->id = objects_.own_id(objects_.take_sequence(1));
      another->references = 2;
      another->producer = task;
      if (!task->extra) task->extra = std::make_unique<Task::Extra>();
      task->extra->more_results.push_back(another);
      results_.push_back(another);
    }
    task->returns = returns;
    wire::begin_frame(task->frame, DirectType::kTask, result->id.sequence);
    wire::ByteWriter(task->frame).put(wire::TaskHead{});
    results_.push_back(result);
    ledger_.submit(task);
    return result;
  }
  void release(Object* object) {
    if (object->references.fetch_sub(1) == 1) objects_.destroy(object);
  }

  // The last demand the node was told, and how many leases came back.
  void read_node() {
    link_.flush();
    Status ignored = node_.fill();
    wire::Incoming frame;
    while (node_.next(&frame).value()) {
      if (frame.header.type == static_cast<std::uint8_t>(ControlType::kDemand)) {
        const wire::Demand demand = wire::decode<wire::Demand>(frame.body).value();
        demand_ = demand.count;
        known_leases_ = demand.leases;
        ++demands_;
        demand.count > 0 ? told_.insert(demand.demand).second : told_.erase(demand.demand) > 0;
      }
      if (frame.header.type == static_cast<std::uint8_t>(ControlType::kForgetKey)) {
        forgotten_keys_.push_back(static_cast<std::uint32_t>(frame.header.id));
      }
      returned_leases_ += frame.header.type == static_cast<std::uint8_t>(ControlType::kReturnLease);
      kills_ += frame.header.type == static_cast<std::uint8_t>(ControlType::kKillLease);
      if (frame.header.type == static_cast<std::uint8_t>(ControlType::kLeaseBroken)) {
        broken_leases_.push_back(frame.header.id);
      }
    }
  }
  void grant(LeaseId id, FakeWorker* worker) {
    wire::Grant message;
    message.worker = static_cast<ProcessId>(id) + 100;
    table_.granted(id, message, connect_to(&worker->socket));
  }
  // A lease that has run one task.
  void grant_first(FakeWorker* worker) {
    submit();
    grant(1, worker);
    worker->read();
    worker->answer(worker->tasks.back());
    ledger_.receive(lease(0));
  }
  Lease* lease(std::size_t index) { return ledger_.leases()[index]; }
  wire::WorkerLost lost(std::uint64_t last_task) {
    wire::WorkerLost message;
    message.facts.signal = 9;
    message.facts.last_task = last_task;
    return message;
  }

  wire::FrameSocket node_;
  NodeLink link_{connect_to(&node_)};
  SharedMemory memory_{{[](std::uint64_t) { return Status::ok(); }, [](std::uint64_t) {}, [](SegmentId) {}}};
  ObjectTable objects_{link_, memory_};
  Timeline timeline_;
  std::vector<Object*> became_ready_;
  TaskLedger ledger_{link_, objects_, timeline_, [this](Object* object) { became_ready_.push_back(object); }};
  TaskTable table_{link_, ledger_};
  std::shared_ptr<Function> function_ = std::make_shared<Function>();
  ResourceSet cpu_;
  std::uint32_t key_ = 0;    // of what is submitted
  std::uint32_t depth_ = 0;  // of the same; above 0 a worker is sent tasks ahead from its first one on
  std::vector<Object*> results_;
  std::uint32_t demand_ = 0;
  std::uint32_t known_leases_ = 0;  // that the last demand told of
  int demands_ = 0;                 // messages
  std::set<std::uint32_t> told_;    // numbers of the demands that are not 0
  std::vector<std::uint32_t> forgotten_keys_;
  int returned_leases_ = 0;
  int kills_ = 0;
  std::vector<std::uint64_t> broken_leases_;
};

TEST_F(TaskTableTest, DemandGrowsWithTheQueueUpToTheCores) {
  submit();
  read_node();
  EXPECT_EQ(demand_, 1u);
  for (int i = 0; i < 10; ++i) submit();
  read_node();
  EXPECT_EQ(demand_, 2u);
}

TEST_F(TaskTableTest, DemandTellsOfTheLeasesThatItIsBesideAndIsNotRepeatedForEachGrant) {
  FakeWorker first;
  FakeWorker second;
  submit();
  submit();
  read_node();
  EXPECT_EQ(demand_, 2u);
  EXPECT_EQ(known_leases_, 0u);
  const int told = demands_;
  grant(1, &first);
  for (int i = 0; i < 2; ++i) submit();
  read_node();
  EXPECT_EQ(demands_, told) << "the node knows that one is left to grant";
  grant(2, &second);
  table_.worker_lost(1, lost(0));
  read_node();
  EXPECT_EQ(demand_, 1u);
  EXPECT_EQ(known_leases_, 1u);
}

TEST_F(TaskTableTest, TaskOfUnknownRunTimeIsNotQueuedBehindAnother) {
  FakeWorker worker;
  submit();
  submit();
  grant(1, &worker);
  worker.read();
  EXPECT_EQ(worker.tasks.size(), 1u);
}

// Their function was short so far, but the first task may run for long now, or wait for the next one by a file.
TEST_F(TaskTableTest, NothingIsQueuedBehindTheFirstTaskAfterARestWhileAnotherWorkerIsOnItsWay) {
  FakeWorker first, second;
  function_->mean_ns = 1000;
  Object* running = submit();
  Object* next = submit();
  grant(1, &first);
  ledger_.flush();
  first.read();
  EXPECT_EQ(first.tasks, std::vector{running->id.sequence});
  grant(2, &second);
  second.read();
  EXPECT_EQ(second.tasks, std::vector{next->id.sequence});
}

TEST_F(TaskTableTest, AfterARestAWorkerIsSentNoMoreThanWhatItIsWorthAskingForAnother) {
  FakeWorker worker;
  grant_first(&worker);
  const std::size_t before = worker.tasks.size();
  for (int i = 0; i < 40; ++i) submit();
  ledger_.flush();
  worker.read();
  EXPECT_EQ(worker.tasks.size(), before + kWorthSharing + 1);
  read_node();
  EXPECT_EQ(demand_, 1u);
}

TEST_F(TaskTableTest, WorkerThatHasAnsweredSinceItsRestIsSentTasksAhead) {
  FakeWorker worker;
  function_->mean_ns = 1000;
  for (int i = 0; i < 5; ++i) submit();
  grant(1, &worker);
  worker.read();
  ASSERT_EQ(worker.tasks.size(), 1u);
  worker.answer(worker.tasks[0]);
  ledger_.receive(lease(0));
  ledger_.flush();
  worker.read();
  EXPECT_EQ(worker.tasks.size(), 5u) << "the second worker may never come";
}

// Otherwise each pair of short calls would wake the node twice, and take a lease from another program.
TEST_F(TaskTableTest, AFewShortTasksAreQueuedBehindAnotherWithoutAWordToTheNode) {
  FakeWorker worker;
  grant_first(&worker);
  read_node();
  const int told = demands_;
  const std::size_t before = worker.tasks.size();
  for (int i = 0; i < 4; ++i) submit();
  ledger_.flush();
  read_node();
  worker.read();
  EXPECT_EQ(worker.tasks.size(), before + 4);
  EXPECT_EQ(demands_, told);
}

TEST_F(TaskTableTest, DemandOfATaskThatIsCancelledIsWithdrawn) {
  Object* result = submit();
  read_node();
  EXPECT_EQ(demand_, 1u);
  EXPECT_TRUE(ledger_.cancel(result, false));
  read_node();
  EXPECT_EQ(demand_, 0u);
}

TEST_F(TaskTableTest, OfTasksForManyKindsOfWorkersTheNodeIsToldOfSomeAtOnceAndOfAllInTurn) {
  constexpr std::uint32_t kKeys = 3 * DemandWindow::kMostTold;
  for (key_ = 0; key_ < kKeys; ++key_) {
    submit();
    submit();
  }
  std::set<std::uint32_t> served;
  std::vector<FakeWorker> workers(kKeys);
  LeaseId id = 0;
  while (served.size() < kKeys) {
    read_node();
    EXPECT_LE(told_.size(), DemandWindow::kMostTold);
    const auto next =
        std::find_if(told_.begin(), told_.end(), [&](std::uint32_t demand) { return !served.contains(demand); });
    ASSERT_NE(next, told_.end()) << served.size();
    served.insert(*next);
    wire::Grant message;
    message.demand = *next;
    table_.granted(id + 1, message, connect_to(&workers[id].socket));
    ++id;
  }
  for (FakeWorker& worker : workers) {
    worker.read();
    EXPECT_EQ(worker.tasks.size(), 1u);
  }
}

TEST_F(TaskTableTest, RetiredKeyIsForgottenWhenItsLastTaskAndLeaseAreGone) {
  key_ = 7;
  Object* running = submit();
  Object* waiting = submit();
  FakeWorker worker;
  grant(1, &worker);
  worker.read();
  table_.retire_key(7);
  EXPECT_TRUE(ledger_.cancel(waiting, false));
  worker.answer(running->id.sequence);
  ledger_.receive(lease(0));
  read_node();
  EXPECT_TRUE(forgotten_keys_.empty());
  table_.tick(Clock::now(), false);  // gives the idle lease back
  table_.tick(Clock::now(), false);
  read_node();
  EXPECT_EQ(forgotten_keys_, std::vector<std::uint32_t>{7});
}

TEST_F(TaskTableTest, TasksFailWhenNoDescriptorIsFreeForAWorkerForLong) {
  Object* first = submit();
  for (std::uint32_t i = 1; i < kMostTimesWithoutDescriptors; ++i) table_.granted(i, wire::Grant{}, os::Fd());
  EXPECT_FALSE(first->is_ready());
  table_.granted(kMostTimesWithoutDescriptors, wire::Grant{}, os::Fd());
  ASSERT_TRUE(first->failed());
  EXPECT_NE(first->bytes.find("ulimit -n"), std::string::npos);
  Object* later = submit();
  FakeWorker worker;
  grant(1000, &worker);
  worker.read();
  EXPECT_EQ(worker.tasks, std::vector{later->id.sequence});
  read_node();
  EXPECT_EQ(returned_leases_, static_cast<int>(kMostTimesWithoutDescriptors));
}

TEST_F(TaskTableTest, FunctionThatAWorkerHadToForgetIsSentAgainWithTheTaskThatNeedsIt) {
  FakeWorker worker;
  grant_first(&worker);
  lease(0)->functions = GivenFunctions(3 * wire::kFunctionOverheadBytes);
  for (std::uint64_t id : {5, 6, 7, 5, 8, 6}) {
    function_ = std::make_shared<Function>();
    function_->id = id;
    function_->payload = std::make_shared<const std::string>("x");
    submit();
    worker.read();
    EXPECT_TRUE(worker.known.contains(id));
    EXPECT_LE(worker.known.size(), 2u);
    worker.answer(worker.tasks.back());
    ledger_.receive(lease(0));
  }
}

// Whoever reads a ready object takes no lock: it must not change any more.
TEST_F(TaskTableTest, AnswerThatBreaksOffInItsSecondValueFailsEachResultOnce) {
  FakeWorker worker;
  Object* first = submit(0, 2);
  grant(1, &worker);
  worker.read();
  std::size_t begin = wire::begin_frame(worker.socket.output(), DirectType::kResult, worker.tasks.at(0));
  wire::ByteWriter out(worker.socket.output());
  wire::ResultHead head;
  head.values = 2;
  out.put(head);
  wire::encode(out, wire::Value{});
  out.put_raw("cut");
  wire::finish_frame(worker.socket.output(), begin);
  ASSERT_TRUE(worker.socket.flush().is_ok());
  ledger_.receive(lease(0));
  EXPECT_THAT(became_ready_, ::testing::UnorderedElementsAreArray(results_));
  EXPECT_TRUE(first->failed());
  EXPECT_TRUE(lease(0)->dead);
}

TEST_F(TaskTableTest, FunctionTravelsOnceForEachLease) {
  depth_ = 1;
  FakeWorker worker;
  function_->mean_ns = 1000;
  for (int i = 0; i < 5; ++i) submit();
  grant(1, &worker);
  ledger_.flush();
  worker.read();
  EXPECT_EQ(worker.functions, 1);
  EXPECT_EQ(worker.tasks.size(), 5u);
}

TEST_F(TaskTableTest, AWorkerThatAnswersIsSentSeveralShortTasksAlthoughManyOthersAreBusyWithLongOnes) {
  constexpr std::uint64_t kBusy = 20;
  std::deque<FakeWorker> busy(kBusy);
  for (std::uint64_t i = 0; i < kBusy; ++i) submit();
  for (std::uint64_t i = 0; i < kBusy; ++i) grant(i + 1, &busy[i]);
  function_ = std::make_shared<Function>(*function_);
  function_->id = 6;
  function_->mean_ns = 1000;
  for (int i = 0; i < 10; ++i) submit();
  FakeWorker worker;
  grant(kBusy + 1, &worker);
  ledger_.flush();
  worker.read();
  const std::vector<std::uint64_t> first = worker.tasks;
  ASSERT_FALSE(first.empty());
  for (std::uint64_t task : first) worker.answer(task);
  ledger_.receive(lease(kBusy));
  ledger_.flush();
  worker.read();
  EXPECT_EQ(worker.tasks.size(), 10u);
}

TEST_F(TaskTableTest, EverythingSubmittedAndNeverFetchedLeavesOnTicks) {
  FakeWorker worker;
  function_->mean_ns = 1000;
  for (int i = 0; i < 500; ++i) submit();
  grant(1, &worker);
  std::size_t answered = 0;
  for (int turn = 0; turn < 1000 && answered < 500; ++turn) {
    table_.tick(Clock::now(), false);
    worker.read();
    while (answered < worker.tasks.size()) worker.answer(worker.tasks[answered++]);
    ledger_.receive(lease(0));
  }
  EXPECT_EQ(answered, 500u);
  EXPECT_EQ(ledger_.unfinished(), 0u);
}

TEST_F(TaskTableTest, ReturnedTasksGoElsewhereExactlyOnce) {
  depth_ = 1;
  FakeWorker first, second;
  function_->mean_ns = 1'000'000;
  for (int i = 0; i < 4; ++i) submit();
  grant(1, &first);
  ledger_.flush();
  first.read();
  ASSERT_EQ(first.tasks.size(), 4u);
  first.give_back(wire::ReturnReason::kBlocked, {first.tasks[1], first.tasks[2], first.tasks[3]});
  ledger_.receive(lease(0));
  grant(2, &second);
  ledger_.flush();
  second.read();
  EXPECT_EQ(second.tasks, (std::vector<std::uint64_t>{first.tasks[1], first.tasks[2], first.tasks[3]}));
  submit();
  ledger_.flush();
  first.read();
  EXPECT_EQ(first.tasks.size(), 4u) << "a blocked worker is sent nothing";
}

TEST_F(TaskTableTest, OneTaskOf20MillisecondsIsSentAheadWhereAllWorkersAreThatThereCanBe) {
  FakeWorker first, second;
  function_->mean_ns = 20'000'000;
  for (int i = 0; i < 5; ++i) submit();
  grant(1, &first);
  ledger_.flush();
  first.read();
  EXPECT_EQ(first.tasks.size(), 1u) << "another worker may come and begin the second task at once";
  grant(2, &second);
  ledger_.flush();
  first.read();
  second.read();
  EXPECT_EQ(first.tasks.size() + second.tasks.size(), 4u);
  EXPECT_EQ(first.tasks.size(), 2u);
}

TEST_F(TaskTableTest, TaskOf100MillisecondsIsNotSentAhead) {
  FakeWorker first, second;
  function_->mean_ns = 100'000'000;
  for (int i = 0; i < 5; ++i) submit();
  grant(1, &first);
  grant(2, &second);
  ledger_.flush();
  first.read();
  EXPECT_EQ(first.tasks.size(), 1u);
}

TEST_F(TaskTableTest, TaskThatIsAskedBackEndsAsCancelledWhenItsWorkerReturnsIt) {
  depth_ = 1;
  FakeWorker worker;
  function_->mean_ns = 1'000'000;
  Object* running = submit();
  Object* behind = submit();
  grant(1, &worker);
  ledger_.flush();
  EXPECT_FALSE(table_.ask_back(running->producer));
  ASSERT_TRUE(table_.ask_back(behind->producer));
  worker.read();
  EXPECT_EQ(worker.recalls, 1);
  worker.give_back(wire::ReturnReason::kRecalled, {behind->id.sequence});
  ledger_.receive(lease(0));
  EXPECT_TRUE(behind->was_cancelled());
  EXPECT_FALSE(running->is_ready());
  EXPECT_FALSE(table_.take_found_begun());
}

TEST_F(TaskTableTest, TaskThatIsAskedBackAndHasBegunGoesOn) {
  depth_ = 1;
  FakeWorker worker;
  function_->mean_ns = 1'000'000;
  submit();
  Object* behind = submit();
  grant(1, &worker);
  ledger_.flush();
  ASSERT_TRUE(table_.ask_back(behind->producer));
  worker.give_back(wire::ReturnReason::kRecalled, {});
  ledger_.receive(lease(0));
  EXPECT_TRUE(table_.take_found_begun());
  EXPECT_FALSE(behind->producer->unwanted);
  worker.read();
  for (std::uint64_t task : worker.tasks) worker.answer(task);
  ledger_.receive(lease(0));
  EXPECT_TRUE(behind->is_ready());
  EXPECT_FALSE(behind->failed());
}

TEST_F(TaskTableTest, AnswerToAnEarlierRecallSaysNothingOfATaskThatIsAskedBackAfterIt) {
  depth_ = 1;
  FakeWorker worker;
  function_->mean_ns = 1'000'000;
  submit();
  submit();
  Object* last = submit();
  grant(1, &worker);
  ledger_.flush();
  ASSERT_TRUE(table_.ask_back(results_[1]->producer));
  ASSERT_TRUE(table_.ask_back(last->producer));
  worker.give_back(wire::ReturnReason::kRecalled, {});
  ledger_.receive(lease(0));
  EXPECT_TRUE(last->producer->unwanted);
  worker.give_back(wire::ReturnReason::kRecalled, {last->id.sequence});
  ledger_.receive(lease(0));
  EXPECT_TRUE(last->was_cancelled());
}

TEST_F(TaskTableTest, TaskThatIsAskedBackIsNotRunElsewhereWhenItsWorkerDies) {
  depth_ = 1;
  FakeWorker first, second;
  function_->mean_ns = 1'000'000;
  Object* started = submit(1);
  Object* behind = submit(1);
  grant(1, &first);
  ledger_.flush();
  ASSERT_TRUE(table_.ask_back(behind->producer));
  table_.worker_lost(1, lost(started->id.sequence));
  EXPECT_TRUE(behind->was_cancelled());
  grant(2, &second);
  ledger_.flush();
  second.read();
  EXPECT_EQ(second.tasks, std::vector{started->id.sequence});
}

TEST_F(TaskTableTest, TaskBehindASlowOneComesBackThoughAllWorkersAreBusyWithLaterTasks) {
  FakeWorker first, second;
  function_->mean_ns = 20'000'000;
  for (int i = 0; i < 8; ++i) submit();
  grant(1, &first);
  grant(2, &second);
  ledger_.flush();
  lease(0)->last_answer = Clock::now() - std::chrono::milliseconds(50);
  lease(0)->queue->order.place(lease(0));
  table_.tick(Clock::now(), false);
  first.read();
  EXPECT_EQ(first.recalls, 0);
  table_.tick(Clock::now() + std::chrono::milliseconds(60), false);
  first.read();
  ASSERT_EQ(first.recalls, 1);
  first.give_back(wire::ReturnReason::kRecalled, {first.tasks[1]});
  ledger_.receive(lease(0));
  second.read();
  second.answer(second.tasks[0], 20'000'000);
  ledger_.receive(lease(1));
  ledger_.flush();
  second.read();
  EXPECT_EQ(second.tasks.back(), first.tasks[1]) << "it is the first that another worker gets";
}

TEST_F(TaskTableTest, LostWorkerFailsWhatItStartedAndKeepsTheRest) {
  FakeWorker first, second;
  function_->mean_ns = 1000;
  Object* started = submit();
  Object* waiting = submit();
  grant(1, &first);
  ledger_.flush();
  table_.worker_lost(1, lost(started->id.sequence));
  EXPECT_TRUE(started->is_ready());
  EXPECT_TRUE(started->failed());
  EXPECT_EQ(static_cast<StatusCode>(started->bytes[0]), StatusCode::kWorkerDied);
  EXPECT_FALSE(waiting->is_ready());
  grant(2, &second);
  ledger_.flush();
  second.read();
  EXPECT_EQ(second.tasks, (std::vector<std::uint64_t>{waiting->id.sequence}));
}

TEST_F(TaskTableTest, ResultThatArrivedBeforeTheDeathCounts) {
  FakeWorker worker;
  Object* result = submit();
  grant(1, &worker);
  worker.read();
  worker.answer(worker.tasks[0]);
  worker.socket.close();
  table_.worker_lost(1, lost(result->id.sequence));
  EXPECT_TRUE(result->is_ready());
  EXPECT_FALSE(result->failed());
}

TEST_F(TaskTableTest, ResultThatArrivedBeforeATaskIsSentToAWorkerThatHasLeftCounts) {
  depth_ = 1;
  FakeWorker worker, second;
  function_->mean_ns = 1000;
  Object* result = submit();
  grant(1, &worker);
  worker.read();
  worker.answer(worker.tasks[0]);
  worker.socket.close();
  Object* later = submit();
  ledger_.flush();
  EXPECT_TRUE(lease(0)->dead);
  ASSERT_TRUE(result->is_ready());
  EXPECT_FALSE(result->failed());
  table_.worker_lost(1, lost(result->id.sequence));
  grant(2, &second);
  ledger_.flush();
  second.read();
  EXPECT_EQ(second.tasks, std::vector{later->id.sequence});
}

TEST_F(TaskTableTest, RetriesAreUsedUpOneByOne) {
  Object* result = submit(2);
  for (LeaseId id = 1; id <= 3; ++id) {
    ASSERT_FALSE(result->is_ready());
    FakeWorker worker;
    grant(id, &worker);
    table_.worker_lost(id, lost(result->id.sequence));
  }
  EXPECT_TRUE(result->failed());
}

TEST_F(TaskTableTest, ExceptionsAndLostWorkersUseUpTheSameRetries) {
  FakeWorker first, second;
  Object* result = submit(2);
  grant(1, &first);
  first.read();
  EXPECT_EQ(first.last_head.may_retry, 1);
  first.ask_for_retry(result->id.sequence);
  ledger_.receive(lease(0));
  ledger_.flush();
  first.read();
  EXPECT_EQ(first.tasks.size(), 2u) << "it is tried again at once";
  EXPECT_EQ(first.last_head.attempt, 1);
  table_.worker_lost(1, lost(result->id.sequence));
  grant(2, &second);
  second.read();
  EXPECT_EQ(second.last_head.attempt, 2);
  EXPECT_EQ(second.last_head.may_retry, 0);
  second.ask_for_retry(result->id.sequence);  // although it may not
  ledger_.receive(lease(0));
  EXPECT_TRUE(result->failed());
}

TEST_F(TaskTableTest, AWorkerKilledForItsMemoryIsToldApart) {
  FakeWorker worker;
  Object* result = submit();
  grant(1, &worker);
  wire::WorkerLost message = lost(result->id.sequence);
  message.facts.out_of_memory = "by the node: out of memory";
  table_.worker_lost(1, message);
  EXPECT_EQ(static_cast<StatusCode>(result->bytes[0]), StatusCode::kWorkerOutOfMemory);
  EXPECT_NE(result->bytes.find("(SIGKILL) by the node: out of memory"), std::string::npos) << result->bytes;
}

TEST_F(TaskTableTest, LateAnswerOfAnAttemptThatWasGivenUpIsDropped) {
  FakeWorker worker;
  Object* result = submit();
  grant(1, &worker);
  worker.read();
  worker.answer(999);
  ledger_.receive(lease(0));
  EXPECT_FALSE(result->is_ready());
}

TEST_F(TaskTableTest, BrokenAnswerFailsTheTaskAndEndsTheLease) {
  FakeWorker worker;
  Object* result = submit();
  grant(1, &worker);
  worker.read();
  wire::append_frame(worker.socket.output(), DirectType::kResult, worker.tasks[0], "short");
  ASSERT_TRUE(worker.socket.flush().is_ok());
  ledger_.receive(lease(0));
  EXPECT_TRUE(result->failed());
  EXPECT_TRUE(lease(0)->dead);
}

TEST_F(TaskTableTest, CancelledInTheQueueNeverLeaves) {
  FakeWorker worker;
  Object* result = submit();
  EXPECT_TRUE(ledger_.cancel(result, false));
  EXPECT_TRUE(result->failed());
  grant(1, &worker);
  worker.read();
  EXPECT_TRUE(worker.tasks.empty());
  EXPECT_FALSE(ledger_.cancel(result, false));
}

TEST_F(TaskTableTest, CancelledAmongManyInTheQueueLeaveTheOthersInTheirOrder) {
  depth_ = 1;
  constexpr std::size_t kCount = 400;
  std::vector<Object*> tasks;
  for (std::size_t i = 0; i < kCount; ++i) tasks.push_back(submit());
  for (std::size_t i = 0; i < kCount; ++i) {
    if (i % 5 != 2) {
      EXPECT_TRUE(ledger_.cancel(tasks[kCount - 1 - i], false));
    }
  }
  EXPECT_EQ(ledger_.unfinished(), kCount / 5);
  FakeWorker worker;
  function_->mean_ns = 1000;
  grant(1, &worker);
  ledger_.flush();
  worker.read();
  std::vector<std::uint64_t> kept;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (!tasks[i]->is_ready()) kept.push_back(tasks[i]->id.sequence);
  }
  EXPECT_EQ(worker.tasks, kept);
}

TEST_F(TaskTableTest, DemandDoesNotCountWhatWasCancelledInTheQueue) {
  std::vector<Object*> tasks;
  for (int i = 0; i < 20; ++i) tasks.push_back(submit());
  for (int i = 1; i < 20; ++i) ledger_.cancel(tasks[static_cast<std::size_t>(i)], false);
  FakeWorker worker;
  grant(1, &worker);
  read_node();
  EXPECT_EQ(demand_, 0u);
  worker.read();
  EXPECT_EQ(worker.tasks, (std::vector<std::uint64_t>{tasks[0]->id.sequence}));
}

// The worker had given the task back before the word of its end arrived.
TEST_F(TaskTableTest, CancelThatMeetsTheTaskOnItsWayBackCounts) {
  depth_ = 1;
  FakeWorker first, second;
  function_->mean_ns = 1'000'000;
  Object* running = submit();
  Object* returned = submit();
  grant(1, &first);
  ledger_.flush();
  first.read();
  ASSERT_EQ(first.tasks.size(), 2u);
  EXPECT_TRUE(ledger_.cancel(returned, false));
  first.give_back(wire::ReturnReason::kBlocked, {first.tasks[1]});
  ledger_.receive(lease(0));
  grant(2, &second);
  ledger_.flush();
  second.read();
  EXPECT_TRUE(second.tasks.empty());
  ASSERT_TRUE(returned->is_ready());
  EXPECT_EQ(static_cast<StatusCode>(returned->bytes[0]), StatusCode::kCancelled);
  EXPECT_FALSE(running->is_ready());
}

TEST_F(TaskTableTest, WorkerWhoseSocketEndsIsReportedAndItsTasksEndWithIt) {
  FakeWorker worker, second;
  function_->mean_ns = 1000;
  Object* started = submit();
  Object* waiting = submit();
  grant(1, &worker);
  ledger_.flush();
  worker.socket.close();
  ledger_.receive(lease(0));
  read_node();
  EXPECT_EQ(broken_leases_, (std::vector<std::uint64_t>{1}));
  EXPECT_FALSE(started->is_ready()) << "the node says how it ended";
  table_.worker_lost(1, lost(started->id.sequence));
  EXPECT_TRUE(started->failed());
  grant(2, &second);
  ledger_.flush();
  second.read();
  EXPECT_EQ(second.tasks, (std::vector<std::uint64_t>{waiting->id.sequence}));
}

TEST_F(TaskTableTest, MoreThanAMessageMayCarryIsRefusedWithItsAmounts) {
  ledger_.set_most_body_bytes(1000);
  Task small;
  small.function = function_;
  EXPECT_TRUE(ledger_.check_size(small).is_ok());
  Task large;
  large.function = function_;
  large.frame = std::string(1500, 'x');
  Status refused = ledger_.check_size(large);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), ::testing::AllOf(::testing::HasSubstr("1.5 KiB"), ::testing::HasSubstr("1000 B")));
  function_->payload = std::make_shared<const std::string>(3000, 'x');
  EXPECT_THAT(ledger_.check_size(small).message(), ::testing::HasSubstr("2.9 KiB"));
}

TEST_F(TaskTableTest, ForceKillsTheWorkerOfARunningTaskOnly) {
  FakeWorker worker;
  function_->mean_ns = 1000;
  Object* running = submit();
  Object* behind = submit();
  grant(1, &worker);
  ledger_.flush();
  ledger_.cancel(behind, true);
  read_node();
  EXPECT_EQ(kills_, 0);
  ledger_.cancel(running, true);
  read_node();
  EXPECT_EQ(kills_, 1);
}

TEST_F(TaskTableTest, ReclaimTakesIdleLeasesAtOnceAndBusyOnesWhenDone) {
  FakeWorker first, second;
  submit();
  submit();
  grant(1, &first);
  grant(2, &second);
  first.read();
  first.answer(first.tasks[0]);
  ledger_.receive(lease(0));
  table_.reclaim(0, 2);
  read_node();
  EXPECT_EQ(returned_leases_, 1);
  second.read();
  second.answer(second.tasks[0]);
  ledger_.receive(lease(0));
  read_node();
  EXPECT_EQ(returned_leases_, 2);
  EXPECT_TRUE(ledger_.leases().empty());
}

TEST_F(TaskTableTest, IdleWorkerMakesTheOtherGiveUpWhatItHasNotStarted) {
  depth_ = 1;
  FakeWorker busy, idle;
  function_->mean_ns = 1000;
  for (int i = 0; i < 20; ++i) submit();
  grant(1, &busy);
  ledger_.flush();
  grant(2, &idle);
  busy.read();
  EXPECT_EQ(busy.recalls, 1);
}

TEST_F(TaskTableTest, RefusedDemandFailsItsQueuedTasks) {
  Object* result = submit();
  table_.refused(0, StatusCode::kDeadlock, "nobody can run");
  EXPECT_TRUE(result->failed());
  EXPECT_EQ(static_cast<StatusCode>(result->bytes[0]), StatusCode::kDeadlock);
}

}  // namespace
}  // namespace fray::client
