"""If and Loop whose conditions and bodies depend on data and on values around them: eager, compiled and frozen, as ONNX Runtime has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="pip install onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")

import headwater as hw  # noqa: E402
import headwater.onnx as ox  # noqa: E402


def parse(text: str) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')


def check(model: Any, *calls: tuple[Any, ...]) -> None:
    """The same from ONNX Runtime, eager, compiled with one capture, and frozen."""
    data = model.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    net = ox.load(data)
    fast = hw.compile(net)
    with hw.no_grad():
        given = [tuple(hw.tensor(x) if np.ndim(x) == 0 else hw.from_numpy(x) for x in call) for call in calls]
        frozen = hw.infer.load(hw.freeze(net, given[0]))
        for call, tensors in zip(calls, given, strict=True):
            wanted = session.run(None, dict(zip(names, map(np.asarray, call), strict=True)))
            for way in (net, fast, frozen):
                made = way(*tensors)
                for m, w in zip(made if isinstance(made, tuple) else (made,), wanted, strict=True):
                    np.testing.assert_allclose(m.numpy(), w, rtol=1e-5, atol=1e-6)
    assert fast.captures == 1


def f(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_branches_read_what_is_around_them() -> None:
    model = parse("""g (float[2] x, float[2] w) => (float[2] y) {
        zero = Constant<value_float=0.0>()  ten = Constant<value_float=10.0>()  s = ReduceSum<keepdims=0>(x)  c = Greater(s, zero)
        h = Mul(x, w)
        y = If(c) <then_branch = a () => (float[2] u) {
            d = Greater(s, ten)
            u = If(d) <then_branch = p () => (float[2] u1) { u1 = Add(h, w) }, else_branch = q () => (float[2] u2) { u2 = Mul(h, s) }>
        }, else_branch = b () => (float[2] v) { v = Sub(h, x) }>
    }""")
    check(model, (f(1, 2), f(3, 4)), (f(9, 9), f(3, 4)), (f(-1, -2), f(3, 4)))


def test_a_loop_ends_by_a_condition_on_data() -> None:
    model = parse("""g (float[2] x, float[2] k) => (float[2] y, int64 n) {
        limit = Constant<value_float=100.0>()  most = Constant<value_int=50>()  go = Constant<value=bool{1}>()
        none = Constant<value_int=0>()  three = Constant<value_float=3.0>()
        y, n = Loop(most, go, x, none) <body = body (int64 i, bool c, float[2] v, int64 m) => (bool again, float[2] w, int64 more) {
            largest = ReduceMax<keepdims=0>(v)  big = Greater(largest, three)
            w = If(big) <then_branch = a () => (float[2] p) { p = Mul(v, k) }, else_branch = b () => (float[2] q) { q = Add(v, k) }>
            s = ReduceSum<keepdims=0>(w)  again = Less(s, limit)  one = Constant<value_int=1>()  more = Add(m, one)
        }>
    }""")
    check(model, (f(1, 2), f(2, 2)), (f(1, 2), f(1.5, 2.5)), (f(90, 20), f(1, 1)), (f(1, 1), f(0, 0)))


def test_the_number_of_turns_is_an_input() -> None:
    model = parse("""g (float[2] x, int64 n, bool b) => (float[2] y) {
        zero = Constant<value_float=0.0>()  s = ReduceSum<keepdims=0>(x)  c = Greater(s, zero)
        y = If(c) <then_branch = a () => (float[2] u) {
            u = Loop(n, b, x) <body = body (int64 i, bool go, float[2] v) => (bool again, float[2] w) {
                again = Identity(go)  t = Cast<to=1>(i)  z = Add(v, t)  w = Mul(z, x) }>
        }, else_branch = q () => (float[2] v) { v = Neg(x) }>
    }""")
    yes, no = np.array(True), np.array(False)
    calls = [(f(1, 2), 3, yes), (f(1, 2), 0, yes), (f(1, 2), 3, no), (f(-1, 0), 3, yes), (f(1, 2), 6, yes)]
    check(model, *((x, np.array(n), b) for x, n, b in calls))


def test_greedy_decoding_stops_at_a_token() -> None:
    """A recurrent cell, the best token in a buffer, until the token 3 or the buffer is full."""
    model = parse("""g (float[1, 8] start) => (int64[1, 12] tokens, int64 n) {
        most = Constant<value_int=12>()  go = Constant<value=bool{1}>()  first = Constant<value_ints=[1]>()  none = Constant<value_int=0>()
        empty = ConstantOfShape<value=int64[1]{0}>(shape)
        last, state, tokens, n = Loop(most, go, first, start, empty, none) <body = body
            (int64 i, bool c, int64[1] t, float[1, 8] h, int64[1, 12] buffer, int64 m) =>
            (bool again, int64[1] t2, float[1, 8] h2, int64[1, 12] buffer2, int64 m2) {
            e = Gather(table, t)  a = Add(e, h)  h2 = Tanh(a)  scores = MatMul(h2, weight)  t2 = ArgMax<axis=1, keepdims=0>(scores)
            one_one = Constant<value_ints=[1, 1]>()  place = Reshape(i, one_one)  token = Reshape(t2, one_one)
            buffer2 = ScatterElements<axis=1>(buffer, place, token)
            stop = Constant<value_int=3>()  at_stop = Equal(t2, stop)  ended = Squeeze(at_stop)  again = Not(ended)
            one = Constant<value_int=1>()  m2 = Add(m, one)
        }>
    }""")
    rng = np.random.default_rng(2)
    arrays = {"table": rng.standard_normal((10, 8)).astype(np.float32), "weight": rng.standard_normal((8, 10)).astype(np.float32)}
    for name, array in {**arrays, "shape": np.array([1, 12])}.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    calls = [(rng.standard_normal((1, 8)).astype(np.float32),) for _ in range(6)]
    lengths = {int(ox.load(model)(*c)[1]) for c in calls}
    assert len(lengths) > 1 and min(lengths) < 12  # the condition ends some
    check(model, *calls)


def test_what_a_loop_of_unknown_length_cannot_do() -> None:
    model = ox.load(parse("""g (float[2] x, int64 n) => (float[2] y, float[t, 2] rows) {
        go = Constant<value=bool{1}>()
        y, rows = Loop(n, go, x) <body = body (int64 i, bool c, float[2] v) => (bool again, float[2] w, float[2] row) {
            again = Identity(c)  w = Add(v, v)  row = Identity(v) }>
    }"""))
    fast = hw.compile(model)
    with pytest.raises(hw.CompileError, match=r"how many turns the loop has depends .* the size of what it collects \('rows'\)"):
        fast(hw.ones(2), hw.tensor(3))
    assert model(hw.ones(2), hw.tensor(3))[1].shape == fast(hw.ones(2), 3)[1].shape == (3, 2)
