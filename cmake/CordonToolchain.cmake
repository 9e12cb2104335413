# What holds for every target of this tree: language level, warnings, hardening, sanitizers, ccache.
include_guard(GLOBAL)
include(CheckPIESupported)
include(GNUInstallDirs)

check_pie_supported()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_program(CORDON_CCACHE ccache)
mark_as_advanced(CORDON_CCACHE)
if(PROJECT_IS_TOP_LEVEL AND CORDON_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CORDON_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CORDON_CCACHE})
endif()

# cordon_defaults(<target> [NO_SANITIZE]): applies them to one target. NO_SANITIZE is for programs that cannot
# carry a sanitizer's runtime, such as a static one that runs without libc's usual set-up.
function(cordon_defaults target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_SANITIZE" "" "")
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<BOOL:${CORDON_WERROR}>:-Werror>
    -fstack-protector-strong)
  target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)

  if(CORDON_SANITIZE AND NOT arg_NO_SANITIZE)
    set(sanitize -fsanitize=${CORDON_SANITIZE} -fno-omit-frame-pointer)
    # GCC's flow analysis is wrong about instrumented code, that of its own standard library included.
    target_compile_options(${target} PRIVATE ${sanitize} -fno-sanitize-recover=all
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
      $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
    target_link_options(${target} PRIVATE ${sanitize})
    # Compilers tell it in ways of their own.
    string(REGEX MATCH "address|thread" kind "${CORDON_SANITIZE}")
    string(TOUPPER "${kind}" kind)
    target_compile_definitions(${target} PRIVATE CORDON_${kind}_SANITIZER)
  else()
    # Some distributions define it already, at another level.
    target_compile_options(${target} PRIVATE
      $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  endif()
  target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now,-z,noexecstack)
endfunction()
