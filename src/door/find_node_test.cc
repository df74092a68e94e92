#include "door/find_node.h"

#include "door/door_test_node.h"

namespace fray::door {
namespace {

class FindNodeTest : public HomeTest {
 protected:
  std::string own() const { return home_ + "/run/node"; }
  static std::string found(const std::optional<std::string>& address, Others others = Others::kTake) {
    Result<FoundNode> node = find_node(address, others);
    return node.is_ok() ? node->socket : std::string(to_string(node.status().code())) + ": " + node.status().message();
  }
};

TEST_F(FindNodeTest, WhatIsGivenCountsBeforeTheJobAndTheJobBeforeTheHome) {
  const os::Fd lock = settle(own());
  EXPECT_EQ(found({}), own() + kSocketName);
  ::setenv("FRAY_NODE", "/of/this/job.sock", 1);
  EXPECT_EQ(found({}), "/of/this/job.sock");
  EXPECT_EQ(found({}, Others::kLeave), "/of/this/job.sock");
  EXPECT_EQ(found("/given.sock"), "/given.sock");
  ::setenv("FRAY_NODE", "", 1);
  EXPECT_EQ(found({}), own() + kSocketName) << "an empty variable says nothing";
}

TEST_F(FindNodeTest, AnAddressIsASocketAFolderAHomeOrAuto) {
  write(socket_at(own()), "");
  for (const std::string& address : {std::string("auto"), home_, home_ + "/", own(), own() + kSocketName}) {
    EXPECT_EQ(found(address), own() + kSocketName) << address;
  }
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(home_);
  EXPECT_EQ(found("run/node"), own() + kSocketName);
  EXPECT_EQ(found("./run/../run/node/node.sock"), own() + kSocketName) << "whoever changes the folder keeps the node";
  std::filesystem::current_path(before);
}

TEST_F(FindNodeTest, AddressesThatCanBeNoneAreRefused) {
  for (const std::string& address : {std::string(), std::string("  "), std::string("a\0b", 3)}) {
    EXPECT_NE(found(address).find("invalid argument: address must be 'auto'"), std::string::npos) << found(address);
  }
}

TEST_F(FindNodeTest, AFolderWithoutANodeSaysWhereItLooked) {
  const std::string said = found(home_);
  EXPECT_NE(said.find("no node runs in the folder " + home_), std::string::npos) << said;
  EXPECT_NE(said.find("FRAY_HOME=" + home_ + " fray start"), std::string::npos) << said;
  EXPECT_NE(found("auto").find("no node of this home runs"), std::string::npos);
}

TEST_F(FindNodeTest, AHomeThatDependsOnTheFolderIsRefusedUnlessItIsNotAsked) {
  ::setenv("FRAY_HOME", "here", 1);
  for (const std::optional<std::string>& address : {std::optional<std::string>(), std::optional<std::string>("auto")}) {
    EXPECT_NE(found(address).find("must be an absolute path"), std::string::npos) << found(address);
  }
  EXPECT_EQ(found("/given.sock"), "/given.sock");
}

TEST_F(FindNodeTest, APlaceThatCannotBeLookedAtHasNoNode) {
  write(home_ + "/file", "");
  ::setenv("FRAY_HOME", (home_ + "/file").c_str(), 1);
  EXPECT_NE(found("auto").find("no node of this home runs"), std::string::npos) << found("auto");
  EXPECT_NE(found({}).find("no node of this user runs"), std::string::npos) << found({});
  ::setenv("FRAY_HOME", ("/" + std::string(5000, 'x')).c_str(), 1);
  EXPECT_NE(found("auto").find("at most 400 bytes, got 5001"), std::string::npos) << found("auto");
  EXPECT_EQ(find_node("/" + std::string(5000, 'x'), Others::kLeave).is_ok(), true) << "connecting tells what is wrong";
}

TEST_F(FindNodeTest, LeftoversOfADeadNodeAreNone) {
  { const os::Fd lock = settle(own()); }
  write(socket_at(own()), "");
  EXPECT_NE(found({}).find("no node of this user runs"), std::string::npos) << found({});
  EXPECT_NE(found({}, Others::kLeave).find("no node of this home runs"), std::string::npos);
}

TEST_F(FindNodeTest, WithoutOneOfThisHomeTheNewestIsTakenAndTheOthersAreNamed) {
  const os::Fd older = settle(home_ + "/run/00000001");
  timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(0, (home_ + "/run/00000001/node.json").c_str(), times, 0), 0);
  EXPECT_EQ(find_node({}, Others::kTake)->several.size(), 0u) << "of one there is nothing to choose";
  const os::Fd newer = settle(home_ + "/run/00000002");
  Result<FoundNode> node = find_node({}, Others::kTake);
  ASSERT_TRUE(node.is_ok());
  EXPECT_EQ(node->socket, home_ + "/run/00000002/node.sock");
  EXPECT_EQ(node->several.size(), 2u);
  EXPECT_FALSE(find_node({}, Others::kLeave).is_ok());
  const os::Fd started = settle(own());
  EXPECT_EQ(found({}), own() + kSocketName);
}

TEST_F(FindNodeTest, WhatNodesOfOtherReleasesWroteDownHarmsNobody) {
  const os::Fd lock = settle(own());
  for (const char* text : {R"({"pid": "many", "started_ticks": null, "release": 7})", "[]", "{", ""}) {
    write(own() + kInfoName, text);
    const std::string said = found({});
    EXPECT_TRUE(said == own() + kSocketName || said.find("no node of this user") != std::string::npos) << said;
    EXPECT_EQ(release_in(own()), "");
  }
}

TEST_F(FindNodeTest, ANodeThatStartsIsWaitedForAndOneThatDiesIsNot) {
  std::optional<os::Fd> lock = settle(own(), false);
  EXPECT_FALSE(find_session(own()));
  std::thread node([&] { write(own() + kInfoName, R"({"pid": 7})"); });
  std::optional<SessionInfo> session = await_session(own(), Patience::of(std::chrono::seconds(30)));
  node.join();
  ASSERT_TRUE(session);
  EXPECT_EQ(session->process.pid, 7);
  std::filesystem::remove(own() + kInfoName);
  std::thread dying([&] { lock.reset(); });
  EXPECT_FALSE(await_session(own(), Patience::of(std::chrono::seconds(30))));
  dying.join();
}

}  // namespace
}  // namespace fray::door
