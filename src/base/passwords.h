// Passwords: takes the names and passwords out of the addresses in a text that is shown to people.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    none; what is no address stays as it is.
#pragma once

#include <string>
#include <string_view>

namespace fray {

// "https://user:secret@host/x" becomes "https://...@host/x", and so where the address is percent-encoded, as in the
// specification of a cluster: "%2F%2F" is "//", "%40" is "@". `fray._passwords` does the same in Python.
std::string without_passwords(std::string_view text);

}  // namespace fray
