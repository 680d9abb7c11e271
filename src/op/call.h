// Calling an op by its declaration. Who runs it (eager, capture) is the thread's interpreter.
#pragma once

#include <span>

#include "op/op_def.h"

namespace hw {

class Interpreter {
 public:
  virtual ~Interpreter() = default;
  /// Runs `op` (kernel or view). `out` has one slot per output; a defined slot is written in place.
  virtual void run(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) = 0;
  /// Any op, composites included; the outputs in order.
  virtual Tensors call(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) = 0;
  /// out[0] of the op is written into in[0], whose version is bumped. Returns in[0].
  virtual Tensor call_inplace(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) = 0;
};

Interpreter& interpreter();
void set_default_interpreter(Interpreter* i);                  // once, at load time
Interpreter* set_thread_interpreter(Interpreter* i) noexcept;  // null: the default; returns the one before

/// An op looked up once: `static const Op expm1{"expm1"}; Tensor y = expm1({x});`
class Op {
 public:
  constexpr explicit Op(const char* name) : name_(name) {}
  const OpDef& def() const {
    if (!def_) def_ = &get_op(name_);
    return *def_;
  }
  /// The first output. Attributes not given take their defaults.
  Tensor operator()(std::initializer_list<Tensor> in, std::initializer_list<AttrValue> attrs = {}) const;
  Tensor operator()(std::span<const Tensor> in, std::initializer_list<AttrValue> attrs = {}) const;
  Tensors all(std::initializer_list<Tensor> in, std::initializer_list<AttrValue> attrs = {}) const;
  Tensors all(std::span<const Tensor> in, std::initializer_list<AttrValue> attrs = {}) const;
  /// Writes into in[0].
  Tensor inplace(std::initializer_list<Tensor> in, std::initializer_list<AttrValue> attrs = {}) const;
  Tensor inplace(std::span<const Tensor> in, std::initializer_list<AttrValue> attrs = {}) const;

 private:
  const char* name_;
  mutable const OpDef* def_ = nullptr;
};

}  // namespace hw
