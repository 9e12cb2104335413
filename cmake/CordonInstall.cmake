# Install rules: the CMake package cordonConfig.cmake, and one relocatable .pc file a module.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

set(CORDON_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/cordon")

# cordon_install_library(<m> PUBLIC_DEPS ... PRIVATE_DEPS ...): called by cordon_library.
function(cordon_install_library name)
  if(NOT CORDON_INSTALL)
    return()
  endif()
  install(TARGETS cordon_${name} EXPORT cordonTargets FILE_SET HEADERS)
endfunction()

# cordon_install_package(): called once, after all modules.
function(cordon_install_package)
endfunction()
