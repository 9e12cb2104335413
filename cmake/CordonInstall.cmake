# Install rules: the CMake package cordonConfig.cmake, and one relocatable .pc file a module.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

set(CORDON_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/cordon")
set(CORDON_PKGCONFIG_DIR "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# Header-only libraries that only our sources include: a consumer needs nothing of them.
set(CORDON_BUILD_ONLY_DEPS nlohmann_json::nlohmann_json CLI11::CLI11)

# Sets <out> to the name that pkg-config has for a CMake target; empty where there is none.
function(cordon_pkgconfig_name dep out)
  set(name "")
  if(dep MATCHES "^cordon::(.+)$")
    set(name "cordon-${CMAKE_MATCH_1}")
  elseif(dep MATCHES "^absl::(.+)$")
    set(name "absl_${CMAKE_MATCH_1}")
  elseif(dep STREQUAL "OpenSSL::Crypto")
    set(name "libcrypto")
  elseif(dep STREQUAL "OpenSSL::SSL")
    set(name "libssl")
  elseif(dep STREQUAL "PkgConfig::LIBSECCOMP")
    set(name "libseccomp")
  elseif(NOT dep STREQUAL "Threads::Threads" AND NOT dep IN_LIST CORDON_BUILD_ONLY_DEPS)
    message(FATAL_ERROR "no pkg-config name is known for ${dep}: add it in cmake/CordonInstall.cmake")
  endif()
  set(${out} "${name}" PARENT_SCOPE)
endfunction()

# cordon_install_library(<m> PUBLIC_DEPS ... PRIVATE_DEPS ...): called by cordon_library.
function(cordon_install_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC_DEPS;PRIVATE_DEPS")
  if(NOT CORDON_INSTALL)
    return()
  endif()
  install(TARGETS cordon_${name} EXPORT cordonTargets FILE_SET HEADERS)
  set_property(GLOBAL APPEND PROPERTY CORDON_INSTALLED_MODULES ${name})
  set_property(GLOBAL APPEND PROPERTY CORDON_INSTALLED_DEPS ${arg_PUBLIC_DEPS} ${arg_PRIVATE_DEPS})

  foreach(kind PUBLIC PRIVATE)
    set(names "")
    foreach(dep IN LISTS arg_${kind}_DEPS)
      cordon_pkgconfig_name(${dep} pc)
      list(APPEND names ${pc})
    endforeach()
    list(JOIN names ", " PC_${kind})
  endforeach()
  set(PC_NAME ${name})
  # Relative to the file itself, so that an installed tree can be moved.
  file(RELATIVE_PATH PC_PREFIX "/${CORDON_PKGCONFIG_DIR}" "/")
  string(REGEX REPLACE "/$" "" PC_PREFIX "${PC_PREFIX}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/module.pc.in"
    "${PROJECT_BINARY_DIR}/pkgconfig/cordon-${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/pkgconfig/cordon-${name}.pc" DESTINATION "${CORDON_PKGCONFIG_DIR}")
endfunction()

# cordon_install_package(): called once, after all modules.
function(cordon_install_package)
  get_property(modules GLOBAL PROPERTY CORDON_INSTALLED_MODULES)
  if(NOT modules)
    return()
  endif()
  get_property(deps GLOBAL PROPERTY CORDON_INSTALLED_DEPS)
  set(CORDON_NEEDS_OPENSSL OFF)
  if(deps MATCHES "OpenSSL::")
    set(CORDON_NEEDS_OPENSSL ON)
  endif()
  set(CORDON_NEEDS_LIBSECCOMP OFF)
  if(deps MATCHES "PkgConfig::LIBSECCOMP")
    set(CORDON_NEEDS_LIBSECCOMP ON)
  endif()
  set(CORDON_INSTALLED_MODULES ${modules})

  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/cordonConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/cordonConfig.cmake"
    INSTALL_DESTINATION "${CORDON_PACKAGE_DIR}" NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/cordonConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/cordonConfig.cmake" "${PROJECT_BINARY_DIR}/cordonConfigVersion.cmake"
    DESTINATION "${CORDON_PACKAGE_DIR}")
  install(EXPORT cordonTargets NAMESPACE cordon:: DESTINATION "${CORDON_PACKAGE_DIR}")
endfunction()
