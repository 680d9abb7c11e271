// Layers, directions and time of recurrent networks.
#include "ops/rnn/sequence.h"

#include "base/error.h"

namespace hw {

SequenceOptions sequence_options(const Attrs& a) {
  return {a[0].truth(), a[1].i64(), a[2].f64(), a[3].truth(), a[4].truth(), a[5].truth()};
}

bool is_projected(std::span<const Tensor> states) {
  return states.size() == 2 && states[0].ndim() == 3 && states[1].ndim() == 3 && states[0].size(2) != states[1].size(2);
}

static void check_sequence(const Tensor& input, std::span<const Tensor> states, std::span<const Tensor> weights,
                           int64_t gates, const SequenceOptions& o) {
  check_runtime(input.ndim() == 3, "input must have 3 axes, got ", input);
  check(o.num_layers >= 1, "num_layers must be at least 1, got ", o.num_layers);
  const bool projected = is_projected(states);
  int64_t directions = o.bidirectional ? 2 : 1, per = (o.has_biases ? 4 : 2) + (projected ? 1 : 0);
  check_runtime(static_cast<int64_t>(weights.size()) == o.num_layers * directions * per, "expected ",
                o.num_layers * directions * per, " weights (", o.num_layers, " layers, ", directions, " directions, ",
                per, " each), got ", static_cast<int64_t>(weights.size()));
  int64_t batch = input.shape()[o.batch_first ? 0 : 1];
  check_runtime(weights[1].ndim() == 2, "w_hh must have 2 axes, got ", weights[1]);
  const int64_t width = weights[1].shape()[1];  // of h: hidden, or what it is projected to
  const int64_t hidden = projected ? states[1].size(2) : width;
  check_runtime(weights[1].shape()[0] == gates * hidden, "w_hh must be [", gates, " * hidden, hidden], got ",
                weights[1]);
  check_runtime(!projected || weights[static_cast<size_t>(per) - 1].shape() == Dims{width, hidden},
                "w_hr must be [proj_size, hidden], here ", Dims{width, hidden}, ", got ",
                weights[static_cast<size_t>(per) - 1]);
  check_runtime(input.shape()[o.batch_first ? 1 : 0] > 0, "the sequence is empty: ", input);
  for (size_t i = 0; i < states.size(); ++i) {
    const Dims wanted{o.num_layers * directions, batch, i == 0 ? width : hidden};
    check_runtime(states[i].shape() == wanted, "a state must be ", wanted, ", got ", states[i]);
  }
}

Tensor run_steps(const Tensor& x, std::span<const Tensor> w, bool biases, bool reverse, std::span<Tensor> states,
                 RecurrentStep step) {
  static const Op linear{"linear"}, select{"select"}, stack{"stack"};
  Tensor projected = linear({x, w[0], biases ? w[2] : Tensor()});
  int64_t length = x.shape()[0];
  Tensors outputs(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    int64_t t = reverse ? length - 1 - i : i;
    step(select({projected}, {int64_t{0}, t}), w[1], biases ? w[3] : Tensor(), states);
    outputs[static_cast<size_t>(t)] = states[0];
  }
  return stack(std::span<const Tensor>(outputs), {int64_t{0}});
}

Tensors run_sequence(const Tensor& input, std::span<const Tensor> states, std::span<const Tensor> weights,
                     int64_t gates, const SequenceOptions& o, RecurrentLayer run_layer) {
  static const Op select{"select"}, stack{"stack"}, dropout{"dropout"};
  check_sequence(input, states, weights, gates, o);
  const size_t directions = o.bidirectional ? 2 : 1, count = states.size();
  const size_t per = (o.has_biases ? 4 : 2) + (is_projected(states) ? 1 : 0);
  Tensor x = o.batch_first ? transpose(input, 0, 1) : input;
  std::vector<Tensors> finals(count);
  for (int64_t layer = 0; layer < o.num_layers; ++layer) {
    Tensors outputs;
    for (size_t d = 0; d < directions; ++d) {
      int64_t at = layer * static_cast<int64_t>(directions) + static_cast<int64_t>(d);
      Tensors now;
      for (const Tensor& s : states) now.push_back(select({s}, {int64_t{0}, at}));
      outputs.push_back(run_layer(x, weights.subspan(static_cast<size_t>(at) * per, per), o.has_biases, d == 1, now));
      for (size_t k = 0; k < count; ++k) finals[k].push_back(now[k]);
    }
    x = outputs.size() == 1 ? outputs[0] : cat(outputs, 2);
    if (o.dropout > 0 && o.train && layer + 1 < o.num_layers) x = dropout({x}, {o.dropout, true});
  }
  Tensors result{o.batch_first ? transpose(x, 0, 1) : x};
  for (const Tensors& f : finals) result.push_back(stack(std::span<const Tensor>(f), {int64_t{0}}));
  return result;
}

}  // namespace hw
