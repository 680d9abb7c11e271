// Autograd and data access for C++ users.
#include "headwater/autograd.h"

#include <cstring>

#include "autograd/backward.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "core/generator.h"

namespace headwater {

Tensor requires_grad(const Tensor& leaf) {
  hw::set_requires_grad(leaf, true);
  return leaf;
}

void backward(const Tensor& loss, bool retain_graph, bool create_graph) {
  hw::backward({&loss, 1}, {}, retain_graph || create_graph, create_graph);
}

Tensors gradients(const Tensor& loss, std::span<const Tensor> inputs, bool create_graph) {
  return hw::grad({&loss, 1}, {}, inputs, create_graph, create_graph, true);
}

Tensor grad(const Tensor& leaf) {
  const hw::GradMeta* m = hw::grad_meta(leaf);
  return m ? m->grad : Tensor();
}

void zero_grad(std::span<const Tensor> leaves) {
  for (const Tensor& t : leaves)
    if (hw::GradMeta* m = hw::grad_meta(t)) m->grad = Tensor();
}

template <class T>
static Tensor copied(const std::vector<T>& values, const Dims& shape, DType dtype) {
  hw::check(static_cast<int64_t>(values.size()) == hw::numel(shape),
            "from_vector: ", static_cast<int64_t>(values.size()), " values do not fill shape ", shape);
  Tensor t = Tensor::empty(shape, dtype);
  if (!values.empty()) std::memcpy(t.data(), values.data(), values.size() * sizeof(T));
  return t;
}

Tensor from_vector(const std::vector<float>& values, Dims shape) { return copied(values, shape, DType::F32); }
Tensor from_vector(const std::vector<int64_t>& values, Dims shape) { return copied(values, shape, DType::I64); }

std::vector<float> to_vector(const Tensor& t) {
  NoGrad scope;
  Tensor c = hw::contiguous(hw::to(t, DType::F32));
  const float* p = c.data_as<float>();
  return std::vector<float>(p, p + c.numel());
}

static void append_rows(std::string& out, const std::vector<float>& v, const Dims& shape, size_t axis, size_t& at) {
  if (axis == shape.size()) return hw::append_text(out, v[at++]);
  out += '[';
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (i) out += ", ";
    append_rows(out, v, shape, axis + 1, at);
  }
  out += ']';
}

std::string to_string(const Tensor& t) {
  if (!t.defined()) return "None";
  std::string out = hw::text(t, " ");
  size_t at = 0;
  append_rows(out, to_vector(t), t.shape(), 0, at);
  return out;
}

void manual_seed(uint64_t seed) { hw::default_generator().manual_seed(seed); }
void set_num_threads(int n) { hw::set_num_threads(n); }

}  // namespace headwater
