// Gives arbitrary bytes to every function that reads what a controller has sent or a user has typed. None may crash or
// read outside of its input.
#include <cstddef>
#include <cstdint>

#include "base/base64.h"
#include "iris/endpoint.h"
#include "iris/job_order.h"
#include "iris/messages.h"
#include "iris/names.h"
#include "iris/refusal.h"
#include "model/json_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fray::iris;
  const std::string text(reinterpret_cast<const char*>(data), size);
  wire::GetJobStatusResponse job;
  if (decode(text, job)) {
    (void)fray::json_text(details_of(job).to_json());
    (void)info_of(details_of(job));
    // What was understood is understood again.
    wire::GetJobStatusResponse again;
    if (!decode(encode(job), again) || encode(again) != encode(job)) __builtin_trap();
  }
  wire::ListTasksResponse tasks;
  if (decode(text, tasks)) {
    for (const wire::TaskStatus& task : tasks.tasks) (void)fray::json_text(details_of(task).to_json());
  }
  for (unsigned status : {200u, 302u, 401u, 404u, 500u}) {
    (void)refusal(Endpoint{}, "fuzz", {status, text.substr(0, 20), "", text});
  }
  (void)expiry_note(text);
  if (fray::decode_base64(text).size() > text.size()) __builtin_trap();
  if (auto id = resolve_id("bob", text); id.is_ok()) {
    if (*resolve_id("ann", *id) != *id) __builtin_trap();
  }
  if (auto name = parse_attempt(text); name && name->job.size() >= text.size()) __builtin_trap();
  if (auto address = parse_address(text); address.is_ok()) {
    if (parse_address(address->text())->text() != address->text()) __builtin_trap();
  }
  return 0;
}
