#include "wire/job.h"

#include <type_traits>

#include "wire/decoded.h"
#include "wire/resources.h"

namespace fray::wire {

namespace {

// Writes and reads the fields of a JobSpec and a JobInfo, by type, in the order in which they are visited.
struct FieldWriter {
  ByteWriter& out;

  void operator()(const JobField&, const auto& value) const { put(value); }
  void operator()(const char*, const auto& value) const { put(value); }
  void operator()(const auto& value) const { put(value); }

  void put(const std::string& text) const { out.put_string(text); }
  void put(const ResourceSet& resources) const { wire::encode(out, resources); }
  void put(const ReplicaEnd& end) const { ReplicaEnd::visit(end, *this); }
  template <typename Item>
  void put(const std::vector<Item>& items) const {
    out.put(static_cast<std::uint32_t>(items.size()));
    for (const Item& item : items) put(item);
  }
  void put(const Texts& texts) const {
    out.put(static_cast<std::uint32_t>(texts.size()));
    for (const auto& [name, text] : texts) put(name), put(text);
  }
  template <typename Plain>
    requires std::is_arithmetic_v<Plain> || std::is_enum_v<Plain>
  void put(Plain value) const {
    out.put(value);
  }
};

struct FieldReader {
  ByteReader& in;

  void operator()(const JobField&, auto& value) const { get(value); }
  void operator()(const char*, auto& value) const { get(value); }
  void operator()(auto& value) const { get(value); }

  void get(std::string& text) const { text = in.get_string(); }
  void get(JsonObject& text) const { get(static_cast<std::string&>(text)); }
  void get(ResourceSet& resources) const { wire::decode(in, resources); }
  void get(ReplicaEnd& end) const { ReplicaEnd::visit(end, *this); }
  template <typename Item>
  void get(std::vector<Item>& items) const {
    items.resize(in.get_count(sizeof(std::uint32_t)));
    for (Item& item : items) get(item);
  }
  void get(Texts& texts) const {
    for (auto left = in.get_count(2 * sizeof(std::uint32_t)); left > 0; --left) {
      std::string name(in.get_string());
      get(texts[std::move(name)]);
    }
  }
  void get(bool& flag) const { flag = in.get<std::uint8_t>() != 0; }
  void get(JobState& state) const { get_up_to(state, JobState::kStopped); }
  void get(JobPhase& phase) const { get_up_to(phase, JobPhase::kEnded); }
  template <typename Number>
    requires std::is_arithmetic_v<Number>
  void get(Number& number) const {
    number = in.get<Number>();
  }
  template <typename Enum>
  void get_up_to(Enum& value, Enum last) const {
    const auto number = in.get<std::uint8_t>();
    if (number > static_cast<std::uint8_t>(last)) return in.fail();
    value = static_cast<Enum>(number);
  }
};

void put_strings(ByteWriter& out, const std::vector<std::string>& texts) { FieldWriter{out}.put(texts); }

std::vector<std::string> get_strings(ByteReader& in) {
  std::vector<std::string> texts;
  FieldReader{in}.get(texts);
  return texts;
}

void put_flag(ByteWriter& out, bool flag) { out.put(static_cast<std::uint8_t>(flag)); }
bool get_flag(ByteReader& in) { return in.get<std::uint8_t>() != 0; }

constexpr std::size_t kFewestJobBytes = 64;
constexpr std::size_t kCursorSize = sizeof(std::uint32_t) + sizeof(std::uint8_t) + sizeof(std::uint64_t);

void put_cursor(ByteWriter& out, const LogCursor& cursor) {
  out.put(cursor.replica);
  out.put(cursor.stream);
  out.put(cursor.offset);
}

LogCursor get_cursor(ByteReader& in) {
  LogCursor cursor;
  cursor.replica = in.get<std::uint32_t>();
  cursor.stream = in.get<std::uint8_t>();
  cursor.offset = in.get<std::uint64_t>();
  return cursor;
}

void put_cursors(ByteWriter& out, const std::vector<LogCursor>& cursors) {
  out.put(static_cast<std::uint32_t>(cursors.size()));
  for (const LogCursor& cursor : cursors) put_cursor(out, cursor);
}

std::vector<LogCursor> get_cursors(ByteReader& in) {
  std::vector<LogCursor> cursors(in.get_count(kCursorSize));
  for (LogCursor& cursor : cursors) cursor = get_cursor(in);
  return cursors;
}

}  // namespace

void SubmitJob::encode(ByteWriter& out) const {
  JobSpec::visit(spec, FieldWriter{out});
  JobSpec::visit_secrets(spec, FieldWriter{out});
}

Result<SubmitJob> SubmitJob::decode(std::string_view body) {
  ByteReader in(body);
  SubmitJob message;
  JobSpec::visit(message.spec, FieldReader{in});
  JobSpec::visit_secrets(message.spec, FieldReader{in});
  return decoded(in, std::move(message), "SubmitJob");
}

void JobNames::encode(ByteWriter& out) const { put_strings(out, ids); }

Result<JobNames> JobNames::decode(std::string_view body) {
  ByteReader in(body);
  JobNames message;
  message.ids = get_strings(in);
  return decoded(in, std::move(message), "JobNames");
}

void JobAnswer::encode(ByteWriter& out) const {
  out.put(code);
  out.put_string(message);
  out.put(static_cast<std::uint32_t>(jobs.size()));
  for (const JobInfo& job : jobs) {
    JobSpec::visit(job.spec, FieldWriter{out});
    JobInfo::visit(job, FieldWriter{out});
  }
}

Result<JobAnswer> JobAnswer::decode(std::string_view body) {
  ByteReader in(body);
  JobAnswer message;
  message.code = in.get<StatusCode>();
  message.message = in.get_string();
  message.jobs.resize(in.get_count(kFewestJobBytes));
  for (JobInfo& job : message.jobs) {
    JobSpec::visit(job.spec, FieldReader{in});
    JobInfo::visit(job, FieldReader{in});
  }
  return decoded(in, std::move(message), "JobAnswer");
}

void OpenJobLog::encode(ByteWriter& out) const {
  out.put_string(id);
  out.put(attempt);
  out.put(tail_lines);
  out.put(since_unix_ns);
}

Result<OpenJobLog> OpenJobLog::decode(std::string_view body) {
  ByteReader in(body);
  OpenJobLog message;
  message.id = in.get_string();
  message.attempt = in.get<std::uint32_t>();
  message.tail_lines = in.get<std::uint64_t>();
  message.since_unix_ns = in.get<std::int64_t>();
  return decoded(in, std::move(message), "OpenJobLog");
}

void JobLogOpened::encode(ByteWriter& out) const {
  out.put(code);
  out.put_string(message);
  out.put_string(id);
  out.put(attempt);
  put_cursors(out, cursors);
}

Result<JobLogOpened> JobLogOpened::decode(std::string_view body) {
  ByteReader in(body);
  JobLogOpened message;
  message.code = in.get<StatusCode>();
  message.message = in.get_string();
  message.id = in.get_string();
  message.attempt = in.get<std::uint32_t>();
  message.cursors = get_cursors(in);
  return decoded(in, std::move(message), "JobLogOpened");
}

void ReadJobLog::encode(ByteWriter& out) const {
  out.put_string(id);
  out.put(attempt);
  out.put(most_bytes);
  put_flag(out, wait);
  put_cursors(out, cursors);
}

Result<ReadJobLog> ReadJobLog::decode(std::string_view body) {
  ByteReader in(body);
  ReadJobLog message;
  message.id = in.get_string();
  message.attempt = in.get<std::uint32_t>();
  message.most_bytes = in.get<std::uint32_t>();
  message.wait = get_flag(in);
  message.cursors = get_cursors(in);
  return decoded(in, std::move(message), "ReadJobLog");
}

void JobLogPieces::encode(ByteWriter& out) const {
  out.put(code);
  out.put_string(message);
  put_flag(out, ended);
  put_flag(out, job_ended);
  out.put(newest);
  out.put(static_cast<std::uint32_t>(pieces.size()));
  for (const LogPiece& piece : pieces) {
    put_cursor(out, piece.at);
    out.put(piece.missing);
    out.put_string(piece.bytes);
  }
}

Result<JobLogPieces> JobLogPieces::decode(std::string_view body) {
  ByteReader in(body);
  JobLogPieces message;
  message.code = in.get<StatusCode>();
  message.message = in.get_string();
  message.ended = get_flag(in);
  message.job_ended = get_flag(in);
  message.newest = in.get<std::uint32_t>();
  message.pieces.resize(in.get_count(kCursorSize + sizeof(std::uint64_t) + sizeof(std::uint32_t)));
  for (LogPiece& piece : message.pieces) {
    piece.at = get_cursor(in);
    piece.missing = in.get<std::uint64_t>();
    piece.bytes = in.get_string();
  }
  return decoded(in, std::move(message), "JobLogPieces");
}

}  // namespace fray::wire
