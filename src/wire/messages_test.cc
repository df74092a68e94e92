#include "wire/messages.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/enum_names.h"
#include "wire/direct.h"
#include "wire/failure.h"
#include "wire/field_text_test.h"
#include "wire/function_payload.h"
#include "wire/message_test.h"

namespace fray::wire {
namespace {

// ---- The page of the messages

class Page {
 public:
  Page() {
    text_ =
        "# Messages\n\n"
        "Written from the lists of fields in `src/wire/` by `wire_test`; do not edit. "
        "`FRAY_WRITE_PAGES=1 build/dev/src/wire_test --gtest_filter='Messages.*'` writes it anew.\n\n"
        "A frame is a header of 16 bytes ([src/wire/frame.h](../../src/wire/frame.h)) and a body: the fields of one "
        "message, in this order, without anything between them. Numbers are little-endian. A bool and an enum have one "
        "byte; a text is a u32 and its bytes; a list is a u32 and its items; a map is a list of pairs. The header's "
        "`id` "
        "names what the message is about. Client and node are of one release, so there is one version of each "
        "message.\n";
    add_section("From clients and workers to the node", [](auto&& visit) { visit_messages_to_node(visit); });
    add_section("From the node to clients and workers", [](auto&& visit) { visit_messages_to_client(visit); });
    add_section("Between the node and its fork servers", [](auto&& visit) { visit_messages_of_fork_servers(visit); });
    add_direct();
    text_ += "\n## Parts\n\n| part | fields |\n| --- | --- |\n";
    text_ += fields_.parts() +
             "| ObjectId, ActorId | epoch: u32, owner: u32, sequence: u64 |\n"
             "| SegmentId | writer: u32, number: u32 |\n"
             "| Location | segment: SegmentId, offset: u64, size: u64 |\n"
             "| JsonObject | text: a JSON object, or nothing |\n"
             "| ResourceSet | map of name to amount: i64, in ten-thousandths |\n"
             "| Value | see [src/wire/value.h](../../src/wire/value.h) |\n";
    text_ += "\n## Enums\n\n| enum | values |\n| --- | --- |\n";
    text_ += fields_.enums();
  }

  const std::string& text() const { return text_; }

 private:
  template <typename Messages>
  void add_section(std::string_view title, Messages messages) {
    text_ += fmt::format("\n## {}\n\n| number | message | id | fields | meaning |\n| --- | --- | --- | --- | --- |\n",
                         title);
    messages([this](const auto& message) {
      using Entry = std::remove_cvref_t<decltype(message)>;
      text_ += fmt::format("| {} | {} | {} | {} | {} |\n", static_cast<int>(Entry::kType),
                           enumerator_name<Entry::kType>().substr(1), message.id, fields_.of<typename Entry::Body>(),
                           message.meaning);
    });
  }

  void add_direct() {
    text_ += "\n## Between a client and a worker that it leases\n\n| number | message | body |\n| --- | --- | --- |\n";
    auto row = [this](DirectType type, std::string_view name, const std::string& body) {
      text_ += fmt::format("| {} | {} | {} |\n", static_cast<int>(type), name, body);
    };
    row(DirectType::kTask, "Task", fields_.of<TaskHead>() + "; the name; the trace context; the arguments, as values");
    row(DirectType::kFunction, "Function", "kind: FunctionKind, max_calls: u32; what the kind says");
    row(DirectType::kCancel, "Cancel", "");
    row(DirectType::kRecall, "Recall", "");
    row(DirectType::kTaken, "Taken", "bytes: u64");
    row(DirectType::kForget, "Forget", "");
    row(DirectType::kResult, "Result", fields_.of<ResultHead>() + "; the values");
    row(DirectType::kItem, "Item", "index: u32; the value");
    row(DirectType::kReturned, "Returned", fields_.of<Returned>());
    row(DirectType::kUnblocked, "Unblocked", "");
    fields_.note_enum<FunctionKind>();
  }

  FieldText fields_;
  std::string text_;
};

TEST(Messages, EveryTypeIsListedOnce) {
  std::multiset<ControlType> listed;
  visit_messages([&](const auto& message) { listed.insert(message.kType); });
  std::size_t known = 0;
  for (const auto& [type, name] : enumerators<ControlType>()) {
    EXPECT_EQ(listed.count(type), 1u) << name;
    ++known;
  }
  EXPECT_EQ(listed.size(), known);
}

TEST(Messages, NoFieldIsMissingFromItsList) {
  visit_messages([](const auto& message) {
    using Body = typename std::remove_cvref_t<decltype(message)>::Body;
    if constexpr (!std::is_same_v<Body, SubmitJob>) {
      EXPECT_EQ(fields_of<Body>(), members_of<Body>()) << name_of_type<Body>();
    }
  });
  EXPECT_EQ(fields_of<Session>(), members_of<Session>());
  EXPECT_EQ(fields_of<WorkerKey>(), members_of<WorkerKey>());
  EXPECT_EQ(fields_of<ExitFacts>(), members_of<ExitFacts>());
  EXPECT_EQ(fields_of<WorkShape>(), members_of<WorkShape>());
  EXPECT_EQ(fields_of<CallWait>(), members_of<CallWait>());
  EXPECT_EQ(fields_of<AwaitedCall>(), members_of<AwaitedCall>());
  EXPECT_EQ(fields_of<ActorDeath>(), members_of<ActorDeath>());
  EXPECT_EQ(fields_of<Failure>(), members_of<Failure>());
  EXPECT_EQ(fields_of<Returned>(), members_of<Returned>());
  EXPECT_EQ(fields_of<JobInfo>(), members_of<JobInfo>());
  EXPECT_EQ(fields_of<ReplicaEnd>(), members_of<ReplicaEnd>());
  EXPECT_EQ(fields_of<LogCursor>(), members_of<LogCursor>());
  EXPECT_EQ(fields_of<LogPiece>(), members_of<LogPiece>());
}

// A submission is its spec, and beside it what no answer has.
TEST(Messages, SubmissionHasEachFieldOfItsSpecAndAnAnswerAllButTheSecretOnes) {
  const std::size_t secrets = fields_of<SubmitJob>() - 1;
  EXPECT_EQ(secrets, 2u);
  EXPECT_EQ(fields_of<JobSpec>() + secrets, members_of<JobSpec>());
}

TEST(Messages, EachReadsBackAsWrittenWhateverIsInItAndNoPrefixOfItIsTakenForIt) {
  visit_messages([](const auto& message) {
    using Body = typename std::remove_cvref_t<decltype(message)>::Body;
    if constexpr (!std::is_same_v<Body, NoBody>) {
      EXPECT_EQ(encoded(round_trip(Body())), encoded(Body()));
      for (std::uint32_t seed = 1; seed <= 5; ++seed) expect_any_reads_back<Body>(seed);
    }
  });
}

// The heads of tasks and results travel as they lie in memory: the lists must say the same.
template <typename Head>
void expect_list_is_memory() {
  Head head;
  const char* next = reinterpret_cast<const char*>(&head);
  Head::visit(head, [&](const char* name, const auto& field) {
    EXPECT_EQ(static_cast<const void*>(&field), static_cast<const void*>(next)) << name;
    next += sizeof(field);
  });
  EXPECT_EQ(next, reinterpret_cast<const char*>(&head + 1));
}

TEST(Messages, HeadsOfTasksAndResultsLieInMemoryAsTheirListsSay) {
  expect_list_is_memory<TaskHead>();
  expect_list_is_memory<ResultHead>();
}

TEST(Messages, NumberThatIsNoneOfItsEnumIsRefused) {
  Hello hello;
  std::string bytes = encoded(hello);
  bytes[0] = 3;
  EXPECT_EQ(decode<Hello>(bytes).status().message(), "a Hello message does not fit its format");
  std::string lost = encoded(ObjectLost{});
  lost[sizeof(ObjectId)] = 99;
  EXPECT_EQ(decode<ObjectLost>(lost).status().code(), StatusCode::kCorruption);
}

TEST(Messages, CountBeyondTheBytesTakesNoMemory) {
  std::string bytes(4, '\xff');
  EXPECT_FALSE(decode<ActorNames>(bytes).is_ok());
  EXPECT_FALSE(decode<BindDevices>(bytes + bytes).is_ok());
}

TEST(Messages, PageSaysWhatTheListsSay) { expect_page("messages.md", Page().text()); }

}  // namespace
}  // namespace fray::wire
