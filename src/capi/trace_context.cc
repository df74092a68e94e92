#include "capi/trace_context.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <fcntl.h>

#include "capi/running_call.h"
#include "os/fd.h"

namespace fray::capi {

namespace {

constexpr std::size_t kTraceparentBytes = 55;  // 00-<32>-<16>-<2>
constexpr std::chrono::seconds kPatience{3};
constexpr std::chrono::milliseconds kLook{10};

bool is_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
  return is_lower_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

bool is_traceparent(std::string_view text) {
  if (text.size() != kTraceparentBytes || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const std::string_view version = text.substr(0, 2);
  return is_lower_hex(version) && version != "ff" && is_id(text.substr(3, 32)) && is_id(text.substr(36, 16)) &&
         is_lower_hex(text.substr(53));
}

std::string_view trace_id_of(std::string_view traceparent) { return traceparent.substr(3, 32); }

bool is_sampled(std::string_view traceparent) {
  const char flags = traceparent[54];  // the lowest bit of a hexadecimal digit
  return ((flags <= '9' ? flags - '0' : flags - 'a' + 10) & 1) != 0;
}

namespace {

// As fray._traces has it.
bool is_switched_on(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return !text.empty() && text != "0" && text != "false" && text != "no" && text != "off";
}

std::string trace_of_process() {
  const char* trace = std::getenv("TRACEPARENT");
  return traces_are_asked_for() && trace != nullptr && is_traceparent(trace) ? trace : "";
}

const std::string& trace_of_this_process() {
  static const std::string trace = trace_of_process();
  return trace;
}

}  // namespace

bool traces_are_asked_for() {
  const char* asked = std::getenv("FRAY_OTEL");
  return asked != nullptr && is_switched_on(asked);
}

std::string_view current_trace() {
  if (const fray_call* call = current_call(); call != nullptr) return call->context();
  return trace_of_this_process();
}

void wait_for_spans(const std::string& folder) {
  if (!traces_are_asked_for()) return;
  const os::Fd file(::open((folder + "/unsent-spans").c_str(), O_RDWR | O_CLOEXEC));
  if (!file.is_open()) return;  // no process has recorded anything
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  while (::fcntl(file.get(), F_SETLK, &lock) != 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kLook);  // the kernel does not report a released lock
  }
}

}  // namespace fray::capi
