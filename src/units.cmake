# fray_units(OUT NAME SOURCES): units that include the sources, several each, in OUT.
#
# Most of the time of a source goes into the headers that it reads and the templates that it instantiates, and the sources
# of a folder read the same ones: as units they take a quarter of the time (docs/decisions/0010-build.md). Names in anonymous
# namespaces are therefore unique in their folder. CMake's own unity build names sources by absolute paths, which hides from
# ccache that two checkouts are the same; these units name them as #include does.
set(fray_sources_a_unit 8)

function(fray_units out name sources)
  list(LENGTH sources count)
  if(NOT FRAY_UNITS OR count LESS 2)
    set(${out} ${sources} PARENT_SCOPE)
    return()
  endif()
  list(SORT sources)
  set(units)
  set(first 0)
  while(first LESS count)
    list(SUBLIST sources ${first} ${fray_sources_a_unit} batch)
    set(text)
    foreach(source IN LISTS batch)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      string(APPEND text "#include \"${source}\"\n")
    endforeach()
    list(LENGTH units number)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/units/${name}_${number}.cc)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)  # leaves a file alone that would not change
    list(APPEND units ${unit})
    math(EXPR first "${first} + ${fray_sources_a_unit}")
  endwhile()
  set(${out} ${units} PARENT_SCOPE)
endfunction()
