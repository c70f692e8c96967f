# Installs the program, the library, its headers and a CMake package: find_package(grbm) gives the target grbm::grbm.
include(CMakePackageConfigHelpers)

install(TARGETS grbm EXPORT grbmTargets)
install(TARGETS grbm_program)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/grbm)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/grbmConfig.cmake.in" "${PROJECT_BINARY_DIR}/grbmConfig.cmake"
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/grbmConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/grbmConfig.cmake" "${PROJECT_BINARY_DIR}/grbmConfigVersion.cmake"
  DESTINATION ${package_dir})
install(EXPORT grbmTargets NAMESPACE grbm:: DESTINATION ${package_dir})
