// The hash: stable over releases (cache entries and files depend on it), the same in pieces and at once.
#include "base/hash.h"

#include <gtest/gtest.h>

namespace hw {

TEST(Hash, IsTheSameInPiecesAndAtOnce) {
  std::string data;
  for (int i = 0; i < 1000; ++i) data += std::to_string(i * i);
  const Hash128 whole = hash128(data.data(), data.size());
  Hasher pieces;
  for (size_t at = 0; at < data.size(); at += 77) pieces.add(data.data() + at, std::min<size_t>(77, data.size() - at));
  EXPECT_EQ(pieces.result(), whole);
  data[500] ^= 1;
  EXPECT_NE(hash128(data.data(), data.size()), whole);
}

TEST(Hash, IsThatOfXxh3) {
  EXPECT_EQ(hex(hash128("", 0)),
            "99aa06d3014798d86001c324468d497f");  // from the algorithm's own documentation of empty input
}

TEST(Hash, TextsKeepTheirBounds) {
  Hasher a, b;
  a.add_text("ab"), a.add_text("c");
  b.add_text("a"), b.add_text("bc");
  EXPECT_NE(a.result(), b.result());
}

}  // namespace hw
