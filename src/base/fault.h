// FRAY_FAULT("name", error): true, with errno set, when the named fault is to happen now. So tests can see what happens
// when the kernel refuses a call that it hardly ever refuses.
//
//   if (FRAY_FAULT("socketpair", EMFILE) || ::socketpair(...) != 0) return failed("socketpair");
//
// The environment variable FRAY_FAULT says which: `socketpair:2` the second time that the point is passed, `spawn:3+`
// from the third time on, `accept:1-4` four times; several with commas between. It is compiled in where asserts are, so
// not in a wheel; without asserts the constant `false`. docs/reference/faults.md lists the points.
//
// Threading:  any thread; a point's passes are counted over all of them.
// Ownership:  none.
// Failure:    a name that is no point never happens; a number that cannot be read ends the process with a word.
#pragma once

#ifndef NDEBUG

namespace fray {
bool fault_is_due(const char* name, int error);
}  // namespace fray
#define FRAY_FAULT(name, error) (::fray::fault_is_due(name, error))

#else
#define FRAY_FAULT(name, error) false
#endif
