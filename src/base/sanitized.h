// Which sanitizers this is compiled under. What they do to a process (handlers of crashes, shadow memory, threads) is not
// the program's own doing.
//
// Threading:  constants.
// Ownership:  none.
// Failure:    none.
#pragma once

#if !defined(__has_feature)
#define FRAY_HAS_FEATURE(feature) 0
#else
#define FRAY_HAS_FEATURE(feature) __has_feature(feature)
#endif

namespace fray {

#if defined(__SANITIZE_ADDRESS__) || FRAY_HAS_FEATURE(address_sanitizer)
inline constexpr bool kUnderAddressSanitizer = true;
#else
inline constexpr bool kUnderAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || FRAY_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kUnderThreadSanitizer = true;
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif

}  // namespace fray

#undef FRAY_HAS_FEATURE
