# cordon_library, cordon_test and cordon_fuzzer: the three kinds of target that a module declares.
include_guard(GLOBAL)

# cordon_library(NAME <m>
#                HEADERS include/cordon/<m>/x.h ...
#                SOURCES src/x.cc ...
#                TESTS src/x_test.cc ...
#                PUBLIC_DEPS <target>... PRIVATE_DEPS <target>...)
#
# Makes the library cordon_<m>, alias cordon::<m>, with its public headers in include/ and its private ones in src/;
# the test program <m>_test, where there are TESTS; and the install rules with cordon-<m>.pc. All paths are relative
# to the calling directory.
function(cordon_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "HEADERS;SOURCES;TESTS;PUBLIC_DEPS;PRIVATE_DEPS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_SOURCES)
    message(FATAL_ERROR "cordon_library: needs NAME and SOURCES; not understood: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target cordon_${arg_NAME})

  add_library(${target} ${arg_SOURCES})
  add_library(cordon::${arg_NAME} ALIAS ${target})
  cordon_defaults(${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${arg_NAME}
    VERIFY_INTERFACE_HEADER_SETS ON)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS})
  target_include_directories(${target} PRIVATE src)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC_DEPS})
  foreach(dep IN LISTS arg_PRIVATE_DEPS)
    if(dep IN_LIST CORDON_BUILD_ONLY_DEPS)
      set(dep $<BUILD_INTERFACE:${dep}>)
    endif()
    target_link_libraries(${target} PRIVATE ${dep})
  endforeach()

  cordon_install_library(${arg_NAME} PUBLIC_DEPS ${arg_PUBLIC_DEPS} PRIVATE_DEPS ${arg_PRIVATE_DEPS})

  if(CORDON_BUILD_TESTS AND arg_TESTS)
    cordon_test(NAME ${arg_NAME}_test SOURCES ${arg_TESTS} LABEL ${arg_NAME}
      DEPS cordon::${arg_NAME} ${arg_PRIVATE_DEPS})
    target_include_directories(${arg_NAME}_test PRIVATE src)
  endif()
endfunction()

# cordon_test(NAME <name> SOURCES ... DEPS <target>... [LABEL <label>] [TIMEOUT <seconds>])
#
# Makes a test program on Catch2 and registers each of its cases with ctest as "<label>.<case>". DEPS may name
# programs of this tree as well: those are built first. No semicolon in a case's name: CMake would split it.
function(cordon_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;LABEL;TIMEOUT" "SOURCES;DEPS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_SOURCES)
    message(FATAL_ERROR "cordon_test: needs NAME and SOURCES; not understood: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL ${arg_NAME})
  endif()
  set(fail_without_case "")
  if(Catch2_VERSION VERSION_LESS 3)
    # Version 3 fails by itself when no case matches the name that ctest asks for.
    set(fail_without_case --warn NoTests)
  endif()
  set(timeout 100)  # One of them runs a minute in CI.
  if(arg_TIMEOUT)
    set(timeout ${arg_TIMEOUT})
  endif()
  if(CORDON_SANITIZE)
    set(timeout 180)
  endif()

  add_executable(${arg_NAME} ${arg_SOURCES})
  cordon_defaults(${arg_NAME})
  # What is looked at is the code under test; that of the tests compiles in two thirds of the time like this.
  target_compile_options(${arg_NAME} PRIVATE -O0 -U_FORTIFY_SOURCE)
  target_link_libraries(${arg_NAME} PRIVATE cordon_test_main)
  foreach(dep IN LISTS arg_DEPS)
    set(type LIBRARY)
    if(TARGET ${dep})
      get_target_property(type ${dep} TYPE)
    endif()
    if(type STREQUAL "EXECUTABLE")
      add_dependencies(${arg_NAME} ${dep})
    else()
      target_link_libraries(${arg_NAME} PRIVATE ${dep})
    endif()
  endforeach()
  catch_discover_tests(${arg_NAME}
    TEST_PREFIX "${arg_LABEL}."
    EXTRA_ARGS ${fail_without_case}
    PROPERTIES
      LABELS ${arg_LABEL}
      TIMEOUT ${timeout}
      SKIP_REGULAR_EXPRESSION "cordon-test-skipped:")
endfunction()

# cordon_fuzzer(NAME <name> SOURCES <name>_fuzz.cc ... MODULES <m>...)
#
# Makes fuzz_<name>, which may include the private headers of MODULES. With CORDON_BUILD_FUZZERS it is a libFuzzer
# program; otherwise it replays corpus/<name>/* once, and ctest does that.
function(cordon_fuzzer)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;MODULES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_SOURCES)
    message(FATAL_ERROR "cordon_fuzzer: needs NAME and SOURCES; not understood: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target fuzz_${arg_NAME})

  add_executable(${target} ${arg_SOURCES})
  cordon_defaults(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzzers")
  foreach(module IN LISTS arg_MODULES)
    target_link_libraries(${target} PRIVATE cordon::${module})
    get_target_property(module_dir cordon_${module} SOURCE_DIR)
    target_include_directories(${target} PRIVATE "${module_dir}/src")
  endforeach()

  if(CORDON_BUILD_FUZZERS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${target})
  else()
    target_link_libraries(${target} PRIVATE cordon_fuzz_replay)
    add_test(NAME "fuzz.the corpus of ${arg_NAME} is handled"
      COMMAND ${target} "${CMAKE_CURRENT_SOURCE_DIR}/corpus/${arg_NAME}")
    set_tests_properties("fuzz.the corpus of ${arg_NAME} is handled" PROPERTIES TIMEOUT 60 LABELS fuzz)
  endif()
endfunction()
