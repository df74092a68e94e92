// A whole engine in C++: clients with several threads, a node process, and workers that run TaskLoop. The threads race
// submit, wait, cancel, release and close with each other and with workers that die. Under TSan each process is looked at.
#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include "node/node_test_store.h"
#include "worker/test_calls.h"

namespace fray::worker {
namespace {

using client::Client;
using client::Object;
using client::WaitResult;

constexpr std::int32_t kAnyNumber = -1;

wire::WorkerKey worker_key() {
  wire::WorkerKey key;
  key.command = {node::beside_this_test("test_worker_main")};
  key.folder = "/";
  key.environment = node::sanitizer_options();
  return key;
}

struct Hooks : client::WaitHooks {};

// One driver of a node; every thread of a test uses it.
class Driver {
 public:
  explicit Driver(const node::TestNode& node) {
    client::ClientOptions options;
    options.control = os::connect_to(node.session_folder() + "/node.sock").value();
    options.key = worker_key();
    auto connected = Client::connect(std::move(options));
    EXPECT_TRUE(connected.is_ok()) << connected.status().message();
    client_ = std::move(connected).value();
  }

  Client& client() { return *client_; }
  // Null once the client is closed.
  Object* submit(client::Call call) {
    auto submitted = client_->tasks().submit(std::move(call));
    if (submitted.is_ok()) return submitted->front();
    EXPECT_TRUE(is_end(submitted.status().code())) << submitted.status().message();
    return nullptr;
  }
  // The node has gone, or the client was closed.
  static bool is_end(StatusCode code) { return code == StatusCode::kUnavailable || code == StatusCode::kClosed; }
  Object* echo(const std::string& text) {
    return submit(TestCall(echo_).cpus(1).retries(kAnyNumber).with(std::string_view(text)));
  }
  WaitResult wait_for(Object* object, client::Clock::duration time) {
    Hooks hooks;
    return client_->waits().wait({&object, 1}, 1, client::Clock::now() + time, hooks);
  }
  bool wait(Object* object) {
    WaitResult result = wait_for(object, node::kPatience);
    EXPECT_NE(result, WaitResult::kTimedOut) << "object " << object->id.sequence;
    return object->is_ready();
  }
  // The bytes of a value, or what it failed with: "closed" when the node has gone or the client was closed.
  std::string get(Object* object) {
    if (object == nullptr || !wait(object)) return "closed";
    if (object->encoding == wire::Encoding::kActorDied)
      return "actor died: " + wire::decode<wire::ActorDeath>(object->bytes)->text;
    if (object->encoding != wire::Encoding::kStatus) return object->bytes;
    auto code = static_cast<StatusCode>(object->bytes.front());
    return is_end(code) ? "closed" : failure(code);
  }
  static std::string failure(StatusCode code) { return "failed: " + std::string(to_string(code)); }
  std::string get_and_release(Object* object) {
    std::string found = get(object);
    if (object != nullptr) client_->objects().release(object);
    return found;
  }
  Object* call(const char* function, std::string_view argument, std::int32_t retries = kAnyNumber) {
    return submit(TestCall(test_function(function)).cpus(1).retries(retries).with(argument));
  }

  // Null once the client is closed.
  Object* make_actor(std::int32_t restarts, const std::string& name = "") {
    client::ActorRequest request;
    request.name_space = "test";
    request.class_name = "Counter";
    request.max_restarts = restarts;
    request.name = name;
    request.get_if_exists = !name.empty();
    request.constructor = TestCall(test_function("Counter")).with(std::string_view(""));
    Hooks hooks;
    auto made = client_->actors().create_actor(std::move(request), hooks);
    return made.is_ok() ? made->object : nullptr;
  }
  Object* call_actor(Object* actor, const char* method, std::string_view argument, std::int32_t retries = 0) {
    auto called =
        client_->actors().call_actor(actor, TestCall(test_function(method)).retries(retries).with(argument), -1);
    return called.is_ok() ? called->front() : nullptr;
  }
  void kill_actor(Object* actor, bool no_restart) {
    Hooks hooks;
    (void)client_->actors().kill_actor(actor, no_restart, hooks).is_ok();
  }

 private:
  std::unique_ptr<Client> client_;
  std::shared_ptr<client::Function> echo_ = test_function("echo");
};

void add_up_large_value(Driver& driver) {
  Object* large = driver.call("large", "300000");
  if (large == nullptr) return;
  Object* sum = driver.submit(TestCall(test_function("sum")).cpus(1).retries(kAnyNumber).with(large));
  driver.client().objects().release(large);
  std::string total = driver.get_and_release(sum);
  EXPECT_TRUE(total == std::to_string(300'000 * 'x') || total == "closed") << total;
}

void take_items(Driver& driver, std::size_t most) {
  TestCall count(test_function("count"));
  Object* stream = driver.submit(count.cpus(1).generator(16, static_cast<std::uint32_t>(most % 3)).with("30"));
  Hooks hooks;
  for (std::size_t i = 0; i < most && stream != nullptr; ++i) {
    Object* item = nullptr;
    auto deadline = client::Clock::now() + node::kPatience;
    if (driver.client().waits().next_item(stream, &item, deadline, hooks) != WaitResult::kDone || item == nullptr)
      break;
    EXPECT_EQ(item->bytes, std::to_string(i));
    driver.client().objects().release(item);
  }
  if (stream != nullptr) driver.client().objects().release(stream);
}

void cancel_somewhere(Driver& driver, const char* function, bool force) {
  Object* object = driver.call(function, "late", 0);
  if (object == nullptr) return;
  driver.client().tasks().cancel(object, force);
  std::string found = driver.get_and_release(object);
  // A cancel may come too late for echo; a neighbour's forced one, or a death, may hit the worker.
  EXPECT_TRUE(found == Driver::failure(StatusCode::kCancelled) || found == Driver::failure(StatusCode::kWorkerDied) ||
              found == "late" || found == "closed")
      << found;
}

void churn(Driver& driver, unsigned seed, int rounds, bool deaths) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds && driver.client().is_open(); ++round) {
    std::string text = std::to_string(seed) + "." + std::to_string(round);
    switch (random() % 10) {
      case 0:
        if (Object* dropped = driver.echo(text)) driver.client().objects().release(dropped);
        break;
      case 1:
        add_up_large_value(driver);
        break;
      case 2:
        take_items(driver, random() % 40);
        break;
      case 3:
        cancel_somewhere(driver, "echo", false);
        break;
      case 4:
        cancel_somewhere(driver, "hang", random() % 4 == 0);
        break;
      case 5:
        if (deaths && random() % 4 == 0) driver.get_and_release(driver.call("die", "", 0));
        break;
      case 6: {
        std::string found = driver.get_and_release(driver.call("nest", text));
        EXPECT_TRUE(found == text || found.empty() || found == "closed") << found;
        break;
      }
      default: {
        std::string found = driver.get_and_release(driver.echo(text));
        EXPECT_TRUE(found == text || found == "closed") << found;
      }
    }
  }
}

std::vector<std::thread> start_churning(Driver& driver, unsigned threads, int rounds, bool deaths) {
  std::vector<std::thread> started;
  for (unsigned seed = 1; seed <= threads; ++seed) {
    started.emplace_back([&driver, seed, rounds, deaths] { churn(driver, seed, rounds, deaths); });
  }
  return started;
}

void join(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) thread.join();
}

TEST(ClientProcess, ThreadsShareOneClient) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  auto threads = start_churning(driver, 4, 60, false);
  for (int i = 0; i < 10; ++i) {
    Hooks hooks;
    EXPECT_TRUE(driver.client().status(hooks).is_ok());
    (void)driver.client().timeline();
  }
  join(threads);
  driver.client().close();
  while (node.client().status()["resources"]["free"]["CPU"] != 2.0) {
  }
}

TEST(ClientProcess, ThreadsShareOneClientWhileWorkersDie) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  auto threads = start_churning(driver, 4, 60, true);
  join(threads);
  EXPECT_EQ(driver.get_and_release(driver.echo("still here")), "still here");
}

TEST(ClientProcess, ACallThatIsRefusedLetsGoOfItsArguments) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  Client& client = driver.client();
  Object* held = driver.echo("an argument");
  ASSERT_EQ(driver.get(held), "an argument");
  EXPECT_FALSE(client.tasks().submit(TestCall(test_function("sum")).cpus(1e6).with(held)).is_ok());
  EXPECT_EQ(held->references, 1u);
  Object* actor = driver.make_actor(0);
  ASSERT_NE(actor, nullptr);
  EXPECT_FALSE(client.actors().call_actor(actor, TestCall(test_function("echo")).with(held), 0).is_ok());
  EXPECT_EQ(held->references, 1u);
  client.close();
  EXPECT_EQ(driver.submit(TestCall(test_function("sum")).cpus(1).with(held)), nullptr);
  EXPECT_FALSE(client.actors().call_actor(actor, TestCall(test_function("echo")).with(held), -1).is_ok());
  EXPECT_EQ(held->references, 1u);
  client.objects().release(actor);
  client.objects().release(held);
}

// Closes the client when the waiting thread wakes up, before it looks at the answer that it got.
struct ClosingHooks : client::WaitHooks {
  explicit ClosingHooks(Client& those) : client(those) {}
  void after_sleep() override { client.close(); }
  Client& client;
};

TEST(ClientProcess, AnActorThatWasAnsweredAndNotMadeLetsGoOfItsArguments) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  Object* held = driver.echo("an argument");
  ASSERT_EQ(driver.get(held), "an argument");
  ClosingHooks hooks(driver.client());
  for (int i = 0; driver.client().is_open(); ++i) {  // an answer may come before the thread sleeps
    client::ActorRequest request;
    request.name_space = "test";
    request.class_name = "Counter";
    request.name = "counter " + std::to_string(i);
    request.constructor = TestCall(test_function("Counter")).with(held);
    auto made = driver.client().actors().create_actor(std::move(request), hooks);
    if (made.is_ok()) driver.client().objects().release(made->object);
  }
  EXPECT_EQ(held->references, 1u);
  driver.client().objects().release(held);
}

TEST(ClientProcess, CloseEndsEveryWaitingThread) {
  for (int round = 0; round < 3; ++round) {
    node::TestNode node;
    node.join();
    Driver driver(node);
    auto threads = start_churning(driver, 4, 1'000'000, false);
    for (int i = 0; i < 10; ++i) driver.get_and_release(driver.echo("x"));
    driver.client().close();
    join(threads);
    EXPECT_EQ(driver.echo("x"), nullptr);
  }
}

TEST(ClientProcess, KilledNodeEndsEveryWaitingThread) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  auto threads = start_churning(driver, 4, 1'000'000, true);
  for (int i = 0; i < 10; ++i) driver.get_and_release(driver.echo("x"));
  ASSERT_EQ(::kill(node.pid(), SIGKILL), 0);
  join(threads);
  EXPECT_NE(driver.client().why_closed().message().find("the node is gone"), std::string::npos);
}

TEST(ClientProcess, TwoDriversCompeteForTheSameCores) {
  node::TestNode node;
  node.join();
  Driver one(node);
  Driver other(node);
  auto threads = start_churning(one, 2, 40, true);
  auto others = start_churning(other, 2, 40, true);
  join(threads);
  join(others);
}

TEST(ClientProcess, ManyThreadsWaitForTheSameObject) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  for (int round = 0; round < 20; ++round) {
    Object* shared = driver.echo("for all");
    std::vector<std::thread> threads;
    std::atomic<int> found{0};
    for (int i = 0; i < 6; ++i) {
      client::retain(shared);
      threads.emplace_back([&] { found += driver.get_and_release(shared) == "for all"; });
    }
    driver.client().objects().release(shared);
    join(threads);
    EXPECT_EQ(found, 6);
  }
}

TEST(ClientProcess, EventLoopHearsOfObjectsThatOthersWaitFor) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  client::CompletionQueue queue;
  std::vector<Object*> objects;
  for (int i = 0; i < 200; ++i) objects.push_back(driver.echo(std::to_string(i)));
  std::thread waiter([&] {
    for (Object* object : objects) driver.wait(object);
  });
  for (Object* object : objects) driver.client().waits().listen(object, &queue);
  std::size_t heard = 0;
  while (heard < objects.size() && node::becomes_readable(queue.fd())) {
    heard += driver.client().waits().take_completed(&queue).size();
  }
  EXPECT_EQ(heard, objects.size());
  waiter.join();
  driver.client().waits().forget_listener(&queue, objects);
  for (Object* object : objects) driver.client().objects().release(object);
}

TEST(ClientProcess, TimeoutEndsATaskAndNotItsNeighbours) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  std::thread neighbour([&] { churn(driver, 7, 30, false); });
  for (int round = 0; round < 5; ++round) {
    TestCall late(test_function("hang"));
    EXPECT_EQ(driver.get_and_release(driver.submit(late.cpus(1).timeout(0.02).with(std::string_view("")))),
              Driver::failure(StatusCode::kTimedOut));
  }
  neighbour.join();
}

TEST(ClientProcess, LargeValuesOfOneDriverAreReadByItsWorkers) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  std::string bytes(500'000, '\2');
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        Hooks hooks;
        auto put =
            driver.client().values().put_large(wire::Encoding::kBytes, std::as_bytes(std::span(bytes)), {}, hooks);
        ASSERT_TRUE(put.is_ok()) << put.status().message();
        Object* sum = driver.submit(TestCall(test_function("sum")).cpus(1).retries(kAnyNumber).with(*put));
        driver.client().objects().release(*put);
        EXPECT_EQ(driver.get_and_release(sum), "1000000");
      }
    });
  }
  join(threads);
}

// It needs nothing that another task could give: what is in the way is spilled or not.
TEST(ClientProcess, WorkerThatWaitsForRoomInTheStoreKeepsItsCpu) {
  node::TestNode node(node::kSmallStore);
  wire::Welcome welcome = node.join();
  node::publish(node.client(), welcome, 1);
  Driver driver(node);
  Object* large = driver.call("large", "4000000");
  auto asked = node.client().expect<wire::SegmentName>(wire::ControlType::kEvict);
  ASSERT_TRUE(asked);
  Object* next = driver.echo("the only CPU is free again");
  EXPECT_EQ(driver.wait_for(next, std::chrono::milliseconds(300)), WaitResult::kTimedOut);
  EXPECT_EQ(node.client().status()["resources"]["free"].value("CPU", 0.0), 0);
  node.client().send(wire::ControlType::kEvicted, 0, wire::SegmentName{asked->segment, true});
  EXPECT_EQ(driver.get_and_release(next), "the only CPU is free again");
  ASSERT_TRUE(driver.wait(large));
  EXPECT_TRUE(large->sealed);
  driver.client().objects().release(large);
}

// ---- Actors

bool is_end_of_call(const std::string& found, const std::string& text) {
  return found == text || found.starts_with("actor died: ") || found == "closed" ||
         found == Driver::failure(StatusCode::kCancelled);
}

void use_own_actor(Driver& driver, std::mt19937& random) {
  Object* actor = driver.make_actor(0);
  if (actor == nullptr) return;
  Object* echo = driver.call_actor(actor, "echo", "own");
  Object* dropped = driver.call_actor(actor, random() % 2 == 0 ? "die" : "count", "");
  if (random() % 3 == 0) driver.kill_actor(actor, true);
  driver.client().objects().release(actor);  // calls that are under way keep it
  if (dropped != nullptr) driver.client().objects().release(dropped);
  std::string found = driver.get_and_release(echo);
  EXPECT_TRUE(is_end_of_call(found, "own")) << found;
}

void churn_actors(Driver& driver, Object* shared, unsigned seed, int rounds) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds && driver.client().is_open(); ++round) {
    std::string text = std::to_string(seed) + "." + std::to_string(round);
    switch (random() % 12) {
      case 0:
        use_own_actor(driver, random);
        break;
      case 1:
        driver.kill_actor(shared, false);
        break;
      case 2: {
        Object* late = driver.call_actor(shared, "echo", text);
        if (late == nullptr) break;
        driver.client().tasks().cancel(late, false);
        std::string found = driver.get_and_release(late);
        EXPECT_TRUE(is_end_of_call(found, text)) << found;
        break;
      }
      case 3:
        if (Object* named = driver.make_actor(0, "named")) {
          std::string found = driver.get_and_release(driver.call_actor(named, "echo", text));
          EXPECT_TRUE(is_end_of_call(found, text)) << found;
          if (random() % 2 == 0) driver.kill_actor(named, true);
          driver.client().objects().release(named);
        }
        break;
      case 4:
        if (Object* dropped = driver.call_actor(shared, "count", "")) driver.client().objects().release(dropped);
        break;
      default: {
        std::string found = driver.get_and_release(driver.call_actor(shared, "echo", text, kAnyNumber));
        EXPECT_TRUE(found == text || found == "closed") << found;
      }
    }
  }
}

std::vector<std::thread> start_churning_actors(Driver& driver, Object* shared, unsigned threads, int rounds) {
  std::vector<std::thread> started;
  for (unsigned seed = 1; seed <= threads; ++seed) {
    started.emplace_back([&driver, shared, seed, rounds] { churn_actors(driver, shared, seed, rounds); });
  }
  return started;
}

TEST(ClientProcess, CallsOfSeveralThreadsReachAnActorOneAtATimeAndInOrder) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  Object* actor = driver.make_actor(0);
  ASSERT_NE(actor, nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::vector<Object*> calls;
      for (int call = 0; call < 200; ++call) calls.push_back(driver.call_actor(actor, "count", ""));
      long last = -1;
      for (Object* call : calls) {
        long count = std::atol(driver.get_and_release(call).c_str());
        EXPECT_GT(count, last);
        last = count;
      }
    });
  }
  join(threads);
  EXPECT_EQ(driver.get_and_release(driver.call_actor(actor, "count", "")), "800");
  driver.client().objects().release(actor);
}

TEST(ClientProcess, ThreadsMakeCallKillAndDropActors) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  Object* shared = driver.make_actor(kAnyNumber);
  ASSERT_NE(shared, nullptr);
  auto threads = start_churning_actors(driver, shared, 4, 40);
  join(threads);
  EXPECT_EQ(driver.get_and_release(driver.call_actor(shared, "echo", "still here", kAnyNumber)), "still here");
  driver.client().objects().release(shared);
}

TEST(ClientProcess, CloseEndsEveryCallOfAnActor) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  Object* shared = driver.make_actor(kAnyNumber);
  ASSERT_NE(shared, nullptr);
  auto threads = start_churning_actors(driver, shared, 4, 1'000'000);
  for (int i = 0; i < 10; ++i) driver.get_and_release(driver.echo("x"));
  driver.client().close();
  join(threads);
  driver.client().objects().release(shared);
}

TEST(ClientProcess, KilledNodeEndsEveryCallOfAnActor) {
  node::TestNode node;
  node.join();
  Driver driver(node);
  Object* shared = driver.make_actor(kAnyNumber);
  ASSERT_NE(shared, nullptr);
  auto threads = start_churning_actors(driver, shared, 4, 1'000'000);
  for (int i = 0; i < 10; ++i) driver.get_and_release(driver.echo("x"));
  ASSERT_EQ(::kill(node.pid(), SIGKILL), 0);
  join(threads);
  driver.client().objects().release(shared);
}

}  // namespace
}  // namespace fray::worker
