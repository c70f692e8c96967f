# Installs the program, the library, its headers and a CMake package: find_package(grbm) gives the target grbm::grbm.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/grbm)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/grbmConfigVersion.cmake" COMPATIBILITY SameMinorVersion)

# grbm_install_library(<target> <options>...): the library, its headers and the package; options are those of install().
function(grbm_install_library target)
  get_target_property(type ${target} TYPE)
  string(COMPARE EQUAL ${type} SHARED_LIBRARY shared)
  set(config "${PROJECT_BINARY_DIR}/package/${target}/grbmConfig.cmake")
  configure_package_config_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/grbmConfig.cmake.in" "${config}"
    INSTALL_DESTINATION ${package_dir})

  install(TARGETS ${target} EXPORT ${target}Targets ${ARGN})
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${ARGN})
  install(EXPORT ${target}Targets FILE grbmTargets.cmake NAMESPACE grbm:: DESTINATION ${package_dir} ${ARGN})
  install(FILES "${config}" "${PROJECT_BINARY_DIR}/grbmConfigVersion.cmake" DESTINATION ${package_dir} ${ARGN})
  if(NOT shared)
    install(FILES "${PROJECT_SOURCE_DIR}/cmake/GrbmDependencies.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindOneDnn.cmake"
      DESTINATION ${package_dir} ${ARGN})
  endif()
endfunction()

grbm_install_library(grbm)
install(TARGETS grbm_program)
