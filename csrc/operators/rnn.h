// The stacked recurrent network of the operator rnn: shapes, buffers, and the two passes, for real
// and for dual numbers.
#pragma once

#include "kernels/philox.h"
#include "operators/arguments.h"
#include "operators/recurrent.h"

namespace dygraph::recurrent {

struct RnnAttrs {
  float dropout_prob = 0.0f;
  bool is_bidirec = false;
  int32_t input_size = 10, hidden_size = 100, num_layers = 1;
  std::string mode = "LSTM";
  int32_t seed = 0;
  bool is_test = false;

  int gates() const { return mode == "LSTM" ? 4 : mode == "GRU" ? 3 : 1; }
  int states() const { return mode == "LSTM" ? 2 : 1; }
  int directions() const { return is_bidirec ? 2 : 1; }
  int64_t cells() const { return int64_t{num_layers} * directions(); }
  bool drops() const { return dropout_prob > 0 && !is_test && num_layers > 1; }
  // Numbers a row and hidden unit leaves for the backward pass, in each cell.
  int64_t kept() const { return mode == "LSTM" ? 7 : mode == "GRU" ? 5 : 1; }
};

// The slots of the inputs, in rnn and its gradients alike.
constexpr int kRnnInput = 0, kRnnPreState = 1, kRnnWeights = 2, kRnnLengths = 3;

template <class V>
class Rnn {
 public:
  using T = Real<V>;
  using Numbers = std::vector<V>;

  // `along`: the slot with the direction of Input, those of PreState and WeightList follow; or -1.
  Rnn(const KernelContext& ctx, int along)
      : attrs_(ctx.attrs<RnnAttrs>()), gates_(attrs_.gates()), directions_(attrs_.directions()) {
    const Tensor& x = ctx.In(kRnnInput);
    hidden_ = attrs_.hidden_size;
    int64_t width = x.dim(x.rank() - 1);
    packing_ = PackInput(ctx, x, false);
    batch_ = packing_.steps.batch;
    if (directions_ == 2) {
      // rows of the backward direction as packed rows of the forward one
      std::vector<int64_t> place(x.rank() == 2 ? x.dim(0) : x.dim(0) * x.dim(1));
      for (size_t p = 0; p < packing_.source.size(); ++p) place[packing_.source[p]] = p;
      for (int64_t source : PackInput(ctx, x, true).source) turned_.push_back(place[source]);
    }
    auto at = [&](int slot, int i) { return along < 0 ? nullptr : ctx.InOrNull(along + slot, i); };
    const Tensor* x_along = at(kRnnInput, 0);
    input_.resize(rows() * width);
    GatherRows<V>(x.data<T>(), x_along ? x_along->data<T>() : nullptr, packing_.source, width,
                  input_.data());
    for (int i = 0; i < ctx.InputCount(kRnnWeights); ++i)
      weights_.push_back(Read<V>(ctx.In(kRnnWeights, i), at(kRnnWeights, i)));
    for (int s = 0; s < attrs_.states(); ++s) {
      const Tensor &state = ctx.In(kRnnPreState, s), *direction = at(kRnnPreState, s);
      for (int64_t k = 0; k < attrs_.cells(); ++k) {
        first_[s].emplace_back(batch_ * hidden_);
        GatherRows<V>(state.data<T>(), direction ? direction->data<T>() : nullptr, StateRows(k),
                      hidden_, first_[s].back().data());
      }
    }
  }

  int64_t rows() const { return packing_.steps.rows(); }
  int64_t KeptNumbers() const { return attrs_.cells() * rows() * hidden_ * attrs_.kept(); }

  // `kept` [KeptNumbers()] holds the forward pass; `mask`, a byte for each number that goes from
  // one layer to the next, may be null.
  void Use(V* kept, const uint8_t* mask) {
    kept_ = kept;
    mask_ = mask;
  }

  void Forward() {
    for (int layer = 0; layer < attrs_.num_layers; ++layer) {
      Numbers x = LayerInput(layer);
      for (int d = 0; d < directions_; ++d)
        ForwardCell(Cell(layer, d), d ? Turn(x) : x, Width(layer));
    }
  }

  // Rows beyond a sequence are zeros.
  void WriteOut(Tensor* out, bool derivatives) const {
    T* to = out->mutable_data<T>();
    std::fill(to, to + out->numel(), T(0));
    Numbers top = Joined(attrs_.num_layers - 1);
    ScatterRows(top.data(), packing_.source, directions_ * hidden_, to, derivatives);
  }
  void WriteState(int s, Tensor* out, bool derivatives) const {
    Numbers last(batch_ * hidden_);
    for (int64_t k = 0; k < attrs_.cells(); ++k) {
      kernels::LastRows(packing_.steps, first_[s][k].data(), s ? CellStates(k) : Hidden(k), hidden_,
                        last.data());
      ScatterRows(last.data(), StateRows(k), hidden_, out->mutable_data<T>(), derivatives);
    }
  }

  struct Gradients {
    Numbers input;
    std::vector<Numbers> states[2], weights;
  };
  // From the gradients of Out and State in slots `out` and `state`.
  Gradients Backward(const KernelContext& ctx, int out, int state) const {
    Gradients g;
    g.weights.resize(weights_.size());
    for (int s = 0; s < attrs_.states(); ++s) {
      const Tensor* arriving = ctx.InOrNull(state, s);
      g.states[s].assign(attrs_.cells(), Numbers(batch_ * hidden_, V(0)));
      for (int64_t k = 0; arriving && k < attrs_.cells(); ++k) {
        GatherRows<V>(arriving->data<T>(), nullptr, StateRows(k), hidden_, g.states[s][k].data());
      }
    }
    int64_t width = directions_ * hidden_;
    Numbers d_out(rows() * width, V(0));
    if (const Tensor* arriving = ctx.InOrNull(out))
      GatherRows<V>(arriving->data<T>(), nullptr, packing_.source, width, d_out.data());
    for (int layer = attrs_.num_layers - 1; layer >= 0; --layer) {
      Numbers x = LayerInput(layer), d_in(rows() * Width(layer), V(0));
      for (int d = 0; d < directions_; ++d) BackwardCell(layer, d, x, d_out, &d_in, &g);
      if (layer > 0) Drop(layer - 1, &d_in);
      d_out = std::move(d_in);
    }
    g.input = std::move(d_out);
    return g;
  }

  // To the outputs Input, PreState and WeightList.
  void WriteGradients(KernelContext& ctx, const Gradients& g, bool derivatives) const {
    if (Tensor* to = ctx.OutOrNull(kRnnInput)) {
      T* data = to->mutable_data<T>();
      std::fill(data, data + to->numel(), T(0));
      ScatterRows(g.input.data(), packing_.source, to->dim(to->rank() - 1), data, derivatives);
    }
    for (int s = 0; s < attrs_.states(); ++s) {
      Tensor* to = ctx.OutOrNull(kRnnPreState, s);
      for (int64_t k = 0; to && k < attrs_.cells(); ++k) {
        ScatterRows(g.states[s][k].data(), StateRows(k), hidden_, to->mutable_data<T>(),
                    derivatives);
      }
    }
    for (size_t i = 0; i < g.weights.size(); ++i) {
      if (Tensor* to = ctx.OutOrNull(kRnnWeights, static_cast<int>(i)))
        Write(g.weights[i].data(), to->numel(), to->mutable_data<T>(), derivatives);
    }
  }

 private:
  // [rows, width] with LoD, or [time, batch, width] with or without lengths.
  static Packing PackInput(const KernelContext& ctx, const Tensor& x, bool reversed) {
    if (x.rank() == 2) return PackLoD(sequence::LastLevel(x, "Input"), reversed);
    int64_t steps = x.dim(0), batch = x.dim(1);
    std::vector<int64_t> lengths(batch, steps);
    if (const Tensor* given = ctx.InOrNull(kRnnLengths)) {
      lengths = Integers(*given, "SequenceLength");
      for (size_t b = 0; b < lengths.size(); ++b) {
        ENFORCE(lengths[b] >= 0 && lengths[b] <= steps, OutOfRange,
                "each of SequenceLength must lie in [0, ", steps,
                "], the number of time steps, got ", lengths[b], " at position ", b);
      }
    }
    return Pack(lengths, reversed, [&](int64_t s, int64_t t) { return t * batch + s; });
  }

  int64_t Cell(int layer, int direction) const { return layer * directions_ + direction; }
  int64_t Width(int layer) const { return layer == 0 ? attrs_.input_size : directions_ * hidden_; }
  const Numbers& Weight(int64_t cell, int which) const { return weights_[2 * cell + which]; }
  const Numbers& Bias(int64_t cell, int which) const {
    return weights_[weights_.size() / 2 + 2 * cell + which];
  }
  std::vector<int64_t> StateRows(int64_t cell) const {
    std::vector<int64_t> rows = packing_.order;
    for (int64_t& r : rows) r += cell * batch_;
    return rows;
  }

  // Where a cell's numbers lie in kept_: gates, h, then c and cell(c), or q.
  V* Gates(int64_t cell) const { return kept_ + cell * rows() * hidden_ * attrs_.kept(); }
  V* Hidden(int64_t cell) const { return Gates(cell) + (gates_ > 1 ? gates_ * Block() : 0); }
  V* CellStates(int64_t cell) const { return Hidden(cell) + Block(); }
  int64_t Block() const { return rows() * hidden_; }

  kernels::Lstm<V> LstmCell(int64_t k) const {
    kernels::Lstm<V> cell{packing_.steps, hidden_};
    cell.h0 = first_[0][k].data();
    cell.c0 = first_[1][k].data();
    cell.gates = Gates(k);
    cell.h = Hidden(k);
    cell.c = CellStates(k);
    cell.cell = CellStates(k) + Block();
    return cell;
  }
  kernels::LateResetGru<V> GruCell(int64_t k) const {
    return {packing_.steps, hidden_, first_[0][k].data(), Gates(k), CellStates(k), Hidden(k)};
  }
  kernels::SimpleRnn<V> SimpleCell(int64_t k) const {
    kernels::Act act = attrs_.mode == "RNN_TANH" ? kernels::Act::kTanh : kernels::Act::kRelu;
    return {packing_.steps, hidden_, act, first_[0][k].data(), Hidden(k)};
  }

  Numbers Turn(const Numbers& x) const {  // rows in the order of the backward direction
    Numbers turned(x.size());
    int64_t width = rows() ? static_cast<int64_t>(x.size()) / rows() : 0;
    for (int64_t p = 0; p < rows(); ++p)
      std::copy_n(x.data() + turned_[p] * width, width, turned.data() + p * width);
    return turned;
  }
  int64_t RowOf(int direction, int64_t p) const { return direction ? turned_[p] : p; }

  // The directions' h side by side.
  Numbers Joined(int layer) const {
    int64_t width = directions_ * hidden_;
    Numbers x(rows() * width);
    for (int d = 0; d < directions_; ++d) {
      const V* h = Hidden(Cell(layer, d));
      for (int64_t p = 0; p < rows(); ++p)
        std::copy_n(h + p * hidden_, hidden_, x.data() + RowOf(d, p) * width + d * hidden_);
    }
    return x;
  }
  Numbers LayerInput(int layer) const {
    if (layer == 0) return input_;
    Numbers x = Joined(layer - 1);
    Drop(layer - 1, &x);
    return x;
  }
  void Drop(int boundary, Numbers* x) const {
    if (!mask_) return;
    V factor(attrs_.dropout_prob < 1 ? static_cast<T>(1 / (1 - double{attrs_.dropout_prob}))
                                     : T(0));
    const uint8_t* mask = mask_ + boundary * x->size();
    for (size_t i = 0; i < x->size(); ++i) (*x)[i] = mask[i] ? (*x)[i] * factor : V(0);
  }

  void ForwardCell(int64_t k, const Numbers& x, int64_t width) {
    int64_t g = gates_ * hidden_;
    V* to = gates_ > 1 ? Gates(k) : Hidden(k);
    kernels::Product(false, true, rows(), g, width, x.data(), width, Weight(k, 0).data(), width,
                     false, to, g);
    kernels::AddToRows(to, rows(), g, g, Bias(k, 0).data());
    bool late = attrs_.mode == "GRU";  // the third block's second bias joins behind the reset gate
    kernels::AddToRows(to, rows(), late ? 2 * hidden_ : g, g, Bias(k, 1).data());
    Numbers forth(hidden_ * g);
    kernels::TransposeInto(Weight(k, 1).data(), g, hidden_, forth.data());
    if (late) return GruCell(k).Forward(forth.data(), Bias(k, 1).data() + 2 * hidden_);
    if (gates_ == 4) return LstmCell(k).Forward(forth.data());
    SimpleCell(k).Forward(forth.data());
  }

  void BackwardCell(int layer, int direction, const Numbers& x, const Numbers& d_out, Numbers* d_in,
                    Gradients* g) const {
    int64_t k = Cell(layer, direction), n = rows(), all = gates_ * hidden_, wide = Width(layer);
    int64_t stride = directions_ * hidden_;
    Numbers d_h(n * hidden_), d_gates(n * all), d_late;
    for (int64_t p = 0; p < n; ++p)
      std::copy_n(d_out.data() + RowOf(direction, p) * stride + direction * hidden_, hidden_,
                  d_h.data() + p * hidden_);
    const V* back = Weight(k, 1).data();
    V* d_first = g->states[0][k].data();
    if (gates_ == 4) {
      LstmCell(k).Backward(back, d_h.data(), nullptr, d_gates.data(), d_first,
                           g->states[1][k].data(), nullptr);
    } else if (gates_ == 3) {
      d_late.resize(n * all);
      GruCell(k).Backward(back, d_h.data(), d_gates.data(), d_late.data(), d_first);
    } else {
      SimpleCell(k).Backward(back, d_h.data(), d_gates.data(), d_first);
    }
    const Numbers& d_hidden = d_late.empty() ? d_gates : d_late;
    Numbers before(n * hidden_), turned = direction ? Turn(x) : Numbers(), d_x(n * wide);
    kernels::PreviousRows(packing_.steps, first_[0][k].data(), Hidden(k), hidden_, before.data());
    auto weights = [&](int64_t i, const Numbers& d, const V* from, int64_t columns) {
      g->weights[i].resize(all * columns);
      kernels::Product(true, false, all, columns, n, d.data(), all, from, columns, false,
                       g->weights[i].data(), columns);
    };
    auto bias = [&](int64_t i, const Numbers& d) {
      g->weights[i].resize(all);
      kernels::ColumnSums(d.data(), n, all, all, g->weights[i].data());
    };
    int64_t half = weights_.size() / 2;
    weights(2 * k, d_gates, direction ? turned.data() : x.data(), wide);
    weights(2 * k + 1, d_hidden, before.data(), hidden_);
    bias(half + 2 * k, d_gates);
    bias(half + 2 * k + 1, d_hidden);
    kernels::Product(false, false, n, wide, all, d_gates.data(), all, Weight(k, 0).data(), wide,
                     false, d_x.data(), wide);
    for (int64_t p = 0; p < n; ++p) {
      V* to = d_in->data() + RowOf(direction, p) * wide;
      for (int64_t j = 0; j < wide; ++j) to[j] += d_x[p * wide + j];
    }
  }

  const RnnAttrs& attrs_;
  int gates_, directions_;
  int64_t batch_, hidden_;
  Packing packing_;
  std::vector<int64_t> turned_;
  Numbers input_;
  std::vector<Numbers> weights_, first_[2];
  V* kept_ = nullptr;
  const uint8_t* mask_ = nullptr;
};

}  // namespace dygraph::recurrent
