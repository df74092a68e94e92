#include "wire/job.h"

#include "wire/decoded.h"
#include "wire/resources.h"

namespace fray::wire {

namespace {

void put_strings(ByteWriter& out, const std::vector<std::string>& texts) {
  out.put(static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) out.put_string(text);
}

std::vector<std::string> get_strings(ByteReader& in) {
  std::vector<std::string> texts(in.get_count(sizeof(std::uint32_t)));
  for (std::string& text : texts) text = in.get_string();
  return texts;
}

void put_flag(ByteWriter& out, bool flag) { out.put(static_cast<std::uint8_t>(flag)); }
bool get_flag(ByteReader& in) { return in.get<std::uint8_t>() != 0; }

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
  for (const std::string* text : {&spec.id, &spec.name, &spec.folder, &spec.call, &spec.runtime_env, &spec.metadata}) {
    out.put_string(*text);
  }
  put_strings(out, spec.command);
  out.put(static_cast<std::uint32_t>(spec.environment.size()));
  for (const auto& [name, value] : spec.environment) {
    out.put_string(name);
    out.put_string(value);
  }
  out.put(spec.replicas);
  wire::encode(out, spec.resources);
  out.put(spec.max_failures);
  out.put(spec.max_preemptions);
  out.put(spec.priority);
  out.put(spec.deadline_seconds);
  out.put(spec.grace_seconds);
  out.put(spec.max_processes);
  out.put(spec.max_files);
}

Result<SubmitJob> SubmitJob::decode(std::string_view body) {
  ByteReader in(body);
  SubmitJob message;
  JobSpec& spec = message.spec;
  for (std::string* text : {&spec.id, &spec.name, &spec.folder, &spec.call, &spec.runtime_env, &spec.metadata}) {
    *text = in.get_string();
  }
  spec.command = get_strings(in);
  spec.environment.resize(in.get_count(2 * sizeof(std::uint32_t)));
  for (auto& [name, value] : spec.environment) {
    name = in.get_string();
    value = in.get_string();
  }
  spec.replicas = in.get<std::uint32_t>();
  wire::decode(in, spec.resources);
  spec.max_failures = in.get<std::uint32_t>();
  spec.max_preemptions = in.get<std::uint32_t>();
  spec.priority = in.get<std::int32_t>();
  spec.deadline_seconds = in.get<double>();
  spec.grace_seconds = in.get<double>();
  spec.max_processes = in.get<std::uint32_t>();
  spec.max_files = in.get<std::uint32_t>();
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
  out.put_string(json);
}

Result<JobAnswer> JobAnswer::decode(std::string_view body) {
  ByteReader in(body);
  JobAnswer message;
  message.code = in.get<StatusCode>();
  message.message = in.get_string();
  message.json = in.get_string();
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
