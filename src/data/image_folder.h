// A folder of images as data.
#pragma once

#include <string>
#include <vector>

#include "grbm/core/parallel.h"
#include "grbm/data/dataset.h"
#include "grbm/data/options.h"

namespace grbm {

struct FolderImages {
  std::vector<std::string> names;  // sorted; of the folders of classes as "class/name"
  std::vector<std::string> notes;  // folders in which there are none
};
// The PNG and JPEG files in the folder, by their endings. Hidden files, other files and folders do not count, except that
// images of other formats are refused. Where there are none, those of the folders in it, of which folders of runs do not
// count. Throws IoError where the folder cannot be read, DataError where it holds no image, or images beside folders of
// them.
FolderImages ListImages(const std::string& folder);

// True where CelebA's partition file is in the folder or beside it.
bool HasPartition(const std::string& folder);

struct ImageSizes {
  Index count = 0;
  Index smallest = 0;  // side of all
  Index largest = 0;
};
// By the files' first bytes: nothing is decoded, unless these do not tell.
ImageSizes MeasureImages(const std::string& folder);

// Those of the names that CelebA's partition file list_eval_partition.txt, in the folder or beside it, counts to the
// split. Without such a file "train" and "all" are all of them. Throws ConfigError for other splits, DataError for a
// file that is not valid.
std::vector<std::string> SelectSplit(const std::string& folder, std::vector<std::string> names,
                                     const std::string& split);

// Decodes the images, those of each class with a label, each cropped and resized, in parallel; an error is that of the first bad image.
Dataset LoadImages(const std::string& folder, const std::vector<std::string>& names, Index crop, Index resize,
                   ThreadPool& pool, const LoadProgress& progress);

// Crops and resizes the rows of 8-bit images.
Dataset TransformImages(const Dataset& data, Index crop, Index resize, ThreadPool& pool);

}  // namespace grbm
