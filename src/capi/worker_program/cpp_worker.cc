// fray-cpp-worker: becomes the program, or loads the library, whose tasks C++ workers run. Started by the node.
#include <fray.h>

int main(int argc, char** argv) { return fray_host(argc, argv); }
