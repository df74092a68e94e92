// A whole Node in this process, with clients, fork servers and workers that are played by the input: they say anything,
// in any order, with any descriptors, stop reading, and leave. No process is started.
//
// After each input a new observer must still be served, and every descriptor must be closed.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/fuzz_script.h"
#include "node/node.h"
#include "os/sockets/socket_pair.h"
#include "wire/call_wait.h"
#include "wire/welcome.h"

namespace fray::node {
namespace {

using wire::ControlType;

constexpr pid_t kNobody = 0x3FFF'FFFF;  // a process number that the kernel never gives
constexpr std::chrono::milliseconds kNow{0};
constexpr std::uint32_t kProcesses = 8;
constexpr std::uint64_t kPage = 4096;

struct Peer {
  explicit Peer(os::Fd fd, ProcessId number = 0) : socket(std::move(fd)), process(number) {}

  void send(const std::string& frame, std::vector<os::Fd> fds = {}) {
    if (fds.empty()) {
      socket.queue(frame);
    } else {
      socket.queue(frame, std::move(fds));
    }
    if (!socket.flush().is_ok()) socket.close();
  }

  wire::FrameSocket socket;
  ProcessId process = 0;  // a worker's number, by its fork server
};

// Keeps the sockets of the fork servers that the node starts.
class FakeSpawner : public os::Spawner {
 public:
  explicit FakeSpawner(FuzzScript& script) : script_(script) {}

  Result<pid_t> spawn(const os::SpawnRequest& request) override {
    if (script_.rarely()) return Status(StatusCode::kIoError, "told to fail");
    os::Fd copy(::fcntl(request.fds.front().first, F_DUPFD_CLOEXEC, 0));
    FRAY_CHECK(copy.is_open(), "descriptors have run out");
    servers.push_back(std::make_unique<Peer>(std::move(copy)));
    return kNobody;
  }

  std::vector<std::unique_ptr<Peer>> servers;

 private:
  FuzzScript& script_;
};

os::Fd make_memory(FuzzScript& script, std::uint64_t bytes) {
  os::Fd fd(::memfd_create("fuzz-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return fd;
  if (!script.rarely()) ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
  return fd;
}

class World {
 public:
  explicit World(FuzzScript& script, const std::string& folder) : script_(script), spawner_(script) {
    loop_ = event::Loop::create().value();
    Node::Settings settings;
    settings.options = parse_options(R"({"cpus": 2, "max_workers": 4, "store_memory_bytes": 65536})").value();
    settings.options.session_folder = folder + "/session";
    settings.options.spill_folder = folder;
    settings.release = FRAY_VERSION;
    settings.spawner = &spawner_;
    auto made = Node::create(*loop_, std::move(settings));
    FRAY_CHECK(made.is_ok(), made.status().message().c_str());
    node_ = std::move(made).value();
  }

  void play() {
    constexpr int kMostSteps = 300;
    for (int step = 0; step < kMostSteps && !script_.is_over(); ++step) {
      act();
      if (script_.below(4) != 0) round();
    }
    for (int i = 0; i < 3; ++i) round();
    check_service();
  }

 private:
  void act() {
    switch (script_.below(8)) {
      case 0:
        return join();
      case 1:
        if (Peer* peer = any(clients_)) hello(*peer);
        return;
      case 2:
        if (Peer* peer = any(spawner_.servers)) answer_as_fork_server(*peer);
        return;
      case 3:
        if (Peer* peer = any(workers_)) say(*peer);
        return;
      case 4:
        return misbehave();
      default:
        if (Peer* peer = any(clients_)) say(*peer);
    }
  }

  void round() {
    loop_->run_once(kNow);
    for (auto& server : spawner_.servers) read(*server);
    for (auto& worker : workers_) read(*worker);
    for (auto& client : clients_) read(*client);
    collect_workers();
  }

  Peer* any(std::vector<std::unique_ptr<Peer>>& peers) {
    if (peers.empty()) return nullptr;
    return peers[script_.below(static_cast<std::uint32_t>(std::min<std::size_t>(peers.size(), 256)))].get();
  }

  void join() {
    if (clients_.size() >= 6) return;
    auto ends = os::make_socket_pair().value();
    if (!node_->adopt(std::move(ends.first)).is_ok()) return;
    clients_.push_back(std::make_unique<Peer>(std::move(ends.second)));
    if (!script_.rarely()) hello(*clients_.back());
  }

  void hello(Peer& peer) {
    wire::Hello message;
    message.role = static_cast<wire::Role>(peer.process != 0 ? 1 : script_.below(8) < 6 ? 0 : script_.below(4));
    message.process = peer.process != 0 ? peer.process : script_.below(kProcesses);
    message.pid = kNobody;
    message.release = script_.rarely() ? "another" : FRAY_VERSION;
    peer.send(wire::frame(ControlType::kHello, 0, message));
  }

  // ---- Fork servers

  void read(Peer& peer) {
    if (!peer.socket.is_open()) return;
    bool alive = peer.socket.fill().is_ok();
    wire::Incoming frame;
    while (true) {
      auto next = peer.socket.next(&frame);
      FRAY_CHECK(next.is_ok(), "the node breaks the format");
      if (!*next) break;
      auto type = static_cast<ControlType>(frame.header.type);
      if (type == ControlType::kSpawn) {
        FRAY_CHECK(frame.fds.size() == 5, "a worker is to be started without its descriptors");
        born_.push_back(std::make_unique<Peer>(std::move(frame.fds.front()), static_cast<ProcessId>(frame.header.id)));
      }
      if (type == ControlType::kWelcome) epoch_ = wire::decode<wire::Welcome>(frame.body)->session.epoch;
      if (type == ControlType::kStatusReply) ++status_replies_;
    }
    if (!alive) peer.socket.close();
  }

  void collect_workers() {
    for (auto& worker : born_) {
      if (!script_.rarely()) hello(*worker);
      workers_.push_back(std::move(worker));
    }
    born_.clear();
  }

  void answer_as_fork_server(Peer& server) {
    auto process = static_cast<ProcessId>(script_.below(kProcesses));
    switch (script_.below(5)) {
      case 0:
        return server.send(wire::frame(ControlType::kServerReady));
      case 1:
        return server.send(wire::frame(ControlType::kSpawned, process, wire::Spawned{kNobody, ""}));
      case 2:
        return server.send(wire::frame(ControlType::kSpawned, process, wire::Spawned{0, "told to fail"}));
      case 3:
        return server.send(wire::frame(ControlType::kExited, process, wire::Exited{kNobody, script_.byte(), 1}));
      default:
        if (script_.rarely()) return server.socket.close();
        std::vector<os::Fd> fds;
        fds.push_back(make_memory(script_, kPage));
        return server.send(wire::frame(ControlType::kSpawned, process, wire::Spawned{kNobody, ""}, 1), std::move(fds));
    }
  }

  // ---- What clients and workers say when they know the language

  ObjectId object() {
    return {script_.rarely() ? 1 : epoch_, static_cast<ProcessId>(script_.below(kProcesses)), script_.below(6)};
  }
  SegmentId segment() { return {static_cast<ProcessId>(script_.below(kProcesses)), script_.below(4)}; }

  wire::Value value() {
    wire::Value value;
    value.encoding = static_cast<wire::Encoding>(script_.below(12));
    if (script_.below(2) == 0) {
      value.bytes = script_.bytes(16);
    } else {
      value.kind = wire::ValueKind::kSealed;
      value.object = object();
      value.location = {segment(), kPage * script_.below(3), kPage * script_.below(4)};
    }
    for (std::uint32_t i = script_.below(8); i > 5; --i) value.nested.push_back(object());
    return value;
  }

  ResourceSet resources() {
    ResourceSet set;
    const char* name = script_.below(8) == 0 ? "TPU" : "CPU";
    if (!set.set(name, script_.below(6) / 2.0).is_ok()) return {};
    return set;
  }

  void say(Peer& peer) {
    switch (script_.below(6)) {
      case 0:
      case 1:
        return say_leases(peer);
      case 2:
      case 3:
        return say_objects(peer);
      case 4:
        return say_memory(peer);
      default:
        return say_words(peer);
    }
  }

  void say_leases(Peer& peer) {
    if (script_.below(3) == 0) {
      wire::DefineKey key;
      key.key = script_.below(3);
      key.prestart = script_.rarely() ? 200 : script_.below(3);
      key.description.command = {std::string(1, static_cast<char>('a' + script_.below(3)))};
      return peer.send(wire::frame(ControlType::kDefineKey, 0, key));
    }
    if (script_.below(3) == 0) {
      static constexpr std::array kEnds{ControlType::kReturnLease, ControlType::kKillLease, ControlType::kForgetKey,
                                        ControlType::kLeaseBroken};
      return peer.send(wire::frame(kEnds[script_.below(kEnds.size())], script_.below(8)));
    }
    wire::Demand demand;
    demand.demand = script_.below(3);
    demand.shape.key = script_.below(3);
    demand.shape.depth = script_.below(3);
    demand.count = script_.rarely() ? ~0u : script_.below(4);
    demand.shape.resources = resources();
    peer.send(wire::frame(ControlType::kDemand, 0, demand));
  }

  void say_objects(Peer& peer) {
    static constexpr std::array kTypes{ControlType::kRegister, ControlType::kHold, ControlType::kRelease,
                                       ControlType::kWant};
    if (script_.below(3) == 0) {
      wire::Complete message;
      message.object = object();
      message.holder = script_.below(kProcesses);
      message.value = value();
      return peer.send(wire::frame(ControlType::kComplete, 0, message));
    }
    wire::ObjectIds ids;
    ControlType type = kTypes[script_.below(4)];
    for (std::uint32_t i = script_.below(3); i < 3; ++i) ids.ids.push_back(object());
    peer.send(wire::frame(type, 0, ids));
  }

  void say_memory(Peer& peer) {
    switch (script_.below(7)) {
      case 0: {
        std::uint64_t bytes = kPage * script_.below(5);
        std::vector<os::Fd> fds;
        fds.push_back(make_memory(script_, bytes));
        return peer.send(wire::frame(ControlType::kAnnounceSegment, 0, wire::SegmentInfo{segment(), bytes, ""}, 1),
                         std::move(fds));
      }
      case 1:
        return peer.send(wire::frame(ControlType::kOpenSegment, 0, wire::SegmentName{segment(), true}));
      case 2:
        return peer.send(wire::frame(ControlType::kForgetSegment, 0, wire::SegmentName{segment(), true}));
      case 3:
        return peer.send(wire::frame(ControlType::kEvicted, 0, wire::SegmentName{segment(), script_.below(4) != 0}));
      case 4:
        return peer.send(wire::frame(ControlType::kUnreserve, 0, wire::Reserve{amount()}));
      default:
        return peer.send(wire::frame(ControlType::kReserve, script_.below(4), wire::Reserve{amount()}));
    }
  }
  std::uint64_t amount() { return script_.rarely() ? ~std::uint64_t{0} : kPage * script_.below(20); }

  void say_words(Peer& peer) {
    static constexpr std::array kTypes{
        ControlType::kBlocked,       ControlType::kUnblocked,  ControlType::kRetiring,  ControlType::kStatusRequest,
        ControlType::kMemoryYielded, ControlType::kHoldOutput, ControlType::kTakeOutput};
    const std::uint32_t choice = script_.below(kTypes.size() + 2);
    if (choice < kTypes.size()) return peer.send(wire::frame(kTypes[choice]));
    const std::uint32_t wait = script_.below(4);
    if (choice == kTypes.size()) return peer.send(wire::frame(ControlType::kCallWaitEnded, wait));
    peer.send(wire::frame(ControlType::kCallWaits, wait, call_waits()));
  }

  wire::CallWaits call_waits() {
    wire::CallWaits message;
    message.probe = script_.below(3);
    message.wait.call = object();
    message.wait.places = script_.below(3);
    message.wait.needed = script_.rarely() ? ~0u : script_.below(3);
    for (std::uint32_t i = script_.below(3); i > 0; --i) message.wait.awaited.push_back({object(), object(), "call"});
    return message;
  }

  // ---- And when they do not

  void misbehave() {
    auto& group = script_.below(3) == 0 ? spawner_.servers : script_.below(2) == 0 ? workers_ : clients_;
    Peer* peer = any(group);
    if (peer == nullptr) return;
    switch (script_.below(4)) {
      case 0:
        return peer->socket.close();
      case 1:
        return peer->send(std::string(script_.bytes(40)));
      default: {
        std::string body(script_.bytes(200));
        std::string frame = wire::frame(static_cast<ControlType>(script_.byte()), script_.below(8));
        auto length = static_cast<std::uint32_t>(body.size() + (script_.rarely() ? 1 : 0));
        std::memcpy(frame.data() + offsetof(wire::FrameHeader, length), &length, sizeof(length));
        std::vector<os::Fd> fds;
        if (script_.below(4) == 0) fds.push_back(make_memory(script_, kPage));
        frame[offsetof(wire::FrameHeader, fds)] = static_cast<char>(script_.rarely() ? 1 : fds.size());
        return peer->send(frame + body, std::move(fds));
      }
    }
  }

  void check_service() {
    auto ends = os::make_socket_pair().value();
    FRAY_CHECK(node_->adopt(std::move(ends.first)).is_ok(), "the node takes nobody any more");
    Peer observer(std::move(ends.second));
    wire::Hello message;
    message.role = wire::Role::kObserver;
    message.release = FRAY_VERSION;
    observer.send(wire::frame(ControlType::kHello, 0, message));
    observer.send(wire::frame(ControlType::kStatusRequest));
    int before = status_replies_;
    for (int i = 0; i < 3; ++i) {
      loop_->run_once(kNow);
      read(observer);
    }
    FRAY_CHECK(status_replies_ == before + 1, "the node does not answer any more");
  }

  FuzzScript& script_;
  FakeSpawner spawner_;
  std::unique_ptr<event::Loop> loop_;
  std::unique_ptr<Node> node_;
  std::vector<std::unique_ptr<Peer>> clients_;
  std::vector<std::unique_ptr<Peer>> workers_;
  std::vector<std::unique_ptr<Peer>> born_;
  std::uint32_t epoch_ = 0;
  int status_replies_ = 0;
};

// The lowest number that is free: the same before and after, unless a descriptor was left open.
int lowest_free_number() { return os::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get(); }

struct Folder {
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "fray-fuzz-XXXXXX";
    FRAY_CHECK(::mkdtemp(name.data()) != nullptr, "no folder for the session");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

}  // namespace
}  // namespace fray::node

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fray::node::Folder folder;
  const int before = fray::node::lowest_free_number();
  {
    fray::FuzzScript script(data, size);
    fray::node::World(script, folder.path).play();
  }
  FRAY_CHECK(fray::node::lowest_free_number() == before, "a descriptor was left open");
  return 0;
}
