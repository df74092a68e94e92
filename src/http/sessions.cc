#include "http/sessions.h"

#include <algorithm>
#include <utility>

#include <openssl/crypto.h>

#include "http/secret.h"

namespace fray::http {

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<std::string> Sessions::make_code(bool framed, std::string view, Moment now) {
  FRAY_ASSIGN_OR_RETURN(std::string secret, draw_secret());
  if (codes_.size() == kMostCodes) codes_.pop_front();
  codes_.push_back({secret, framed, std::move(view), now + kCodeLimit});
  return secret;
}

Result<Sessions::Login> Sessions::log_in(std::string_view code, Moment now) {
  auto found = std::find_if(codes_.begin(), codes_.end(),
                            [&](const Code& each) { return equal_in_constant_time(each.secret, code); });
  if (found == codes_.end() || found->until < now) {
    return Status(StatusCode::kPermissionDenied, "This link was used already, is too old, or is of another node.");
  }
  const Code used = std::move(*found);
  codes_.erase(found);
  FRAY_ASSIGN_OR_RETURN(std::string secret, draw_secret());
  if (sessions_.size() == kMostSessions) sessions_.pop_front();
  sessions_.push_back({secret, used.framed});
  return Login{cookie_name() + "=" + secret + "; Path=/; HttpOnly; SameSite=Strict", used.view};
}

Sessions::Visit Sessions::visit(std::string_view cookies) const {
  Visit visit;
  const std::string begin = cookie_name() + "=";
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view cookie = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    while (cookie.starts_with(' ')) cookie.remove_prefix(1);
    if (!cookie.starts_with(begin)) continue;
    visit.has_cookie = true;
    const std::string_view secret = cookie.substr(begin.size());
    auto found = std::find_if(sessions_.begin(), sessions_.end(),
                              [&](const Session& each) { return equal_in_constant_time(each.secret, secret); });
    if (found != sessions_.end()) visit.session = &*found;
  }
  return visit;
}

}  // namespace fray::http
