// Finds Fray's own programs beside this library, and the program or library that workers of this process are to run.
//
// A worker key names the file that workers run and a hash of its content, so a program that was built anew gets new
// workers. The host program checks the hash before it runs or loads the file.
//
// Threading:  any thread; reads the environment.
// Ownership:  values.
// Failure:    kNotFound names the file that is missing and what to install; kIoError when it cannot be read.
#pragma once

#include <string>

#include "base/status.h"
#include "wire/worker_key.h"

namespace fray::capi {

Result<std::string> node_program();  // `fray`
Result<std::string> host_program();  // `fray-cpp-worker`

// A key with this process's folder and environment, and no command yet.
wire::WorkerKey key_like_this_process();
// Workers that run this process's own binary, with its arguments.
Result<wire::WorkerKey> own_binary_key();
// Workers like this one: of the same binary, or of the library that was loaded into the host program.
Result<wire::WorkerKey> own_worker_key();
// Workers that load a shared library; a path without a slash is looked up as dlopen() does it.
Result<wire::WorkerKey> library_key(const std::string& library);
// The Python interpreter that is given, else that of $VIRTUAL_ENV, the one that this library was installed for, or python3;
// empty: there is none.
std::string find_interpreter(const std::string& given);
// Python workers, of the interpreter that find_interpreter() gives.
Result<wire::WorkerKey> python_key(const std::string& interpreter);

}  // namespace fray::capi
