# libfray: the C API of capi/ as a shared library that exports nothing else, the host program of C++ workers, and the
# package of both with the public headers. `make install`:
#   cmake --install BUILD --component cpp --prefix PREFIX
# A wheel has the same tree in fray/_cpp.

set(fray_so_version 1)
add_library(libfray SHARED capi/libfray.map)
set_target_properties(
  libfray
  PROPERTIES OUTPUT_NAME fray
             VERSION ${fray_so_version}
             SOVERSION ${fray_so_version}
             LINKER_LANGUAGE CXX
             LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/capi/libfray.map)
target_link_libraries(libfray PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,fray_capi>)
target_link_options(libfray PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/capi/libfray.map)
target_include_directories(libfray INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(libfray INTERFACE cxx_std_20)
# Names in the stacks of crashed workers.
target_link_options(libfray INTERFACE -rdynamic)
add_library(fray::fray ALIAS libfray)

add_executable(fray-cpp-worker capi/worker_program/cpp_worker.cc)
target_link_libraries(fray-cpp-worker PRIVATE libfray fray_warnings)
set_target_properties(fray-cpp-worker PROPERTIES INSTALL_RPATH "$ORIGIN/../../lib")
add_dependencies(fray-cpp-worker fray)
add_dependencies(wheel_parts libfray fray-cpp-worker)

# ---- The package ----

include(CMakePackageConfigHelpers)
set(package ${CMAKE_CURRENT_BINARY_DIR}/package)
write_basic_package_version_file(${package}/frayConfigVersion.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
configure_file(capi/package/frayConfig.cmake.in ${package}/frayConfig.cmake @ONLY)
configure_file(capi/package/fray.pc.in ${package}/fray.pc @ONLY)

# Installs the tree below `prefix`.
function(install_libfray component prefix)
  install(TARGETS libfray LIBRARY DESTINATION ${prefix}lib COMPONENT ${component} ${ARGN})
  install(TARGETS fray-cpp-worker DESTINATION ${prefix}libexec/fray COMPONENT ${component})
  install(FILES ${PROJECT_SOURCE_DIR}/include/fray.h DESTINATION ${prefix}include COMPONENT ${component})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/fray DESTINATION ${prefix}include COMPONENT ${component})
  install(FILES ${package}/frayConfig.cmake ${package}/frayConfigVersion.cmake DESTINATION ${prefix}lib/cmake/fray
          COMPONENT ${component})
  install(FILES ${package}/fray.pc DESTINATION ${prefix}lib/pkgconfig COMPONENT ${component})
endfunction()
install_libfray(cpp "")
# A wheel has no links: what is linked with there is a text that names the library.
install_libfray(python "fray/_cpp/" NAMELINK_SKIP)
file(WRITE ${package}/libfray.so "INPUT(libfray.so.${fray_so_version})\n")
install(FILES ${package}/libfray.so DESTINATION fray/_cpp/lib COMPONENT python)
install(TARGETS fray fray-supervisor fray-guardian DESTINATION bin COMPONENT cpp)
