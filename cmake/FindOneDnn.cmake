# oneDNN 2, for convolutions. Its own CMake package asks for OpenCL's headers, which nothing here needs. Defines the
# target OneDnn::OneDnn, with the OpenMP library that it takes its number of threads from.
find_path(OneDnn_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(OneDnn_LIBRARY dnnl)
find_package(OpenMP QUIET COMPONENTS CXX)
if(OneDnn_INCLUDE_DIR)
  file(STRINGS "${OneDnn_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" OneDnn_VERSION REGEX "define DNNL_VERSION_MAJOR")
  string(REGEX MATCH "[0-9]+" OneDnn_VERSION "${OneDnn_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDnn
  REQUIRED_VARS OneDnn_LIBRARY OneDnn_INCLUDE_DIR OpenMP_CXX_FOUND VERSION_VAR OneDnn_VERSION HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE "Debian 12: apt-get install libdnnl-dev. Elsewhere: oneDNN 2 built for OpenMP, given by \
-DOneDnn_LIBRARY=.../libdnnl.so -DOneDnn_INCLUDE_DIR=...")

if(OneDnn_FOUND AND NOT TARGET OneDnn::OneDnn)
  add_library(OneDnn::OneDnn SHARED IMPORTED)
  set_target_properties(OneDnn::OneDnn PROPERTIES IMPORTED_LOCATION "${OneDnn_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${OneDnn_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES OpenMP::OpenMP_CXX)
endif()
mark_as_advanced(OneDnn_INCLUDE_DIR OneDnn_LIBRARY)
