// CRC-32 as zlib and PNG compute it (polynomial 0x04C11DB7, reflected).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dygraph::program {

namespace detail {
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;
constexpr CrcTables MakeCrcTables() {
  CrcTables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
    tables[0][i] = c;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (int t = 1; t < 8; ++t)
      tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 255];
  }
  return tables;
}
}  // namespace detail

// Goes on from the CRC of the bytes before (0 at the start). Eight bytes a step: about 2 GB a
// second.
inline uint32_t Crc32(uint32_t crc, const void* data, size_t size) {
  static constexpr detail::CrcTables t = detail::MakeCrcTables();
  const uint8_t* p = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (; size >= 8; size -= 8, p += 8) {
    uint32_t low = crc ^ (p[0] | p[1] << 8 | p[2] << 16 | static_cast<uint32_t>(p[3]) << 24);
    crc = t[7][low & 255] ^ t[6][low >> 8 & 255] ^ t[5][low >> 16 & 255] ^ t[4][low >> 24] ^
          t[3][p[4]] ^ t[2][p[5]] ^ t[1][p[6]] ^ t[0][p[7]];
  }
  for (; size > 0; --size, ++p) crc = t[0][(crc ^ *p) & 255] ^ crc >> 8;
  return ~crc;
}

}  // namespace dygraph::program
