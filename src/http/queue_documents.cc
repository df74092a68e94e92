#include "http/queue_documents.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/amount_text.h"
#include "base/base64.h"
#include "model/members.h"

namespace fray::http {

namespace {

using nlohmann::json;
using queue::Verb;

constexpr double kDefaultLease = 60;

double seconds_of(queue::Moment time) { return std::chrono::duration<double>(time).count(); }

json described(const char* type, std::string description) {
  return {{"type", type}, {"description", std::move(description)}};
}

json list_of_texts(std::string description) {
  json list = described("array", std::move(description));
  list["items"] = {{"type", "string"}};
  return list;
}

Status take_seconds(Members& members, const char* key, double otherwise, queue::Moment longest, queue::Moment* place) {
  double seconds = otherwise;
  FRAY_RETURN_IF_ERROR(members.number(key, &seconds));
  if (!std::isfinite(seconds) || seconds < 0 || seconds > seconds_of(longest)) {
    return wrong(fmt::format("{} must be from 0 to {} seconds, got {}", key, seconds_of(longest), seconds));
  }
  *place = std::chrono::duration_cast<queue::Moment>(std::chrono::duration<double>(seconds));
  return Status::ok();
}

Status take_caller(Members& members, queue::Caller* caller) {
  FRAY_RETURN_IF_ERROR(members.text("client", &caller->client));
  if (caller->client.size() > queue::kLongestClient) {
    return wrong(fmt::format("client may have {} bytes at most", queue::kLongestClient));
  }
  const json sequence = members.take("sequence");
  if (caller->client.empty() && sequence.is_null()) return Status::ok();
  if (caller->client.empty() || !sequence.is_number_unsigned() || sequence.get<std::uint64_t>() < 1 ||
      sequence.get<std::uint64_t>() > INT64_MAX) {
    return wrong(
        "client and sequence come together: a text, and a whole number from 1 on that rises with each request");
  }
  sequence.get_to(caller->sequence);
  return Status::ok();
}

Status take_items(Members& members, std::vector<std::string>* items) {
  FRAY_RETURN_IF_ERROR(members.text_list("items", items));
  if (items->empty() || items->size() > queue::kMostAtOnce) {
    return wrong(
        fmt::format("items must be a list of 1 to {} texts in base64, got {}", queue::kMostAtOnce, items->size()));
  }
  for (std::size_t i = 0; i < items->size(); ++i) {
    auto bytes = bytes_of_base64((*items)[i]);
    if (!bytes) return wrong(fmt::format("item {} of items is no text in base64", i));
    if (bytes->size() > queue::kMostItemBytes) {
      return wrong(
          fmt::format("item {} of items has {}, and an item may have {} at most; put larger ones into a file "
                      "and push its name",
                      i, bytes_text(bytes->size()), bytes_text(queue::kMostItemBytes)));
    }
    (*items)[i] = std::move(*bytes);
  }
  return Status::ok();
}

Status take_pop(Members& members, queue::Request* request) {
  FRAY_RETURN_IF_ERROR(members.count("most", &request->most));
  if (request->most > queue::kMostAtOnce) {
    return wrong(fmt::format("most must be from 1 to {}, got {}", queue::kMostAtOnce, request->most));
  }
  FRAY_RETURN_IF_ERROR(
      take_seconds(members, "lease_timeout", kDefaultLease, queue::kLongestLease, &request->lease_time));
  return take_seconds(members, "wait", 0, queue::kLongestWait, &request->wait);
}

Status take_leases(Members& members, std::vector<std::string>* leases) {
  FRAY_RETURN_IF_ERROR(members.text_list("leases", leases));
  if (!leases->empty() && leases->size() <= queue::kMostAtOnce) return Status::ok();
  return wrong(fmt::format("leases must be a list of 1 to {} lease_ids, got {}", queue::kMostAtOnce, leases->size()));
}

Status take_purge(Members& members, bool* leased_too) {
  const json leased = members.take("leased");
  if (leased.is_null()) return Status::ok();
  if (!leased.is_boolean()) return wrong_type("leased", "true or false", leased);
  leased.get_to(*leased_too);
  return Status::ok();
}

Status take_keys(Members& members, queue::Request* request) {
  switch (request->verb) {
    case Verb::kPush:
      FRAY_RETURN_IF_ERROR(take_items(members, &request->items));
      break;
    case Verb::kPop:
      FRAY_RETURN_IF_ERROR(take_pop(members, request));
      break;
    case Verb::kDone:
    case Verb::kRelease:
      FRAY_RETURN_IF_ERROR(take_leases(members, &request->leases));
      break;
    case Verb::kPurge:
      FRAY_RETURN_IF_ERROR(take_purge(members, &request->leased_too));
      break;
    default:
      return Status::ok();
  }
  return take_caller(members, &request->caller);
}

json view_json(const queue::QueueView& view) {
  return {{"name", view.name},   {"waiting", view.waiting}, {"leased", view.leased},
          {"bytes", view.bytes}, {"waiters", view.waiters}, {"made_at", static_cast<double>(view.made_unix_ns) / 1e9}};
}

json given_json(const queue::GivenItem& given) {
  return {{"lease_id", given.lease_id},
          {"item", encode_base64(given.bytes)},
          {"timestamp", static_cast<double>(given.begun_unix_ns) / 1e9}};
}

}  // namespace

json queue_schema(Verb verb) {
  json keys = json::object();
  switch (verb) {
    case Verb::kPush:
      keys["items"] = list_of_texts(fmt::format("1 to {} items in base64, of {} at most each", queue::kMostAtOnce,
                                                bytes_text(queue::kMostItemBytes)));
      break;
    case Verb::kPop:
      keys["most"] = described("integer", fmt::format("leases at once, 1 to {}; 1 if not given", queue::kMostAtOnce));
      keys["lease_timeout"] = described("number", fmt::format("seconds; {} if not given", kDefaultLease));
      keys["wait"] = described("number", fmt::format("seconds to wait for an item, up to {}; 0 if not given",
                                                     seconds_of(queue::kLongestWait)));
      break;
    case Verb::kDone:
    case Verb::kRelease:
      keys["leases"] = list_of_texts("their lease_ids");
      break;
    case Verb::kPurge:
      keys["leased"] = described("boolean", "items that are leased, too; false if not given");
      break;
    default:
      return nullptr;
  }
  keys["client"] = described("string", "who asks; one that names itself may send a request again");
  keys["sequence"] = described("integer", "number of the client's request; the same when it is sent again");
  return {{"type", "object"}, {"properties", keys}};
}

Result<queue::Request> parse_queue_request(Verb verb, std::string queue, std::string_view body) {
  FRAY_ASSIGN_OR_RETURN(Members members, Members::parse(body.empty() ? "{}" : body));
  queue::Request request;
  request.verb = verb;
  request.queue = std::move(queue);
  FRAY_RETURN_IF_ERROR(take_keys(members, &request));
  FRAY_RETURN_IF_ERROR(members.end());
  return request;
}

json queue_answer_json(Verb verb, const queue::Answer& answer) {
  json document = {{"schema", "fray/v1"}};
  json list = json::array();
  switch (verb) {
    case Verb::kList:
      for (const queue::QueueView& view : answer.queues) list.push_back(view_json(view));
      document["queues"] = std::move(list);
      break;
    case Verb::kPush:
      document["pushed"] = answer.count;
      break;
    case Verb::kPurge:
      document["purged"] = answer.count;
      break;
    case Verb::kDone:
    case Verb::kRelease:
      document["ended"] = answer.count;
      document["invalid"] = answer.invalid;
      break;
    case Verb::kPop:
      for (const queue::GivenItem& given : answer.given) list.push_back(given_json(given));
      document["leases"] = std::move(list);
      break;
    case Verb::kPeek:
      for (const queue::GivenItem& given : answer.given) list.push_back(encode_base64(given.bytes));
      document["items"] = std::move(list);
      break;
    default:
      for (const queue::QueueView& view : answer.queues) document.update(view_json(view));
  }
  return document;
}

}  // namespace fray::http
