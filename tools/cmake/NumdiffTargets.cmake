# Warning and sanitizer flags of our own targets, optional CUDA, and the helper for test programs.

add_library(numdiff_dev INTERFACE)
target_compile_features(numdiff_dev INTERFACE cxx_std_20)
target_compile_options(numdiff_dev INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wunused
  $<$<BOOL:${PROJECT_IS_TOP_LEVEL}>:-Werror>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi -Wno-restrict>)  # gcc 12 warns inside std::string (its bug 105329)
if(NUMDIFF_SANITIZE)
  target_compile_options(numdiff_dev INTERFACE
    -fsanitize=${NUMDIFF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # gcc's manual: sanitizers make it warn in vain
  target_link_options(numdiff_dev INTERFACE -fsanitize=${NUMDIFF_SANITIZE})
endif()

set(NUMDIFF_HAVE_CUDA OFF)
if(NOT NUMDIFF_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(NUMDIFF_HAVE_CUDA ON)
  elseif(NUMDIFF_CUDA STREQUAL "ON")
    message(FATAL_ERROR "NUMDIFF_CUDA=ON, but no CUDA compiler was found")
  endif()
endif()
if(PROJECT_IS_TOP_LEVEL)
  message(STATUS "numdiff ${PROJECT_VERSION}: CUDA ${NUMDIFF_HAVE_CUDA}")
endif()

# numdiff_add_test(<name> SOURCES ... [LIBS ...] [LABELS ...]): a doctest program run by ctest; label "unit" unless given.
function(numdiff_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} numdiff_test_main numdiff_dev)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
