#include "os/machine/gpus.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

namespace fray::os {

namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 6 &&
         std::all_of(text.begin(), text.end(), [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

std::size_t present_gpus() {
  std::size_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/dev", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("nvidia") && is_number(std::string_view(name).substr(6))) ++count;
  }
  return count;
}

std::optional<std::string> listed_in(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, comma - begin);
    std::erase_if(part, [](unsigned char letter) { return std::isspace(letter) != 0; });
    parts.push_back(std::move(part));
    begin = comma + 1;
  }
  return parts;
}

}  // namespace

std::vector<std::string> choose_gpus(std::size_t present, const std::optional<std::string>& cuda_visible,
                                     const std::optional<std::string>& nvidia_visible) {
  // A container runtime limits the GPUs by mounting only their device files; only "none" may come with all files
  // mounted.
  if (nvidia_visible && (*nvidia_visible == "none" || *nvidia_visible == "void")) return {};
  std::vector<std::string> names;
  if (!cuda_visible) {
    for (std::size_t index = 0; index < present; ++index) names.push_back(std::to_string(index));
    return names;
  }
  // As CUDA reads it: the list ends at the first entry that names no GPU.
  for (std::string& part : parts_of(*cuda_visible)) {
    const bool by_uuid = part.starts_with("GPU-") || part.starts_with("MIG-");
    const bool by_number = is_number(part) && std::strtoul(part.c_str(), nullptr, 10) < present;
    if (names.size() >= present && !part.starts_with("MIG-")) break;
    if (present == 0 || (!by_uuid && !by_number)) break;
    if (std::find(names.begin(), names.end(), part) != names.end()) break;
    names.push_back(std::move(part));
  }
  return names;
}

std::vector<std::string> usable_gpus() {
  return choose_gpus(present_gpus(), listed_in("CUDA_VISIBLE_DEVICES"), listed_in("NVIDIA_VISIBLE_DEVICES"));
}

}  // namespace fray::os
