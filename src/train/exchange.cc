#include "train/exchange.h"

#include <algorithm>
#include <thread>

namespace grbm {

using kernels::kPanel;
using kernels::PanelView;
using kernels::Rows;

namespace {

// Some panels of the products of some pieces, piece after piece.
class PanelBlock {
 public:
  PanelBlock(Index hidden, Index visible, Rows panels, Index pieces, AlignedVector<float>& memory)
      : hidden_(hidden), visible_(visible), panels_(panels), values_(memory) {
    values_.resize(ToSize(pieces * panels.count * hidden * kPanel));
  }

  // A view of one panel that stands for each.
  PanelView At(Index piece, Index panel) {
    const Index place = (piece * panels_.count + panel - panels_.first) * hidden_ * kPanel;
    return {values_.data() + place, hidden_, visible_, 0};
  }
  std::span<float> values() { return values_; }
  std::span<float> PartOf(Rows pieces) {
    const std::size_t piece = ToSize(panels_.count * hidden_ * kPanel);
    return values().subspan(ToSize(pieces.first) * piece, ToSize(pieces.count) * piece);
  }

 private:
  Index hidden_;
  Index visible_;
  Rows panels_;
  AlignedVector<float>& values_;
};

// Of one rank's exchange, kept from update to update: to have fresh pages takes longer than to send them.
struct Memory {
  AlignedVector<float> mine;
  std::vector<AlignedVector<float>> sent;
};

// Of a rank: the vectors of its pieces' sums, data and chains in turns, and its report.
std::vector<std::vector<double>> GatherVectors(Ranks& ranks, const BatchSplit& split, std::span<const PieceSums> own,
                                               std::size_t size, std::span<const std::size_t> report_sizes,
                                               std::span<const double> report) {
  std::vector<std::vector<double>> all;
  for (int r = 0; r < ranks.count(); ++r) {
    all.emplace_back(2 * ToSize(split.PiecesOfRank(r).count) * size + report_sizes[static_cast<std::size_t>(r)]);
  }
  auto to = all[static_cast<std::size_t>(ranks.rank())].begin();
  for (const PieceSums& piece : own) {
    to = std::ranges::copy(piece.data->vector(), to).out;
    to = std::ranges::copy(piece.chains->vector(), to).out;
  }
  std::ranges::copy(report, to);
  GatherAll(ranks, all);
  return all;
}

// The rows of visible units that some panels have.
Rows Units(Rows panels, Index visible) {
  const Index first = std::min(visible, panels.first * kPanel);
  return {first, std::min(visible, (panels.first + panels.count) * kPanel) - first};
}

// Each rank's rows of the gradient to all.
void ShareRows(Ranks& ranks, const BatchSplit& split, Parameters& gradient) {
  for (int r = 0; r < ranks.count(); ++r) {
    if (r == ranks.rank()) continue;
    const auto parts = [&](int owner) {
      const Rows units = Units(split.PanelsOfRank(owner), gradient.W.rows());
      std::vector<std::span<float>> rows;
      for (const auto& tensor : gradient.Tensors()) {
        if (tensor.units == UnitKind::kVisible) rows.push_back(tensor.Rows(units.first, units.count));
      }
      return rows;
    };
    for (const std::span<float> part : parts(r)) Receive<float>(ranks, r, part);
    for (const std::span<const float> part : parts(ranks.rank())) Send<float>(ranks, r, part);
  }
  ranks.Wait();
}

}  // namespace

Exchanged ExchangeGradient(Ranks& ranks, const BatchSplit& split, const Model& model, std::span<const PieceSums> own,
                           const GradientScale& scale, std::span<const std::size_t> report_sizes,
                           std::span<const double> report, StateSums::Visible kind, Parameters& gradient,
                           ThreadPool& pool) {
  const auto [visible, hidden] = std::pair(model.visible(), model.hidden());
  // Step 1. What the other ranks' pieces make of this rank's panels is on its way while this one's are made, and the thread that
  // speaks for the rank helps it along; each is sent as soon as it is there, the next rank's first, so that not all send to one.
  static thread_local Memory memory;
  memory.sent.resize(ToSize(ranks.count() - 1));
  PanelBlock mine(hidden, visible, split.PanelsOfRank(ranks.rank()), split.pieces(), memory.mine);
  for (int r = 0; r < ranks.count(); ++r) {
    if (r != ranks.rank()) Receive<float>(ranks, r, mine.PartOf(split.PiecesOfRank(r)));
  }
  std::vector<PanelBlock> sent;
  sent.reserve(ToSize(ranks.count()));
  const std::thread::id speaker = std::this_thread::get_id();
  const auto make = [&](PanelBlock& block, Index first_piece, Rows panels) {
    pool.ParallelFor(static_cast<Index>(own.size()) * panels.count, [&](Index k) {
      const Index panel = panels.first + k % panels.count;
      const Index piece = k / panels.count;
      PanelDifference(own[ToSize(piece)], scale.counted, panel, block.At(first_piece + piece, panel),
                      kernels::Sums::kReplace);
      if (std::this_thread::get_id() == speaker) ranks.Progress();
    });
  };
  for (int next = 1; next < ranks.count(); ++next) {
    const int to = (ranks.rank() + next) % ranks.count();
    const Rows panels = split.PanelsOfRank(to);
    sent.emplace_back(hidden, visible, panels, static_cast<Index>(own.size()), memory.sent[ToSize(next - 1)]);
    make(sent.back(), 0, panels);
    Send<float>(ranks, to, sent.back().values());
  }
  make(mine, split.PiecesOfRank(ranks.rank()).first, split.PanelsOfRank(ranks.rank()));

  // Step 2. The small sums of all pieces, to all; with them all that was begun is done.
  const std::size_t vector_size = StateSums::VectorSize(model, kind);
  const std::vector<std::vector<double>> all = GatherVectors(ranks, split, own, vector_size, report_sizes, report);
  Exchanged exchanged;
  std::vector<std::span<const double>> data;
  std::vector<std::span<const double>> chains;
  for (int r = 0; r < ranks.count(); ++r) {
    std::span<const double> rest = all[static_cast<std::size_t>(r)];
    for (Index piece = 0; piece < split.PiecesOfRank(r).count; ++piece) {
      data.push_back(rest.first(vector_size));
      chains.push_back(rest.subspan(vector_size, vector_size));
      rest = rest.subspan(2 * vector_size);
    }
    exchanged.reports.emplace_back(rest.begin(), rest.end());
  }
  exchanged.data = AddInOrder(data);
  const GradientOfSums write(model, exchanged.data, AddInOrder(chains), scale.counted, scale.factor, pool);

  // Step 3. The rows of this rank's panels, to all.
  const Rows panels = split.PanelsOfRank(ranks.rank());
  pool.ParallelFor(panels.count, [&](Index k) {
    const Index panel = panels.first + k;
    const PanelView sum = mine.At(0, panel);
    for (Index piece = 1; piece < split.pieces(); ++piece) AddPanel(mine.At(piece, panel), panel, sum);
    write.WritePanel(panel, sum, gradient);
  });
  write.WriteHidden(gradient);
  ShareRows(ranks, split, gradient);
  return exchanged;
}

Matrix GatherBatch(Ranks& ranks, const BatchSplit& split, Matrix own) {
  return GatherRows(ranks, std::move(own), split.rows(), [&](int rank) { return split.RowsOfRank(rank).count; });
}

BitMatrix GatherBatch(Ranks& ranks, const BatchSplit& split, BitMatrix own) {
  if (ranks.count() == 1) return own;
  std::vector<std::vector<std::uint64_t>> all;
  const auto view = [&](int r) {
    const Index rows = split.RowsOfRank(r).count;
    return BitView(all[static_cast<std::size_t>(r)].data(), rows, own.units(), rows);
  };
  for (int r = 0; r < ranks.count(); ++r) all.emplace_back(ToSize(split.RowsOfRank(r).count * own.view().groups()));
  CopyRows(own, view(ranks.rank()));
  GatherAll(ranks, all);
  BitMatrix batch(split.rows(), own.units());
  for (int r = 0; r < ranks.count(); ++r) {
    const Rows rows = split.RowsOfRank(r);
    CopyRows(view(r), batch.view().Rows(rows.first, rows.count));
  }
  return batch;
}

}  // namespace grbm
