// Installation: where the package of a program or a library of Fray is, and which Python goes with it.
//
//   const Installation own = Installation::of(own_program());
//   std::string python = find_python(own);
//
// Threading:  any thread; reads the environment.
// Ownership:  values.
// Failure:    a path that does not exist is empty.
#pragma once

#include <string>

namespace fray::os {

// The path of the program that this process runs.
std::string own_program();

struct Installation {
  std::string environment;    // the folder whose bin/ has its Python and its commands
  std::string site_packages;  // the folder that contains the package
  // "python3.12", where the package beside the file was built for it, as its extension's name says. Users' packages and
  // those of `pip install --target` lie beside no interpreter, and another version's cannot load them.
  std::string python_name;

  // The installation that `file` belongs to: <environment>/bin/fray, or a file below .../pythonX.Y/site-packages/fray/.
  static Installation of(const std::string& file);
};

// The first executable of that name in the installation's environment or on the PATH.
std::string find_program(const std::string& name, const Installation& own);
// Python's program in this environment.
std::string python_of(const std::string& environment);
// The first that there is: the interpreter of the installation's environment; that of $VIRTUAL_ENV; on the PATH that of
// the version that the package was built for, then `python3`.
std::string find_python(const Installation& own);

}  // namespace fray::os
