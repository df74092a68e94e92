#include "cli/process_stacks.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/amount_text.h"
#include "cli/amount_text.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

using nlohmann::json;

// `  File "a.py", line 12 in run`
bool parse_frame(const std::string& line, StackFrame* frame) {
  constexpr std::string_view kOpen = "  File \"";
  constexpr std::string_view kMiddle = "\", line ";
  std::size_t middle = line.rfind(kMiddle);
  if (!line.starts_with(kOpen) || middle == std::string::npos) return false;
  frame->file = line.substr(kOpen.size(), middle - kOpen.size());
  const char* number = line.c_str() + middle + kMiddle.size();
  char* rest = nullptr;
  frame->line = static_cast<int>(std::strtol(number, &rest, 10));
  frame->function = std::string(rest).starts_with(" in ") ? rest + 4 : "?";
  return true;
}

// `Current thread 0x00007f (most recent call first):` and `Thread 0x00007f [name] (most recent call first):`
bool parse_thread(const std::string& line, ThreadStack* thread) {
  bool is_current = line.starts_with("Current thread ");
  if (!is_current && !line.starts_with("Thread ")) return false;
  std::size_t begin = line.find("0x");
  std::size_t end = line.find(" (most recent");
  if (begin == std::string::npos || end == std::string::npos) return false;
  thread->name = line.substr(begin, end - begin);
  // "Current" marks the thread that received the signal. It may wait for the GIL like any other.
  if (is_current) thread->name = "main";
  return true;
}

std::string frame_text(const StackFrame& frame) {
  return fmt::format("      {:<24} {}:{}\n", frame.function, frame.file, frame.line);
}

std::string process_text(const ProcessStacks& process) {
  std::string text = fmt::format("{} {}", process.role, process.pid);
  if (!process.state.empty()) text += "  " + process.state;
  if (!process.task.empty()) text += fmt::format("  {}  {}", process.task, seconds_text(process.running_seconds));
  text += "\n";
  if (!process.problem.empty()) return text + "    no stacks: " + process.problem + "\n";
  for (const ThreadStack& thread : process.threads) {
    text += fmt::format("    thread {}{}\n", thread.name, thread.holds_interpreter ? "  (has the GIL)" : "");
    if (thread.frames.empty()) text += "      (no Python code)\n";
    for (const StackFrame& frame : thread.frames) text += frame_text(frame);
  }
  return text;
}

}  // namespace

std::vector<ThreadStack> parse_faulthandler(const std::string& text) {
  std::vector<ThreadStack> threads;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ThreadStack thread;
    StackFrame frame;
    if (parse_thread(line, &thread)) {
      threads.push_back(std::move(thread));
    } else if (!threads.empty() && parse_frame(line, &frame)) {
      threads.back().frames.push_back(std::move(frame));
    }
  }
  // The main thread comes last in the dump.
  std::stable_partition(threads.begin(), threads.end(), [](const ThreadStack& one) { return one.name == "main"; });
  return threads;
}

std::vector<ThreadStack> parse_py_spy(const std::string& text) {
  std::vector<ThreadStack> threads;
  json document = parse_json(text);
  if (!document.is_array()) return threads;
  for (const json& entry : document) {
    ThreadStack thread;
    auto name = entry.find("thread_name");
    thread.name = name != entry.end() && name->is_string() ? name->get<std::string>() : "?";
    thread.holds_interpreter = entry.value("owns_gil", false);
    for (const json& frame : entry.value("frames", json::array())) {
      thread.frames.push_back({frame.value("name", "?"), frame.value("filename", "?"), frame.value("line", 0)});
    }
    threads.push_back(std::move(thread));
  }
  return threads;
}

std::string stacks_text(const std::vector<ProcessStacks>& processes) {
  std::string text;
  for (const ProcessStacks& process : processes) text += (text.empty() ? "" : "\n") + process_text(process);
  return text;
}

json stacks_json(const std::vector<ProcessStacks>& processes) {
  json rows = json::array();
  for (const ProcessStacks& process : processes) {
    json row = {{"pid", process.pid},      {"role", process.role},     {"state", process.state},
                {"task", process.task},    {"source", process.source}, {"problem", process.problem},
                {"threads", json::array()}};
    if (!process.task.empty()) row["running_seconds"] = process.running_seconds;
    for (const ThreadStack& thread : process.threads) {
      json frames = json::array();
      for (const StackFrame& frame : thread.frames) {
        frames.push_back({{"function", frame.function}, {"file", frame.file}, {"line", frame.line}});
      }
      row["threads"].push_back(
          {{"name", thread.name}, {"has_gil", thread.holds_interpreter}, {"frames", std::move(frames)}});
    }
    rows.push_back(std::move(row));
  }
  return {{"schema", "fray/v1"}, {"processes", std::move(rows)}};
}

}  // namespace fray::cli
