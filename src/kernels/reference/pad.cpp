// Padding: each row of the output is made of runs of a row of the input, or is constant.
#include <cstring>
#include <vector>

#include "base/thread_team.h"
#include "core/tensor.h"
#include "kernels/index/accumulate.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

enum class Mode { Constant, Reflect, Replicate, Circular };

Mode mode_of(const std::string& text) {
  return text == "reflect" ? Mode::Reflect : text == "replicate" ? Mode::Replicate : Mode::Circular;
}

/// Which element of an axis stands at each place of the padded axis; -1: the constant.
std::vector<int64_t> sources(int64_t size, int64_t before, int64_t after, Mode mode) {
  std::vector<int64_t> from(static_cast<size_t>(size + before + after));
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t at = static_cast<int64_t>(i) - before;
    if (at < 0 || at >= size) switch (mode) {
        case Mode::Constant: at = -1; break;
        case Mode::Reflect: at = at < 0 ? -at : 2 * (size - 1) - at; break;
        case Mode::Replicate: at = at < 0 ? 0 : size - 1; break;
        case Mode::Circular: at = at < 0 ? at + size : at - size; break;
      }
    from[i] = at;
  }
  return from;
}

/// For all axes of x; `pad` as the ops have it.
std::vector<std::vector<int64_t>> all_sources(const Dims& shape, const Dims& pad, Mode mode) {
  std::vector<std::vector<int64_t>> axes;
  for (size_t a = 0; a < shape.size(); ++a) {
    const size_t at = 2 * (shape.size() - 1 - a);
    axes.push_back(at < pad.size() ? sources(shape[a], pad[at], pad[at + 1], mode) : sources(shape[a], 0, 0, mode));
  }
  return axes;
}

struct Run {
  int64_t to, from, length, step;  // step 1, -1, or 0 for one element repeated; from -1: the constant
};

std::vector<Run> runs_of(const std::vector<int64_t>& sources) {
  std::vector<Run> runs;
  for (size_t i = 0; i < sources.size();) {
    size_t j = i + 1;
    int64_t step = j < sources.size() ? sources[j] - sources[i] : 1;
    if (sources[i] < 0 || (j < sources.size() && sources[j] < 0)) step = 0;
    if (step < -1 || step > 1) step = 0;
    while (j < sources.size() && sources[j] - sources[j - 1] == step && (sources[j] < 0) == (sources[i] < 0)) ++j;
    runs.push_back({static_cast<int64_t>(i), sources[i], static_cast<int64_t>(j - i), step});
    i = j;
  }
  return runs;
}

class Pad final : public Kernel {
 public:
  Pad(const KernelRequest& r, Mode mode, double value)
      : x_(strides_of(r.inputs[0])),
        y_(strides_of(r.outputs[0])),
        shape_(r.outputs[0].shape),
        bytes_(dtype_size(r.outputs[0].dtype)),
        move_(find_convert(r.inputs[0].dtype, r.outputs[0].dtype)) {
    axes_ = all_sources(r.inputs[0].shape, r.attrs[0].ints(), mode);
    store_scalar(value_, r.outputs[0].dtype, Scalar(value));
    if (!axes_.empty()) runs_ = runs_of(axes_.back());
  }
  void run(const KernelArgs& args) const override {
    const char* x = static_cast<const char*>(args.inputs[0]);
    char* y = static_cast<char*>(args.outputs[0]);
    if (shape_.empty()) return move_(x, 1, y, 1, 1);
    const int64_t width = shape_.back();
    const int64_t rows = width ? numel(shape_) / width : 0;
    parallel_for(rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) one_row(x, y, row);
    });
  }

 private:
  void one_row(const char* x, char* y, int64_t row) const {
    bool constant = false;
    const int64_t to_step = y_.back(), from_step = x_.back();
    for (size_t a = shape_.size() - 1; a-- > 0;) {
      const int64_t i = row % shape_[a], from = axes_[a][static_cast<size_t>(i)];
      row /= shape_[a];
      y += i * y_[a] * bytes_;
      constant |= from < 0;
      x += from * x_[a] * bytes_;
    }
    if (constant) return move_(value_, 0, y, to_step, shape_.back());
    for (const Run& r : runs_) {
      char* to = y + r.to * to_step * bytes_;
      if (r.from < 0)
        move_(value_, 0, to, to_step, r.length);
      else
        move_(x + r.from * from_step * bytes_, r.step * from_step, to, to_step, r.length);
    }
  }

  Dims x_, y_, shape_;
  int64_t bytes_;
  ConvertFn move_;
  std::vector<std::vector<int64_t>> axes_;
  std::vector<Run> runs_;
  alignas(16) char value_[16] = {};
};

class PadGrad final : public Kernel {
 public:
  explicit PadGrad(const KernelRequest& r) : dy_(r.inputs[0]), dx_(r.outputs[0]) {
    axes_ = all_sources(dx_.shape, r.attrs[1].ints(), mode_of(r.attrs[2].text()));
  }
  void run(const KernelArgs& args) const override {
    visit_dtype(dx_.dtype, [&]<class T>(Type<T>) {
      const T* dy = static_cast<const T*>(args.inputs[0]);
      T* dx = static_cast<T*>(args.outputs[0]);
      const Dims to = strides_of(dx_);
      each<1>(dx_.shape, {to}, [&](int64_t at) { dx[at] = T{}; });
      Dims index(dy_.shape.size(), 0);
      each<1>(dy_.shape, {strides_of(dy_)}, [&](int64_t from) {
        int64_t at = 0;
        for (size_t a = 0; a < index.size(); ++a) at += axes_[a][static_cast<size_t>(index[a])] * to[a];
        dx[at] = added(dx[at], dy[from]);
        for (size_t a = index.size(); a-- > 0;) {
          if (++index[a] < dy_.shape[a]) break;
          index[a] = 0;
        }
      });
    });
  }

 private:
  TensorSpec dy_, dx_;
  std::vector<std::vector<int64_t>> axes_;
};

std::unique_ptr<Kernel> prepare_constant(const KernelRequest& r, std::string&) {
  return std::make_unique<Pad>(r, Mode::Constant, r.attrs[1].f64());
}
std::unique_ptr<Kernel> prepare_copies(const KernelRequest& r, std::string&) {
  return std::make_unique<Pad>(r, mode_of(r.attrs[1].text()), 0);
}
std::unique_ptr<Kernel> prepare_grad(const KernelRequest& r, std::string&) { return std::make_unique<PadGrad>(r); }

const RegisterKernel constant({"_pad_constant", "reference", DeviceType::CPU, kReferencePriority, &prepare_constant});
const RegisterKernel copies({"_pad_copies", "reference", DeviceType::CPU, kReferencePriority, &prepare_copies});
const RegisterKernel grad({"_pad_copies_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare_grad});

}  // namespace
}  // namespace hw
