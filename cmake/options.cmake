# Compiler settings shared by every target, as one interface library.
option(TOKENLINE_WERROR "Treat warnings as errors" OFF)
option(TOKENLINE_COVERAGE "Instrument for gcov" OFF)
option(TOKENLINE_BUILD_TESTS "Build the tests" ON)
option(TOKENLINE_BUILD_BENCH "Build the google-benchmark targets" OFF)
option(TOKENLINE_BUILD_PYTHON "Build the Python module, as pyproject.toml does" OFF)
option(TOKENLINE_BUILD_FUZZ "Build the libFuzzer targets (clang only)" OFF)
set(TOKENLINE_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined")

set(CMAKE_CXX_EXTENSIONS OFF)

add_library(tokenline_options INTERFACE)
target_compile_features(tokenline_options INTERFACE cxx_std_20)
target_include_directories(tokenline_options INTERFACE ${PROJECT_SOURCE_DIR})
# -ffp-contract=off: the same scenario gives the same bytes on g++ and clang.
target_compile_options(
  tokenline_options
  INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wold-style-cast
            -Wnon-virtual-dtor -Woverloaded-virtual -Wnull-dereference -ffp-contract=off
            $<$<NOT:$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wshadow> $<$<BOOL:${TOKENLINE_WERROR}>:-Werror>
            $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wsuggest-override>)
if(TOKENLINE_SANITIZE)
  target_compile_options(tokenline_options INTERFACE -fsanitize=${TOKENLINE_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tokenline_options INTERFACE -fsanitize=${TOKENLINE_SANITIZE})
endif()
if(TOKENLINE_COVERAGE)
  target_compile_options(tokenline_options INTERFACE --coverage)
  target_link_options(tokenline_options INTERFACE --coverage)
endif()
