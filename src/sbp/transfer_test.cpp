// Transfer lists: for each pair of placements the values that arrive are those of the whole tensor.
#include "sbp/transfer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"

namespace hw {
namespace {

const Ints kShape{7};

/// What each position holds of a vector 0, 1, ...; the partial parts of a sum are a third each way, of a maximum 100 lower.
std::vector<std::vector<double>> dealt(const Placement& p) {
  std::vector<std::vector<double>> parts;
  for (int64_t r = 0; r < p.mesh.size(); ++r) {
    std::vector<double> part;
    const Interval box = local_box(p, kShape, r)[0];
    const Ints at = p.mesh.coordinates(r);
    for (int64_t i = box.begin; i < box.end; ++i) {
      double v = static_cast<double>(i);
      for (size_t a = p.sbp.size(); a-- > 0;) {
        const bool owner = at[a] == i % p.mesh.shape[a];
        if (p.sbp[a] == partial_sum() && !owner) v = 0;
        if (p.sbp[a] == partial_max() && !owner) v -= 100;
      }
      part.push_back(v);
    }
    parts.push_back(part);
  }
  return parts;
}

std::vector<std::vector<double>> run(const TransferList& list, const std::vector<std::vector<double>>& parts) {
  std::vector<std::vector<double>> out;
  for (int64_t r = 0; r < list.target.mesh.size(); ++r) {
    const Sbp fill = list.fill[static_cast<size_t>(r)];
    const double start = fill == partial_max() ? -1e9 : fill == broadcast() ? NAN : 0;
    out.emplace_back(static_cast<size_t>(local_box(list.target, kShape, r)[0].size()), start);
  }
  for (const Transfer& t : list.transfers) {
    const int64_t from = local_box(list.source, kShape, t.from)[0].begin,
                  to = local_box(list.target, kShape, t.to)[0].begin;
    for (int64_t i = t.box[0].begin; i < t.box[0].end; ++i) {
      const double v = parts[static_cast<size_t>(t.from)][static_cast<size_t>(i - from)];
      double& y = out[static_cast<size_t>(t.to)][static_cast<size_t>(i - to)];
      y = !t.reduce ? v : list.reduction == partial_max() ? std::max(y, v) : y + v;
    }
  }
  return out;
}

/// Brought to a single rank.
std::vector<double> whole(const Placement& p, std::vector<std::vector<double>> parts) {
  for (const TransferList& step : boxing_steps(p, whole_on(make_mesh("cpu", {1})), kShape)) parts = run(step, parts);
  return parts[0];
}

TEST(Transfer, EveryPair) {
  const std::vector<double> values{0, 1, 2, 3, 4, 5, 6};
  const Mesh meshes[] = {make_mesh("cpu", {2, 2}), make_mesh("cpu", {3, 1}, {}, {1, 2, 3}),
                         make_mesh("cpu", {1, 2}, {}, {8, 9})};
  const Sbp kinds[] = {split(0), broadcast(), partial_sum(), partial_max()};
  for (const Mesh& m : meshes)
    for (const Mesh& n : meshes)
      for (int i = 0; i < 256; ++i) {
        const Placement from{m, {kinds[i & 3], kinds[i >> 2 & 3]}}, to{n, {kinds[i >> 4 & 3], kinds[i >> 6 & 3]}};
        auto parts = dealt(from);
        ASSERT_EQ(whole(from, parts), values) << text(from);
        for (const TransferList& step : boxing_steps(from, to, kShape)) parts = run(step, parts);
        EXPECT_EQ(whole(to, parts), values) << text(from) << " to " << text(to);
      }
}

TEST(Transfer, NothingMovesWhereNothingMust) {
  Mesh m = make_mesh("cpu", {4});
  EXPECT_TRUE(boxing_steps({m, {split(0)}}, {m, {split(0)}}, kShape).empty());
  auto slices = boxing_steps(whole_on(m), {m, {split(0)}}, kShape);
  for (const Transfer& t : slices[0].transfers) EXPECT_EQ(t.from, t.to);
  Mesh grid = make_mesh("cpu", {2, 2});  // the partial axis stays as it is
  slices = boxing_steps({grid, {partial_sum(), broadcast()}}, {grid, {partial_sum(), split(0)}}, kShape);
  for (const Transfer& t : slices[0].transfers) EXPECT_EQ(t.from, t.to);
}

TEST(Transfer, SumsOfManyRanksAreFormedInParts) {
  Mesh m = make_mesh("cpu", {4});
  const Ints shape{3, 8};
  auto steps = boxing_steps({m, {partial_sum()}}, whole_on(m), shape);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(text(steps[0].target), "cpu[axis0=4] [S(1)]");
  EXPECT_EQ(steps[0].transfers.size() + steps[1].transfers.size(), 32u);
  EXPECT_EQ(boxing_steps({m, {partial_sum()}}, whole_on(m), Ints{3}).size(), 1u);  // too short
  EXPECT_EQ(boxing_steps({m, {partial_sum()}}, whole_on(m), Ints{}).size(), 1u);
}

TEST(Transfer, Costs) {
  EXPECT_EQ(boxing_bytes(broadcast(), split(0), 80, 4), 0);
  EXPECT_EQ(boxing_bytes(split(0), broadcast(), 80, 4), 60);
  EXPECT_EQ(boxing_bytes(split(0), partial_sum(), 80, 4), 60);
  EXPECT_EQ(boxing_bytes(split(0), split(1), 80, 4), 15);
  EXPECT_EQ(boxing_bytes(partial_sum(), split(1), 80, 4), 60);
  EXPECT_EQ(boxing_bytes(partial_sum(), broadcast(), 80, 4), 120);
  EXPECT_EQ(boxing_bytes(partial_sum(), broadcast(), 80, 1), 0);
}

}  // namespace
}  // namespace hw
