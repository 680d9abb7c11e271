// einsum: sums of products in Einstein's notation.
#include <algorithm>

#include "base/error.h"
#include "op/math.h"

namespace hw {
namespace {

constexpr int64_t kEllipsis = 1000;  // labels from here on are the axes of "..."

/// The equation read: a list of labels for each operand and for the output. Labels of "..." count from its right end.
struct Equation {
  std::vector<std::vector<int64_t>> operands;
  std::vector<int64_t> output;
};

std::vector<int64_t> read_labels(std::string_view term, int64_t ellipsis_axes) {
  std::vector<int64_t> labels;
  for (size_t i = 0; i < term.size(); ++i) {
    char c = term[i];
    if (c == '.') {
      check_runtime(term.substr(i, 3) == "...", "a '.' must be part of '...', in '", term, "'");
      for (int64_t k = ellipsis_axes; k > 0; --k) labels.push_back(kEllipsis + k - 1);
      i += 2;
      continue;
    }
    check_runtime((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), "labels are letters, got '",
                  std::string_view(&c, 1), "' in '", term, "'");
    labels.push_back(c);
  }
  return labels;
}

int64_t ellipsis_axes(std::string_view term, const Tensor& x) {
  if (term.find("...") == std::string_view::npos) return 0;
  int64_t axes = x.ndim() - (static_cast<int64_t>(term.size()) - 3);
  check_runtime(axes >= 0, "'", term, "' has more labels than its operand ", x.shape(), " has axes");
  return axes;
}

Equation read_equation(std::string text, std::span<const Tensor> operands) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation e;
  int64_t widest = 0;
  std::vector<std::string_view> terms;
  for (size_t start = 0; start <= left.size();) {
    size_t comma = std::min(left.find(',', start), left.size());
    terms.push_back(left.substr(start, comma - start));
    start = comma + 1;
  }
  check_runtime(terms.size() == operands.size(), "the equation has ", terms.size(), " operands, ", operands.size(),
                " were given");
  for (size_t i = 0; i < terms.size(); ++i) {
    int64_t axes = ellipsis_axes(terms[i], operands[i]);
    widest = std::max(widest, axes);
    e.operands.push_back(read_labels(terms[i], axes));
    check_runtime(e.operands.back().size() == operands[i].shape().size(), "'", terms[i], "' has ",
                  e.operands.back().size(), " labels, its operand ", operands[i].shape(), " has ", operands[i].ndim(),
                  " axes");
  }
  if (arrow != std::string::npos) {
    e.output = read_labels(std::string_view(text).substr(arrow + 2), widest);
    return e;
  }
  std::vector<int64_t> once;  // implicit: the ellipsis, then the labels that appear once, in alphabetical order
  for (int64_t k = widest; k > 0; --k) e.output.push_back(kEllipsis + k - 1);
  for (const auto& labels : e.operands)
    for (int64_t label : labels)
      if (label < kEllipsis) once.push_back(label);
  std::sort(once.begin(), once.end());
  for (size_t i = 0; i < once.size(); ++i)
    if ((i == 0 || once[i - 1] != once[i]) && (i + 1 == once.size() || once[i + 1] != once[i]))
      e.output.push_back(once[i]);
  return e;
}

/// The diagonal of axes i and j, which becomes the last axis.
Tensor diagonal_of(const Tensor& x, int64_t i, int64_t j) {
  static const Op slice{"_slice"};
  int64_t n = x.size(i);
  check_runtime(n == x.size(j), "sizes under one label differ: ", n, " and ", x.size(j));
  Dims order, shape;
  for (int64_t axis = 0; axis < x.ndim(); ++axis)
    if (axis != i && axis != j) order.push_back(axis), shape.push_back(x.size(axis));
  order.push_back(i), order.push_back(j), shape.push_back(n * n);
  return slice({reshape(permute(x, order), shape)}, {x.ndim() - 2, int64_t{0}, n * n, n + 1});
}

/// Takes diagonals of repeated labels, so that each label stands once.
Tensor without_repeats(Tensor x, std::vector<int64_t>& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    size_t j = static_cast<size_t>(std::find(labels.begin() + static_cast<int64_t>(i) + 1, labels.end(), labels[i]) -
                                   labels.begin());
    if (j == labels.size()) continue;
    int64_t label = labels[i];
    x = diagonal_of(x, static_cast<int64_t>(i), static_cast<int64_t>(j));
    labels.erase(labels.begin() + static_cast<int64_t>(j));
    labels.erase(labels.begin() + static_cast<int64_t>(i));
    labels.push_back(label);
    i = static_cast<size_t>(-1);  // begin again: the axes have moved
  }
  return x;
}

/// Brings x to the axes of `order`, with size 1 where it lacks a label.
Tensor aligned(const Tensor& x, const std::vector<int64_t>& labels, const std::vector<int64_t>& order) {
  Dims axes, shape;
  for (int64_t label : order) {
    auto at = std::find(labels.begin(), labels.end(), label);
    if (at == labels.end()) {
      shape.push_back(1);
      continue;
    }
    axes.push_back(at - labels.begin());
    shape.push_back(x.shape()[static_cast<size_t>(at - labels.begin())]);
  }
  return reshape(permute(x, axes), shape);
}

/// Groups of axes for a product of two aligned operands.
struct Split {
  Dims batch, left, right, inner;
  int64_t batch_size = 1, left_size = 1, right_size = 1, inner_size = 1;
};

Dims joined(std::initializer_list<const Dims*> parts) {
  Dims out;
  for (const Dims* part : parts)
    for (int64_t v : *part) out.push_back(v);
  return out;
}

/// Product of two aligned operands, summed over the axes in `summed` (which keep size 1).
Tensor contract(Tensor a, Tensor b, const Dims& summed) {
  static const Op bmm{"bmm"};
  auto is_summed = [&](int64_t axis) { return std::find(summed.begin(), summed.end(), axis) != summed.end(); };
  Split s;
  for (int64_t axis = 0; axis < a.ndim(); ++axis) {
    int64_t in_a = a.size(axis), in_b = b.size(axis);
    if (is_summed(axis)) {
      if (in_a != 1 && in_b == 1) a = sum(a, {axis}, true);
      if (in_b != 1 && in_a == 1) b = sum(b, {axis}, true);
      s.inner.push_back(axis);
      s.inner_size *= in_a != 1 && in_b != 1 ? in_a : 1;
    } else if (in_a != 1 && in_b != 1) {
      s.batch.push_back(axis), s.batch_size *= in_a;
    } else if (in_b != 1) {
      s.right.push_back(axis), s.right_size *= in_b;
    } else {
      s.left.push_back(axis), s.left_size *= in_a;
    }
  }
  Tensor left =
      reshape(permute(a, joined({&s.batch, &s.left, &s.inner, &s.right})), {s.batch_size, s.left_size, s.inner_size});
  Tensor right =
      reshape(permute(b, joined({&s.batch, &s.inner, &s.right, &s.left})), {s.batch_size, s.inner_size, s.right_size});
  Dims order = joined({&s.batch, &s.left, &s.right, &s.inner}), shape, back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t axis = order[i];
    shape.push_back(is_summed(axis) ? 1 : a.size(axis) != 1 ? a.size(axis) : b.size(axis));
    back[static_cast<size_t>(axis)] = static_cast<int64_t>(i);
  }
  return permute(reshape(bmm({left, right}), shape), back);
}

bool contains(const std::vector<int64_t>& list, int64_t label) {
  return std::find(list.begin(), list.end(), label) != list.end();
}

void check_sizes(const Equation& e, std::span<const Tensor> operands, const std::vector<int64_t>& order) {
  for (int64_t label : order) {
    int64_t size = 1;
    for (size_t i = 0; i < operands.size(); ++i)
      for (size_t axis = 0; axis < e.operands[i].size(); ++axis) {
        if (e.operands[i][axis] != label) continue;
        int64_t n = operands[i].shape()[axis];
        check_runtime(n == size || size == 1 || n == 1, "sizes under one label differ: ", size, " and ", n,
                      label < kEllipsis ? " for '" : " in '...",
                      label < kEllipsis ? std::string(1, static_cast<char>(label)) : std::string(), "'");
        if (n != 1) size = n;
      }
  }
}

Tensors einsum_body(std::span<const Tensor> in, const Attrs& attrs) {
  check_runtime(!in.empty(), "at least one operand is needed");
  Equation e = read_equation(attrs[0].text(), in);
  std::vector<int64_t> order = e.output;
  for (size_t i = 0; i < order.size(); ++i) {
    check_runtime(std::count(order.begin(), order.end(), order[i]) == 1, "a label stands twice in the output");
    check_runtime(std::any_of(e.operands.begin(), e.operands.end(), [&](auto& l) { return contains(l, order[i]); }),
                  "the output has a label that no operand has");
  }
  for (const auto& labels : e.operands)
    for (int64_t label : labels)
      if (!contains(order, label)) order.push_back(label);
  check_sizes(e, in, order);
  std::vector<Tensor> operands;
  for (size_t i = 0; i < in.size(); ++i) {
    Tensor x = without_repeats(in[i], e.operands[i]);
    operands.push_back(aligned(x, e.operands[i], order));
  }
  Tensor y = operands[0];
  for (size_t i = 0; i < operands.size(); ++i) {
    Dims summed;  // labels that are neither in the output nor in a later operand
    for (size_t axis = e.output.size(); axis < order.size(); ++axis) {
      bool later = false;
      for (size_t j = i + 1; j < operands.size(); ++j) later = later || contains(e.operands[j], order[axis]);
      if (!later) summed.push_back(static_cast<int64_t>(axis));
    }
    if (i == 0) {
      if (operands.size() == 1 && !summed.empty()) y = sum(y, summed, true);
      continue;
    }
    y = contract(y, operands[i], summed);
  }
  Dims shape(std::span<const int64_t>(y.shape().data(), e.output.size()));
  return {reshape(y, shape)};
}

const RegisterOp op =
    OpDef("einsum")
        .doc(
            "Returns the sum of products of the operands that the equation describes, as 'ij,jk->ik' for a matrix "
            "product.")
        .attr_required("equation", AttrValue::Kind::Text, "labels of each operand, and of the output after '->'")
        .in_list("operands", "tensors", numeric)
        .out("y")
        .method(false)
        .composite(einsum_body);

}  // namespace
}  // namespace hw
