// x[...] and x[...] = y: the basic part of an index is one view, the advanced part one gather.
#include "bind/bind.h"
#include "op/call.h"
#include "op/math.h"
#include "op/number_rule.h"

namespace hw::bind {

namespace {

/// One step of the op `_index_view`, four numbers each (see ops/shape/index_view.cpp).
enum Step : int64_t { kKeep = 0, kSelect = 1, kSlice = 2, kNew = 3 };

struct Index {
  Dims steps;        // axes that are kept at the end are left out
  Tensors advanced;  // by axis of the view; undefined, or past the end, where the axis is not indexed
  size_t axes = 0;   // of the view so far
  int64_t kept = 0;  // kept axes not yet in `steps`
  bool any_step = false;

  void step(int64_t kind, int64_t a = 0, int64_t b = 0, int64_t c = 0) {
    axes += kind != kSelect;
    if (kind == kKeep) return ++kept, void();
    for (; kept > 0; --kept) steps.resize(steps.size() + 4, int64_t{kKeep});
    for (int64_t v : {kind, a, b, c}) steps.push_back(v);
    any_step = true;
  }
  /// The axis made last is indexed by `t`.
  void index_by(Tensor t) {
    advanced.resize(axes);
    advanced.back() = std::move(t);
  }
  bool any_advanced() const { return !advanced.empty(); }
};

bool is_array_like(PyObject* o) {
  if (PyLong_Check(o) || PySlice_Check(o) || o == Py_None || o == Py_Ellipsis) return false;
  return PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o) || PyObject_HasAttrString(o, "__array_interface__");
}

/// Lists and arrays as index tensors.
Owned index_tensor(PyObject* o) {
  Tensor t = tensor_from_data(o, DType::None);
  if (t.numel() == 0 && is_inexact(t.dtype())) t = to(t, DType::I64);
  return Owned(wrap(t));
}

/// A bool, or a bool tensor without axes: a mask for a new axis of size 1.
bool is_truth(PyObject* o) {
  return PyBool_Check(o) || (is_tensor(o) && tensor_of(o).dtype() == DType::Bool && tensor_of(o).ndim() == 0);
}

/// How many axes of the tensor an item uses up.
int64_t axes_used(PyObject* item) {
  if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) return 0;
  if (is_tensor(item) && tensor_of(item).dtype() == DType::Bool) return tensor_of(item).ndim();
  return 1;
}

void slice_step(Index& index, PyObject* item, int64_t size) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(item, &start, &stop, &step) < 0) throw PythonError{};
  check(step > 0, "slice steps must be positive, got ", static_cast<int64_t>(step), "; use flip() to go backwards");
  PySlice_AdjustIndices(size, &start, &stop, step);
  if (start == 0 && stop == size && step == 1) return index.step(kKeep);
  index.step(kSlice, start, std::max(start, stop), step);
}

/// A boolean mask becomes one index tensor per axis.
void mask_steps(Index& index, const Tensor& mask, const Tensor& x, int64_t axis) {
  for (int64_t i = 0; i < mask.ndim(); ++i)
    check_index(axis + i < x.ndim() && mask.shape()[static_cast<size_t>(i)] == x.shape()[static_cast<size_t>(axis + i)],
                "the mask has shape ", mask.shape(), ", which does not match ", x, " from axis ", axis);
  static const Op nonzero{"nonzero"}, select{"select"};
  Tensor where = nonzero({mask});
  for (int64_t i = 0; i < mask.ndim(); ++i) {
    index.step(kKeep);
    index.index_by(select({where}, {int64_t{1}, i}));
  }
}

void item_step(Index& index, PyObject* item, const Tensor& x, int64_t& axis) {
  if (item == Py_None) return index.step(kNew);
  if (is_truth(item)) {
    index.step(kNew);
    const bool yes = is_tensor(item) ? tensor_of(item).item().truth() : item == Py_True;
    index.index_by(zeros({yes ? 1 : 0}, DType::I64));
    return;
  }
  check_index(axis < x.ndim(), "too many indices for ", x);
  int64_t size = x.shape()[static_cast<size_t>(axis)];
  if (PySlice_Check(item)) {
    slice_step(index, item, size);
    ++axis;
    return;
  }
  if (is_tensor(item)) {
    const Tensor& t = tensor_of(item);
    if (t.dtype() == DType::Bool) {
      mask_steps(index, t, x, axis);
      axis += t.ndim();
      return;
    }
    check_index(!is_inexact(t.dtype()), "an index tensor must be an integer or bool tensor, got ", t);
    if (t.ndim() > 0) {
      index.step(kKeep);
      index.index_by(t);
      ++axis;
      return;
    }
  }
  int64_t at = int_from(item, "an index");
  check_index(at >= -size && at < size, "index ", at, " is out of range for axis ", axis, " with size ", size, " of ",
              x);
  index.step(kSelect, at < 0 ? at + size : at);
  ++axis;
}

Index parse(PyObject* key, const Tensor& x) {
  bool tuple = PyTuple_Check(key);
  PyObject* const* given = tuple ? &PyTuple_GET_ITEM(key, 0) : &key;
  Py_ssize_t n = tuple ? PyTuple_GET_SIZE(key) : 1;
  std::vector<PyObject*> items(given, given + n);
  std::vector<Owned> made;
  int64_t used = 0, dots = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!is_tensor(items[i]) && is_array_like(items[i])) {
      made.push_back(index_tensor(items[i]));
      items[i] = made.back().get();
    }
    used += axes_used(items[i]);
    dots += items[i] == Py_Ellipsis;
  }
  check_index(dots <= 1, "an index can have one ellipsis only");
  check_index(used <= x.ndim(), "too many indices for ", x, ": got ", used);
  Index index;
  int64_t axis = 0;
  auto keep = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i, ++axis) index.step(kKeep);
  };
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = items[static_cast<size_t>(i)];
    if (item == Py_Ellipsis)
      keep(x.ndim() - used);
    else
      item_step(index, item, x, axis);
  }
  keep(x.ndim() - axis);
  return index;
}

Tensor view_of(const Tensor& x, const Index& index) {
  static const Op index_view{"_index_view"};
  return index_view({x}, {index.steps});
}

/// Values may have more axes than the place they go to if those are of size 1, as in torch.
Tensor without_leading_ones(const Tensor& v, int64_t ndim) {
  size_t drop = 0;
  while (v.ndim() - static_cast<int64_t>(drop) > ndim && v.shape()[drop] == 1) ++drop;
  return drop ? reshape(v, Dims(std::span(v.shape().begin() + drop, v.shape().end()))) : v;
}

/// Whether several elements are one place in memory.
bool is_expanded(const Tensor& x) {
  for (size_t i = 0; i < x.shape().size(); ++i)
    if (x.strides()[i] == 0 && x.shape()[i] > 1) return true;
  return false;
}

/// How many axes the selection has.
int64_t indexed_ndim(const Tensor& view, const Tensors& advanced) {
  int64_t most = 0, count = 0;
  for (const Tensor& t : advanced) {
    if (!t.defined()) continue;
    most = std::max(most, t.ndim());
    ++count;
  }
  return view.ndim() - count + most;
}

/// Whether the key is one mask for all elements of x.
bool is_whole_mask(PyObject* key, const Tensor& x) {
  return is_tensor(key) && tensor_of(key).dtype() == DType::Bool && x.ndim() > 0 && tensor_of(key).shape() == x.shape();
}

}  // namespace

PyObject* index_get(PyObject* self, PyObject* key) {
  return guarded([&] {
    const Tensor& x = tensor_of(self);
    if (PyLong_CheckExact(key)) check_index(x.ndim() > 0, "a 0-d tensor cannot be indexed with a number; use .item()");
    Index index = parse(key, x);
    Tensor view = index.any_step || !index.any_advanced() ? view_of(x, index) : x;
    if (!index.any_advanced()) return wrap(view);
    static const Op gather{"index"};
    index.advanced.resize(static_cast<size_t>(view.ndim()));
    Tensors in{view};
    in.insert(in.end(), index.advanced.begin(), index.advanced.end());
    return wrap(gather(in));
  });
}

int index_set(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(
      [&] {
        check_type(value, "tensor elements cannot be deleted");
        const Tensor& x = tensor_of(self);
        Tensor v =
            is_tensor(value) || is_number(value) ? tensor_from(value, "value") : tensor_from_data(value, DType::None);
        if (is_number(value)) check_stored(text("x[...] = value with x=", x, ": value"), v.item(), x.dtype());
        static const Op copy{"copy_"}, put{"index_put_"};
        if (v.numel() == 1 && is_whole_mask(key, x)) {  // a choice is faster than a list of places
          copy.inplace({x, where(tensor_of(key), to(v.ndim() ? reshape(v, {}) : v, x.dtype()), x)});
          return 0;
        }
        Index index = parse(key, x);
        Tensor view = index.any_step || !index.any_advanced() ? view_of(x, index) : x;
        if (!index.any_advanced()) {
          if (is_number(value) && is_expanded(view)) {  // one value for all is no question of order
            static const Op fill{"fill_"};
            fill.inplace({view, v});
            return 0;
          }
          copy.inplace({view, without_leading_ones(v, view.ndim())});
          return 0;
        }
        index.advanced.resize(static_cast<size_t>(view.ndim()));
        v = without_leading_ones(v, indexed_ndim(view, index.advanced));
        Tensors in{view, v};
        in.insert(in.end(), index.advanced.begin(), index.advanced.end());
        Attrs attrs{AttrValue(false)};
        interpreter().call_inplace(put.def(), in, attrs);
        return 0;
      },
      -1);
}

}  // namespace hw::bind
