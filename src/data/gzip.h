// Compressed files whose content is not to be trusted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace grbm {

// Whether the bytes open a gzip file.
bool IsGzip(std::string_view bytes);

// At most the first `count` bytes of the content. Throws DataError, opened by `where`, where the data are damaged.
std::string GunzipStart(std::string_view compressed, std::size_t count, const std::string& where);

// The whole content, of one member or several. Throws DataError where it is damaged, cut short or longer than
// `max_size`. Memory grows with what was really inflated, never with what a header claims.
std::string Gunzip(std::string_view compressed, std::size_t max_size, const std::string& where);

}  // namespace grbm
