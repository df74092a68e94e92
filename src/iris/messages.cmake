# fray_iris_messages: what is written by scripts: the messages of iris/*.proto as C++ structs, iris/messages.h, and the table
# of TPU slices, iris/tpu_slices.inc, which Python's own package has.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

set(protos iris/time.proto iris/job.proto iris/controller.proto iris/endpoint.proto iris/log.proto
           iris/actor.proto)  # what is used comes first
set(messages ${CMAKE_CURRENT_BINARY_DIR}/messages)
file(MAKE_DIRECTORY ${messages}/iris)
set(generator ${PROJECT_SOURCE_DIR}/tools/iris_messages.py)
add_custom_command(
  OUTPUT ${messages}/iris/messages.h ${messages}/iris/messages.cc
  COMMAND ${Python3_EXECUTABLE} ${generator} ${protos} --header ${messages}/iris/messages.h --source
          ${messages}/iris/messages.cc
  DEPENDS ${protos} ${generator}
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
  VERBATIM)

set(slices ${PROJECT_SOURCE_DIR}/python/fray/cluster/tpu_topology.py)
set(slice_writer ${PROJECT_SOURCE_DIR}/tools/tpu_slices.py)
add_custom_command(
  OUTPUT ${messages}/iris/tpu_slices.inc
  COMMAND ${Python3_EXECUTABLE} ${slice_writer} ${slices} --output ${messages}/iris/tpu_slices.inc
  DEPENDS ${slices} ${slice_writer}
  VERBATIM)

add_library(fray_iris_messages STATIC ${messages}/iris/messages.cc ${CMAKE_CURRENT_SOURCE_DIR}/iris/protobuf.cc
                                      ${messages}/iris/tpu_slices.inc)
target_include_directories(fray_iris_messages PUBLIC ${messages} ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(fray_iris_messages PRIVATE fray_warnings)
target_compile_options(fray_iris_messages PRIVATE $<$<CONFIG:Develop>:-O1> $<$<CONFIG:Release>:-Os>)
