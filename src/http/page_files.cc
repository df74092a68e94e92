#include "http/page_files.h"

#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "os/files/whole_file.h"
#include "os/machine/installation.h"

namespace fray::http {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFileBytes = std::size_t{16} << 20;

constexpr std::array<std::pair<std::string_view, const char*>, 9> kTypes = {{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".json", "application/json"},
    {".txt", "text/plain; charset=utf-8"},
}};

// Null for a file that is not served.
const char* type_of(std::string_view name) {
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return nullptr;
}

void guard_page(Response& page, bool framed) {
  page.headers["Content-Security-Policy"] = fmt::format(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors {}",
      framed ? "http://127.0.0.1:* http://localhost:*" : "'none'");
  page.headers["Referrer-Policy"] = "no-referrer";
}

bool takes_gzip(const Request& request) {
  return request.header("accept-encoding").find("gzip") != std::string_view::npos;
}

}  // namespace

PageFiles PageFiles::of_this_program() {
  const fs::path beside = fs::path(os::own_program()).parent_path();
  std::error_code ignored;
  for (const fs::path& folder : {beside.parent_path() / "_dashboard", beside / "_dashboard"}) {
    if (fs::is_regular_file(folder / "index.html", ignored)) return PageFiles(folder.string());
  }
  return PageFiles((beside.parent_path() / "_dashboard").string());
}

Response PageFiles::page(bool framed) const {
  auto text = os::read_file(folder_ + "/index.html", kMostFileBytes);
  if (!text.is_ok()) {
    return sentence_page(404,
                         "The page of the dashboard was not built into this installation of Fray: "
                         "<code>make dashboard</code> in its source tree builds it. <code>fray status</code> shows the "
                         "same in a terminal.");
  }
  Response page{200, type_of(".html"), std::move(*text), {}};
  guard_page(page, framed);
  return page;
}

Response PageFiles::asset(const Request& request) const {
  // Segments have no slashes and no dots alone (parse_target()).
  const std::string& name = request.path.back();
  const char* type = type_of(name);
  if (request.path.size() != 3 || type == nullptr) return error_response(404, "not found", "the page has no such file");
  const std::string path = folder_ + "/assets/" + name;
  Response asset{200, type, "", {}};
  Result<std::string> packed = takes_gzip(request) ? os::read_file(path + ".gz", kMostFileBytes)
                                                   : Result<std::string>(Status(StatusCode::kNotFound, ""));
  if (packed.is_ok()) {
    asset.body = std::move(*packed);
    asset.headers["Content-Encoding"] = "gzip";
  } else {
    auto bytes = os::read_file(path, kMostFileBytes);
    if (!bytes.is_ok()) return error_response(404, "not found", "the page has no such file; reload it");
    asset.body = std::move(*bytes);
  }
  asset.headers["Cache-Control"] = "public, max-age=31536000, immutable";
  asset.headers["Vary"] = "Accept-Encoding";
  guard_page(asset, false);
  return asset;
}

}  // namespace fray::http
