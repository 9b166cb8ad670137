# Parses the headers that nearly every file includes once per program kind instead of once per file,
# where TOKENLINE_PRECOMPILE asks for it. The presets without it, dev and tidy, check that each file
# includes what it uses.
option(TOKENLINE_PRECOMPILE "Precompile the standard and third-party headers" OFF)

# tokenline_targets(<folder> <variable>): every library and program built in and below a folder.
function(tokenline_targets folder variable)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    tokenline_targets(${below} more)
    list(APPEND targets ${more})
  endforeach()
  set(${variable} ${targets} PARENT_SCOPE)
endfunction()

# tokenline_precompile(<name> TARGETS <target>… HEADERS <header>… [OPTIONS <flag>…])
# One set of precompiled headers for targets that are compiled with the same flags.
function(tokenline_precompile name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "TARGETS;HEADERS;OPTIONS")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE tokenline_options fmt::fmt)
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  foreach(target IN LISTS arg_TARGETS)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endforeach()
endfunction()
