#include "wire/messages.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/enum_names.h"
#include "wire/direct.h"
#include "wire/failure.h"
#include "wire/function_payload.h"
#include "wire/message_test.h"

namespace fray::wire {
namespace {

// ---- How many members a struct has: as many as it can be made of.

struct Anything {
  template <typename T>
  operator T() const;  // NOLINT: it stands for anything
};

template <typename T, typename... Given>
constexpr std::size_t members_of() {
  if constexpr (requires { T{Given{}..., Anything{}}; }) {
    return members_of<T, Given..., Anything>();
  } else {
    return sizeof...(Given);
  }
}

template <ListsFields T>
std::size_t fields_of() {
  T value;
  std::size_t count = 0;
  T::visit(value, [&count](const char*, auto&) { ++count; });
  return count;
}

// ---- The page of the messages

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsPair : std::false_type {};
template <typename A, typename B>
struct IsPair<std::pair<A, B>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename K, typename V, typename L>
struct IsMap<std::map<K, V, L>> : std::true_type {};

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
    for (std::size_t done = 0; done < parts_.size(); ++done) text_ += parts_[done];  // a part may add another
    text_ +=
        "| ObjectId, ActorId | epoch: u32, owner: u32, sequence: u64 |\n"
        "| SegmentId | writer: u32, number: u32 |\n"
        "| Location | segment: SegmentId, offset: u64, size: u64 |\n"
        "| ResourceSet | map of name to amount: i64, in ten-thousandths |\n"
        "| Value | see [src/wire/value.h](../../src/wire/value.h) |\n";
    text_ += "\n## Enums\n\n| enum | values |\n| --- | --- |\n";
    for (const std::string& row : enums_) text_ += row;
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
                           enumerator_name<Entry::kType>().substr(1), message.id, fields_text<typename Entry::Body>(),
                           message.meaning);
    });
  }

  void add_direct() {
    text_ += "\n## Between a client and a worker that it leases\n\n| number | message | body |\n| --- | --- | --- |\n";
    auto row = [this](DirectType type, std::string_view name, const std::string& body) {
      text_ += fmt::format("| {} | {} | {} |\n", static_cast<int>(type), name, body);
    };
    row(DirectType::kTask, "Task", fields_text<TaskHead>() + "; the name; the arguments, as values");
    row(DirectType::kFunction, "Function", "kind: FunctionKind, max_calls: u32; what the kind says");
    row(DirectType::kCancel, "Cancel", "");
    row(DirectType::kRecall, "Recall", "");
    row(DirectType::kTaken, "Taken", "bytes: u64");
    row(DirectType::kForget, "Forget", "");
    row(DirectType::kResult, "Result", fields_text<ResultHead>() + "; the values");
    row(DirectType::kItem, "Item", "index: u32; the value");
    row(DirectType::kReturned, "Returned", fields_text<Returned>());
    row(DirectType::kUnblocked, "Unblocked", "");
    note_enum<FunctionKind>();
  }

  template <typename T>
  std::string fields_text() {
    if constexpr (!ListsFields<T>) {
      return fmt::format("see {}", name_of_type<T>());
    } else {
      std::string fields;
      T value;
      T::visit(value, [&](const char* name, const auto& field) {
        fields += fmt::format("{}{}: {}", fields.empty() ? "" : ", ", name,
                              type_text<std::remove_cvref_t<decltype(field)>>());
      });
      return fields;
    }
  }

  template <typename T>
  std::string type_text() {
    if constexpr (std::is_same_v<T, bool>) {
      return "bool";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return "text";
    } else if constexpr (std::is_enum_v<T>) {
      note_enum<T>();
      return std::string(name_of_type<T>());
    } else if constexpr (std::is_floating_point_v<T>) {
      return fmt::format("f{}", 8 * sizeof(T));
    } else if constexpr (std::is_arithmetic_v<T>) {
      return fmt::format("{}{}", std::is_signed_v<T> ? 'i' : 'u', 8 * sizeof(T));
    } else if constexpr (IsVector<T>::value) {
      return "list of " + type_text<typename T::value_type>();
    } else if constexpr (IsPair<T>::value) {
      return fmt::format("({}, {})", type_text<typename T::first_type>(), type_text<typename T::second_type>());
    } else if constexpr (IsMap<T>::value) {
      return fmt::format("map of {} to {}", type_text<typename T::key_type>(), type_text<typename T::mapped_type>());
    } else {
      if constexpr (ListsFields<T>) note_part<T>();
      return std::string(name_of_type<T>());
    }
  }

  template <typename T>
  void note_part() {
    if (!known_.emplace(name_of_type<T>()).second) return;
    parts_.push_back(fmt::format("| {} | {} |\n", name_of_type<T>(), fields_text<T>()));
  }

  template <typename T>
  void note_enum() {
    if (!known_.emplace(name_of_type<T>()).second) return;
    std::string values;
    for (const auto& [value, name] : enumerators<T>()) {
      values += fmt::format("{}{} {}", values.empty() ? "" : ", ", static_cast<int>(value), name.substr(1));
    }
    enums_.push_back(fmt::format("| {} | {} |\n", name_of_type<T>(), values));
  }

  std::string text_;
  std::set<std::string, std::less<>> known_;
  std::vector<std::string> parts_;
  std::vector<std::string> enums_;
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
    if constexpr (ListsFields<Body>) {
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
}

TEST(Messages, EachReadsBackAsWrittenAndNoPrefixOfItIsTakenForIt) {
  visit_messages([](const auto& message) {
    using Body = typename std::remove_cvref_t<decltype(message)>::Body;
    if constexpr (!std::is_same_v<Body, NoBody>) {
      EXPECT_EQ(encoded(round_trip(Body())), encoded(Body()));
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

TEST(Messages, PageSaysWhatTheListsSay) {
  const std::string path = std::string(FRAY_SOURCE_DIR) + "/docs/formats/messages.md";
  const std::string page = Page().text();
  if (std::getenv("FRAY_WRITE_PAGES") != nullptr) std::ofstream(path, std::ios::binary) << page;
  std::stringstream kept;
  kept << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(kept.str(), page) << "write it anew: FRAY_WRITE_PAGES=1 wire_test --gtest_filter='Messages.*'";
}

}  // namespace
}  // namespace fray::wire
