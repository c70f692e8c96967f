#include "data/row_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/test_files.h"
#include "grbm/core/error.h"
#include "support/errors.h"
#include "support/variable.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Variable;

class RowStoreTest : public FolderTest {};

// Rows 0, 1, 2 ... of consecutive numbers, by appending parts of any length.
template <typename T>
Dataset Counted(RowStore& store, std::size_t count, std::size_t at_once) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(i);
  for (std::size_t i = 0; i < count; i += at_once) {
    store.Append(std::span<const T>(values).subspan(i, std::min(at_once, count - i)));
  }
  return Dataset(store.Finish({}, "a"));
}

TEST_F(RowStoreTest, InAFileAsInMemory) {
  for (const std::uint64_t limit :
       {std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{3'000'000}, ~std::uint64_t{0}}) {
    RowStore floats(3, false, limit);
    const Dataset data = Counted<float>(floats, 900'000, 7);  // 3.6 MB
    EXPECT_EQ(floats.in_file(), limit < 3'600'000);
    ASSERT_EQ(data.rows(), 300'000);
    const Matrix all = data.ReadAll();
    for (std::size_t i = 0; i < all.values().size(); ++i) ASSERT_EQ(all.values()[i], static_cast<float>(i));
    RowStore bytes(2, true, limit);
    EXPECT_THAT(Counted<std::uint8_t>(bytes, 6, 6).ReadAll().values(), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_EQ(bytes.in_file(), limit == 0);
  }
}

TEST_F(RowStoreTest, LeavesNoFileAndSaysWhereThereIsNoRoom) {
  const Variable place("TMPDIR", folder_.string());
  RowStore store(1, false, 0);
  const Dataset data = Counted<float>(store, 10, 3);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  EXPECT_THROW(RowStore(Index{1} << 40, false, 0).Expect(1 << 20), IoError);
  EXPECT_NO_THROW(RowStore(1, false, 0).Expect(1));
  const Variable nowhere("TMPDIR", "/nowhere");
  RowStore lost(1, false, 0);
  EXPECT_THAT(ErrorOf([&] { Counted<float>(lost, 1, 1); }), HasSubstr("set TMPDIR to a folder with room"));
  const Variable limit("GRBM_ROWS_IN_MEMORY", "12");
  EXPECT_EQ(RowsInMemory(), 12U);
  const Variable wrong("GRBM_ROWS_IN_MEMORY", "1G");
  EXPECT_THAT(ErrorOf([] { RowsInMemory(); }), HasSubstr("allowed is a whole number of bytes"));
}

}  // namespace
}  // namespace grbm
