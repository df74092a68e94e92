// Annotations for clang's thread-safety analysis: which mutex guards a member, and which function needs or takes it.
// They are empty under other compilers. https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
//
//   int count_ FRAY_GUARDED_BY(mutex_) = 0;
//   void add() FRAY_REQUIRES(mutex_);
//
// Threading:  none.
// Ownership:  none.
// Failure:    a warning of clang's with -Wthread-safety; `make check` makes it an error.
#pragma once

#ifdef __clang__
#define FRAY_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define FRAY_THREAD_ATTRIBUTE(attribute)
#endif

#define FRAY_CAPABILITY(name) FRAY_THREAD_ATTRIBUTE(capability(name))
#define FRAY_SCOPED_CAPABILITY FRAY_THREAD_ATTRIBUTE(scoped_lockable)
#define FRAY_GUARDED_BY(mutex) FRAY_THREAD_ATTRIBUTE(guarded_by(mutex))
#define FRAY_REQUIRES(...) FRAY_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define FRAY_EXCLUDES(...) FRAY_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define FRAY_ACQUIRE(...) FRAY_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define FRAY_RELEASE(...) FRAY_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
// Where the analysis cannot follow; say why beside it.
#define FRAY_UNCHECKED_LOCKING FRAY_THREAD_ATTRIBUTE(no_thread_safety_analysis)
