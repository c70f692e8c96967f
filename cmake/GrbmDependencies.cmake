# What the library is linked with. The project includes this file, and so does the CMake package of a static library, whose
# users have to link all of it: there find_dependency is CMake's, here it is find_package. `needed` is REQUIRED or nothing.
find_dependency(Threads)
find_dependency(fmt)
find_dependency(tomlplusplus)
find_dependency(ZLIB)
find_dependency(PNG)
find_dependency(JPEG)
find_dependency(GIF)
find_dependency(OneDnn 2...<3)
find_dependency(PkgConfig)
pkg_check_modules(Highway ${needed} IMPORTED_TARGET libhwy)
pkg_check_modules(Cairo ${needed} IMPORTED_TARGET cairo>=1.16 cairo-pdf cairo-svg)
pkg_check_modules(Hdf5 IMPORTED_TARGET hdf5)  # where it is found
pkg_check_modules(HttpLib ${needed} IMPORTED_TARGET cpp-httplib)
