#include "model/runtime_env_spec.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray {

namespace {

using nlohmann::json;

struct Field {
  const char* name;
  std::string RuntimeEnvSpec::*text = nullptr;
  std::vector<std::string> RuntimeEnvSpec::*list = nullptr;
};

const Field kFields[] = {
    {.name = "python", .text = &RuntimeEnvSpec::python},
    {.name = "site_packages", .list = &RuntimeEnvSpec::site_packages},
    {.name = "packages", .list = &RuntimeEnvSpec::packages},
    {.name = "conda", .list = &RuntimeEnvSpec::conda},
    {.name = "working_dir", .text = &RuntimeEnvSpec::working_dir},
    {.name = "snapshot", .text = &RuntimeEnvSpec::snapshot},
    {.name = "container_image", .text = &RuntimeEnvSpec::container_image},
    {.name = "variables", .list = &RuntimeEnvSpec::variables},
    {.name = "purpose", .text = &RuntimeEnvSpec::purpose},
    {.name = "home", .text = &RuntimeEnvSpec::home},
};

Status bad_env(const std::string& what) { return Status(StatusCode::kInvalidArgument, "runtime env: " + what); }

bool is_text(const json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
}

Status read(const json& value, const Field& field, RuntimeEnvSpec& spec) {
  if (field.text != nullptr) {
    if (!is_text(value)) return bad_env(fmt::format("{} must be text", field.name));
    spec.*field.text = value.get<std::string>();
    return Status::ok();
  }
  if (!value.is_array()) return bad_env(fmt::format("{} must be a list of text", field.name));
  for (const json& item : value) {
    if (!is_text(item)) return bad_env(fmt::format("{} must be a list of text", field.name));
    (spec.*field.list).push_back(item.get<std::string>());
  }
  return Status::ok();
}

}  // namespace

std::string to_json(const RuntimeEnvSpec& spec) {
  json out = json::object();
  for (const Field& field : kFields) {
    if (field.text != nullptr && !(spec.*field.text).empty()) out[field.name] = spec.*field.text;
    if (field.list != nullptr && !(spec.*field.list).empty()) out[field.name] = spec.*field.list;
  }
  return json_text(out);
}

Result<RuntimeEnvSpec> parse_runtime_env_spec(std::string_view text) {
  json document = parse_json(text);
  if (!document.is_object()) return bad_env("the description is no JSON object");
  RuntimeEnvSpec spec;
  for (const auto& [name, value] : document.items()) {
    const Field* known = nullptr;
    for (const Field& field : kFields) {
      if (name == field.name) known = &field;
    }
    if (known == nullptr) return bad_env(fmt::format("unknown key {:?}", name.substr(0, 64)));
    FRAY_RETURN_IF_ERROR(read(value, *known, spec));
  }
  if (!spec.packages.empty() && !spec.conda.empty()) {
    return bad_env(
        "package_requirements and conda both say which packages there are; give one of them (conda installs with pip, "
        "too: add \"pip\" and what it is to install to the specs)");
  }
  return spec;
}

}  // namespace fray
