// The stacked recurrent network of the operator rnn: shapes, buffers, and the two passes, for real
// and for dual numbers.
#pragma once

#include "kernels/philox.h"
#include "operators/arguments.h"
#include "operators/recurrent/packed_batch.h"

namespace dygraph::recurrent {

struct RnnAttrs {
  double dropout_prob = 0.0;
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

// sum[j] = a[j] + b[j] for j below `both`, a[j] from there on.
template <class V>
void AddBiases(const V* a, const V* b, int64_t n, int64_t both, V* sum) {
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t j) { sum[j] = j < both ? a[j] + b[j] : a[j]; });
}

// to[i] = x[i] factor where the mask is set, else 0.
template <class V>
void DropNumbers(const uint8_t* mask, const V* x, int64_t n, V factor, V* to) {
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { to[i] = mask[i] ? x[i] * factor : V(0); });
}

template <class V>
class Rnn {
 public:
  using T = Real<V>;
  static constexpr bool kReal = std::is_same_v<V, T>;

  // `along`: the slot with the direction of Input, those of PreState and WeightList follow; or -1.
  Rnn(const KernelContext& ctx, int along)
      : place_(ctx.place()),
        attrs_(ctx.attrs<RnnAttrs>()),
        gates_(attrs_.gates()),
        directions_(attrs_.directions()),
        hidden_(attrs_.hidden_size),
        packing_(PackInput(ctx, ctx.In(kRnnInput), false)),
        batch_(packing_.steps.batch),
        source_(packing_.source),
        order_(packing_.order) {
    const Tensor& x = ctx.In(kRnnInput);
    int64_t width = x.dim(x.rank() - 1);
    if (directions_ == 2) {
      // rows of the backward direction as packed rows of the forward one
      std::vector<int64_t> place(x.rank() == 2 ? x.dim(0) : x.dim(0) * x.dim(1));
      for (size_t p = 0; p < packing_.source.size(); ++p) place[packing_.source[p]] = p;
      for (int64_t source : PackInput(ctx, x, true).source) turned_.push_back(place[source]);
      turned_rows_.emplace(turned_);
    }
    auto at = [&](int slot, int i) { return along < 0 ? nullptr : ctx.InOrNull(along + slot, i); };
    input_ = Gathered(x.data<T>(), DataOf(at(kRnnInput, 0)), source_, width);
    for (int i = 0; i < ctx.InputCount(kRnnWeights); ++i)
      weights_.push_back(Read<V>(place_, ctx.In(kRnnWeights, i), at(kRnnWeights, i)));
    for (int s = 0; s < attrs_.states(); ++s) {
      const T *state = ctx.In(kRnnPreState, s).template data<T>(),
              *direction = DataOf(at(kRnnPreState, s));
      const int64_t size = batch_ * hidden_;
      for (int64_t k = 0; k < attrs_.cells(); ++k) {
        first_[s].push_back(Gathered(state + k * size, direction ? direction + k * size : nullptr,
                                     order_, hidden_));
      }
    }
  }

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
      Numbers<V> x = LayerInput(layer);
      for (int d = 0; d < directions_; ++d) {
        Numbers<V> turned = d ? Turn(x) : Numbers<V>();
        ForwardCell(Cell(layer, d), d ? turned : x, Width(layer));
      }
    }
  }

  // Rows beyond a sequence are zeros.
  void WriteOut(Tensor* out, bool derivatives) const {
    T* to = out->mutable_data<T>();
    int64_t width = directions_ * hidden_;
    if (rows() * width < out->numel()) kernels::Fill(to, out->numel(), T(0));
    ScatterRows(Joined(attrs_.num_layers - 1).data(), source_, width, to, derivatives);
  }
  void WriteState(int s, Tensor* out, bool derivatives) const {
    Numbers<V> last(place_, batch_ * hidden_);
    T* to = out->mutable_data<T>();
    for (int64_t k = 0; k < attrs_.cells(); ++k) {
      kernels::LastRows(packing_.steps, first_[s][k].data(), s ? CellStates(k) : Hidden(k), hidden_,
                        last.data());
      ScatterRows(last.data(), order_, hidden_, to + k * batch_ * hidden_, derivatives);
    }
  }

  struct Gradients {
    Numbers<V> input;
    std::vector<Numbers<V>> states[2], weights;
  };
  // From the gradients of Out and State in slots `out` and `state`; gradients of Input and of
  // weights that are not wanted may be empty.
  Gradients Backward(KernelContext& ctx, int out, int state) const {
    Gradients g;
    g.weights.resize(weights_.size());
    for (int s = 0; s < attrs_.states(); ++s) {
      const T* arriving = DataOf(ctx.InOrNull(state, s));
      for (int64_t k = 0; k < attrs_.cells(); ++k) {
        Numbers<V> d(place_, batch_ * hidden_);
        if (arriving) {
          GatherRows<V>(arriving + k * d.size(), nullptr, order_, hidden_, d.data());
        } else {
          d.Clear();
        }
        g.states[s].push_back(std::move(d));
      }
    }
    int64_t width = directions_ * hidden_;
    Numbers<V> d_out;  // empty: zeros
    if (const T* arriving = DataOf(ctx.InOrNull(out)))
      d_out = Gathered(arriving, nullptr, source_, width);
    for (int layer = attrs_.num_layers - 1; layer >= 0; --layer) {
      bool wanted = layer > 0 || ctx.OutOrNull(kRnnInput);
      Numbers<V> x = LayerInput(layer), d_in(place_, wanted ? rows() * Width(layer) : 0);
      for (int d = 0; d < directions_; ++d)
        BackwardCell(ctx, layer, d, x, d_out, wanted ? &d_in : nullptr, &g);
      if (layer > 0 && mask_) Drop(layer - 1, d_in.data(), d_in.size(), d_in.data());
      d_out = std::move(d_in);
    }
    g.input = std::move(d_out);
    return g;
  }

  // To the outputs Input, PreState and WeightList.
  void WriteGradients(KernelContext& ctx, const Gradients& g, bool derivatives) const {
    if (Tensor* to = ctx.OutOrNull(kRnnInput)) {
      T* data = to->mutable_data<T>();
      if (g.input.size() < to->numel()) kernels::Fill(data, to->numel(), T(0));
      ScatterRows(g.input.data(), source_, to->dim(to->rank() - 1), data, derivatives);
    }
    for (int s = 0; s < attrs_.states(); ++s) {
      Tensor* to = ctx.OutOrNull(kRnnPreState, s);
      T* data = to ? to->mutable_data<T>() : nullptr;
      for (int64_t k = 0; data && k < attrs_.cells(); ++k) {
        ScatterRows(g.states[s][k].data(), order_, hidden_, data + k * batch_ * hidden_,
                    derivatives);
      }
    }
    for (size_t i = 0; i < g.weights.size(); ++i) {
      Tensor* to = ctx.OutOrNull(kRnnWeights, static_cast<int>(i));
      if (!to) continue;
      T* data = to->mutable_data<T>();
      if constexpr (kReal) {
        if (g.weights[i].data() == data) continue;  // made there
      }
      Write(g.weights[i].data(), to->numel(), data, derivatives);
    }
  }

 private:
  static const T* DataOf(const Tensor* x) { return x ? x->data<T>() : nullptr; }
  // Real numbers are read where they lie, if the rows do.
  Numbers<V> Gathered(const T* x, const T* along, const RowTable& rows, int64_t width) const {
    if constexpr (kReal) {
      if (!rows.data()) return Numbers<V>::Borrowed(x, rows.size() * width);
    }
    Numbers<V> v(place_, rows.size() * width);
    GatherRows<V>(x, along, rows, width, v.data());
    return v;
  }

  int64_t Cell(int layer, int direction) const { return layer * directions_ + direction; }
  int64_t Width(int layer) const { return layer == 0 ? attrs_.input_size : directions_ * hidden_; }
  const V* Weight(int64_t cell, int which) const { return weights_[2 * cell + which].data(); }
  const V* Bias(int64_t cell, int which) const {
    return weights_[weights_.size() / 2 + 2 * cell + which].data();
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

  // Rows of the forward direction that a direction reads one after another; null: as they lie.
  const int64_t* RowsOf(int direction) const { return direction ? turned_rows_->data() : nullptr; }
  Numbers<V> Turn(const Numbers<V>& x) const {  // rows in the order of the backward direction
    Numbers<V> turned(place_, x.size());
    const int64_t width = rows() ? x.size() / rows() : 0;
    TakeRows(x.data(), width, RowsOf(1), rows(), width, turned.data());
    return turned;
  }

  // The directions' h side by side.
  Numbers<V> Joined(int layer) const {
    int64_t width = directions_ * hidden_;
    if (directions_ == 1) return Numbers<V>::Borrowed(Hidden(layer), rows() * width);
    Numbers<V> x(place_, rows() * width);
    for (int d = 0; d < directions_; ++d) {
      PutRows<V>(Hidden(Cell(layer, d)), RowsOf(d), rows(), hidden_, x.data() + d * hidden_, width);
    }
    return x;
  }
  Numbers<V> LayerInput(int layer) const {
    if (layer == 0) return Numbers<V>::Borrowed(input_.data(), input_.size());
    Numbers<V> x = Joined(layer - 1);
    if (!mask_) return x;
    Numbers<V> dropped(place_, x.size());
    Drop(layer - 1, x.data(), x.size(), dropped.data());
    return dropped;
  }
  void Drop(int boundary, const V* x, int64_t n, V* to) const {
    const double p = NumberFor<T>(attrs_.dropout_prob);
    DropNumbers(mask_ + boundary * n, x, n, V(p < 1 ? static_cast<T>(1 / (1 - p)) : T(0)), to);
  }

  void ForwardCell(int64_t k, const Numbers<V>& x, int64_t width) {
    int64_t g = gates_ * hidden_;
    V* to = gates_ > 1 ? Gates(k) : Hidden(k);
    kernels::Product(false, true, rows(), g, width, x.data(), width, Weight(k, 0), width, false, to,
                     g);
    // of both sides; behind the reset gate of a GRU the second joins later
    Numbers<V> bias(place_, g);
    AddBiases(Bias(k, 0), Bias(k, 1), g, attrs_.mode == "GRU" ? 2 * hidden_ : g, bias.data());
    kernels::StepWeight<V> weight{Weight(k, 1), true};
    if (gates_ == 3) {
      kernels::LateResetGru<V> cell = GruCell(k);
      cell.bias = bias.data();
      cell.q_bias = Bias(k, 1) + 2 * hidden_;
      cell.Forward(weight);
    } else if (gates_ == 4) {
      kernels::Lstm<V> cell = LstmCell(k);
      cell.bias = bias.data();
      cell.Forward(weight);
    } else {
      kernels::SimpleRnn<V> cell = SimpleCell(k);
      cell.bias = bias.data();
      cell.Forward(weight);
    }
  }

  // Gradient i of the weights, where it is wanted: real numbers in place.
  V* WeightGradient(KernelContext& ctx, int64_t i, int64_t size, Gradients* g) const {
    Tensor* out = ctx.OutOrNull(kRnnWeights, static_cast<int>(i));
    if (!out) return nullptr;
    if constexpr (kReal) {
      g->weights[i] = Numbers<V>::Borrowed(out->mutable_data<T>(), size);
    } else {
      g->weights[i] = Numbers<V>(place_, size);
    }
    return g->weights[i].data();
  }

  void BackwardCell(KernelContext& ctx, int layer, int direction, const Numbers<V>& x,
                    const Numbers<V>& d_out, Numbers<V>* d_in, Gradients* g) const {
    int64_t k = Cell(layer, direction), n = rows(), all = gates_ * hidden_, wide = Width(layer);
    Numbers<V> d_gates(place_, n * all), d_late, own_part;
    const V* d_h = d_out.data();
    if (d_h && directions_ > 1) {
      own_part = Numbers<V>(place_, n * hidden_);
      TakeRows(d_h + direction * hidden_, directions_ * hidden_, RowsOf(direction), n, hidden_,
               own_part.data());
      d_h = own_part.data();
    }
    kernels::StepWeight<V> weight{Weight(k, 1), true};
    V* d_first = g->states[0][k].data();
    if (gates_ == 4) {
      LstmCell(k).Backward(weight, d_h, nullptr, d_gates.data(), d_first, g->states[1][k].data(),
                           nullptr);
    } else if (gates_ == 3) {
      d_late = Numbers<V>(place_, n * all);
      GruCell(k).Backward(weight, d_h, d_gates.data(), d_late.data(), d_first);
    } else {
      SimpleCell(k).Backward(weight, d_h, d_gates.data(), d_first);
    }
    const V* d_hidden = d_late.data() ? d_late.data() : d_gates.data();
    Numbers<V> turned = direction ? Turn(x) : Numbers<V>();
    if (V* to = WeightGradient(ctx, 2 * k, all * wide, g)) {
      kernels::Product(true, false, all, wide, n, d_gates.data(), all,
                       direction ? turned.data() : x.data(), wide, false, to, wide);
    }
    if (V* to = WeightGradient(ctx, 2 * k + 1, all * hidden_, g)) {
      Numbers<V> before(place_, n * hidden_);
      kernels::PreviousRows(packing_.steps, first_[0][k].data(), Hidden(k), hidden_, before.data());
      kernels::Product(true, false, all, hidden_, n, d_hidden, all, before.data(), hidden_, false,
                       to, hidden_);
    }
    int64_t half = weights_.size() / 2 + 2 * k;
    V* d_bias = WeightGradient(ctx, half, all, g);
    if (d_bias) kernels::ColumnSums(d_gates.data(), n, all, all, d_bias);
    if (V* to = WeightGradient(ctx, half + 1, all, g)) {
      if (d_bias && d_hidden == d_gates.data()) {
        TakeRows<V>(d_bias, all, nullptr, 1, all, to);
      } else {
        kernels::ColumnSums(d_hidden, n, all, all, to);
      }
    }
    if (!d_in) return;
    Numbers<V> behind = direction ? Numbers<V>(place_, n * wide) : Numbers<V>();
    V* d_x = direction ? behind.data() : d_in->data();
    kernels::Product(false, false, n, wide, all, d_gates.data(), all, Weight(k, 0), wide, false,
                     d_x, wide);
    if (direction) AddRows<V>(d_x, RowsOf(direction), n, wide, d_in->data());
  }

  Place place_;
  const RnnAttrs& attrs_;
  int gates_, directions_;
  int64_t hidden_;
  Packing packing_;
  int64_t batch_;
  RowTable source_, order_;
  std::vector<int64_t> turned_;
  std::optional<RowTable> turned_rows_;
  Numbers<V> input_;
  std::vector<Numbers<V>> weights_, first_[2];
  V* kept_ = nullptr;
  const uint8_t* mask_ = nullptr;
};

}  // namespace dygraph::recurrent
