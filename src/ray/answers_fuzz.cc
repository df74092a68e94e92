// Gives arbitrary bytes to every function that reads what a cluster has sent or a user has typed. None may crash or
// read outside of its input.
#include <cstddef>
#include <cstdint>

#include "model/json_text.h"
#include "ray/endpoint.h"
#include "ray/job_details.h"
#include "ray/refusal.h"
#include "runtime_env/ignore_file.h"
#include "websocket/frames.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fray::ray;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto job = parse_job(text); job.is_ok()) (void)fray::json_text(job->to_json());
  (void)parse_jobs(text);
  (void)parse_nodes(text);
  (void)parse_text(text, "logs");
  (void)parse_flag(text, "stopped");
  (void)parse_release(text);
  if (auto address = parse_address(text); address.is_ok()) {
    // An address that was accepted is accepted again in the form in which it is printed.
    if (parse_address(address->text())->text() != address->text()) __builtin_trap();
  }
  for (unsigned status : {302u, 401u, 404u, 500u}) (void)refusal(Endpoint{}, "fuzz", status, text);
  fray::websocket::MessageReader messages(size / 2);
  messages.add(text);
  for (auto event = messages.next(); event.is_ok() && *event; event = messages.next()) {
    if ((*event)->payload.size() > size / 2) __builtin_trap();
  }
  const std::size_t half = std::min<std::size_t>(size / 2, 256);
  (void)fray::runtime_env::IgnoreFile::parse(text.substr(0, half)).decide(text.substr(half, 256), false);
  return 0;
}
