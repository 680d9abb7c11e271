"""What a captured function depends on is seen when it changes: nothing that Python code read is silently a constant."""

from __future__ import annotations

import collections
import dataclasses
import functools
import random
import time
from types import SimpleNamespace

import numpy as np
import pytest
from same import array, assert_same

import headwater as hw
from headwater import nn

SCALE = 2.0
TABLE = {"scale": 2.0, "deep": {"list": [1.0, 2.0]}}
SIZES = [1.0, 2.0]
ARRAY = np.array([1.0, 2.0])
X = hw.tensor([1.0, -2.0, 3.0])


def helper(x, by=3.0):
    return x * by


class Settings:
    scale = 2.0
    steps = [1.0, 2.0]


@dataclasses.dataclass
class Config:
    scale: float = 2.0
    inner: SimpleNamespace = dataclasses.field(default_factory=lambda: SimpleNamespace(shift=1.0))


@dataclasses.dataclass(slots=True)
class SlotConfig:
    scale: float = 2.0


def check_seen(function, change, *args, restore=None):
    """A compiled function gives what eager mode gives before and after a change, and uses its old program when it is taken back."""
    program = hw.compile(function)
    try:
        for _ in range(2):
            assert_same(array(program(*args)), array(function(*args)))
        assert program.captures == 1, program.last_reason
        before = array(function(*args))
        change()
        want = array(function(*args))
        assert not np.array_equal(want, before), "the change has no effect in eager mode"
        for _ in range(2):
            assert_same(array(program(*args)), want)
        assert program.captures == 2, program.last_reason
        assert program.last_reason
    finally:
        if restore is not None:
            restore()
    if restore is not None:
        assert_same(array(program(*args)), before)
    return program


def test_global(monkeypatch):
    check_seen(lambda x: x * SCALE, lambda: monkeypatch.setitem(globals(), "SCALE", 5.0), X, restore=monkeypatch.undo)


def test_global_function(monkeypatch):
    check_seen(
        lambda x: helper(x), lambda: monkeypatch.setitem(globals(), "helper", lambda x: x - 1), X, restore=monkeypatch.undo
    )


def test_global_read_by_a_function_called(monkeypatch):
    def inner(x):
        return x * SCALE

    check_seen(lambda x: inner(x) + 1, lambda: monkeypatch.setitem(globals(), "SCALE", 5.0), X, restore=monkeypatch.undo)


def test_global_that_appears(monkeypatch):
    def f(x):
        return x * (LATER if "LATER" in globals() else 1.0)  # noqa: F821

    check_seen(f, lambda: monkeypatch.setitem(globals(), "LATER", 5.0), X, restore=monkeypatch.undo)


def test_builtin_that_is_shadowed(monkeypatch):
    check_seen(lambda x: x * len((1, 2)), lambda: monkeypatch.setitem(globals(), "len", lambda x: 7), X, restore=monkeypatch.undo)


def test_dict_in_a_global(monkeypatch):
    check_seen(lambda x: x * TABLE["scale"], lambda: monkeypatch.setitem(TABLE, "scale", 5.0), X, restore=monkeypatch.undo)


def test_nested_dict_and_list(monkeypatch):
    numbers = TABLE["deep"]["list"]
    check_seen(
        lambda x: x * sum(TABLE["deep"]["list"]), lambda: numbers.append(9.0), X, restore=numbers.pop
    )  # fmt: skip


def test_key_added_to_a_dict():
    table = {"a": 1.0}
    check_seen(lambda x: x * sum(table.values()), lambda: table.update(b=3.0), X, restore=lambda: table.pop("b"))


def test_item_of_a_list():
    numbers = [1.0, 2.0]
    check_seen(lambda x: x * numbers[1], lambda: numbers.__setitem__(1, 7.0), X, restore=lambda: numbers.__setitem__(1, 2.0))


def test_set_and_deque():
    members, queue = {1.0, 2.0}, collections.deque([1.0, 2.0], maxlen=2)
    check_seen(lambda x: x * max(members), lambda: members.add(9.0), X, restore=lambda: members.remove(9.0))
    check_seen(lambda x: x * queue[0], lambda: queue.append(4.0), X)


def test_numpy_array_read_in_python():
    check_seen(
        lambda x: x * float(ARRAY[0]), lambda: ARRAY.__setitem__(0, 9.0), X, restore=lambda: ARRAY.__setitem__(0, 1.0)
    )  # fmt: skip


def test_closure():
    scale = 2.0

    def f(x):
        return x * scale

    def change():
        nonlocal scale
        scale = 5.0

    def back():
        nonlocal scale
        scale = 2.0

    check_seen(f, change, X, restore=back)


def test_closure_of_a_function_called():
    scale = 2.0

    def inner(x):
        return x * scale

    def change():
        nonlocal scale
        scale = 5.0

    check_seen(lambda x: inner(x), change, X)


def test_closure_of_a_function_in_a_list():
    scale = 2.0

    def inner(x):
        return x * scale

    def change():
        nonlocal scale
        scale = 5.0

    functions = [inner]
    check_seen(lambda x: functions[0](x), change, X)


def test_default_arguments():
    def f(x, by=2.0, *, also=1.0):
        return x * by + also

    def change():
        f.__defaults__ = (5.0,)

    check_seen(lambda x: f(x), change, X)
    check_seen(f, lambda: f.__kwdefaults__.update(also=3.0), X)


def test_mutable_default_argument():
    def f(x, table={"by": 2.0}):  # noqa: B006
        return x * table["by"]

    check_seen(f, lambda: f.__defaults__[0].update(by=4.0), X)


def test_partial():
    table = {"by": 2.0}
    f = functools.partial(lambda table, x, plus: x * table["by"] + plus, table, plus=1.0)
    check_seen(f, lambda: table.update(by=4.0), X)


def test_attributes_of_an_object_and_of_one_inside():
    config = Config()
    check_seen(lambda x: x * config.scale, lambda: setattr(config, "scale", 5.0), X, restore=lambda: setattr(config, "scale", 2.0))
    check_seen(lambda x: x + config.inner.shift, lambda: setattr(config.inner, "shift", 5.0), X)


def test_slots():
    config = SlotConfig()
    check_seen(lambda x: x * config.scale, lambda: setattr(config, "scale", 5.0), X, restore=lambda: setattr(config, "scale", 2.0))


def test_an_attribute_that_hides_one_of_the_class():
    settings = Settings()
    check_seen(lambda x: x * settings.scale, lambda: setattr(settings, "scale", 5.0), X, restore=lambda: delattr(settings, "scale"))


def test_class_attributes(monkeypatch):
    settings, alias = Settings(), Settings
    check_seen(lambda x: x * settings.scale, lambda: monkeypatch.setattr(Settings, "scale", 5.0), X, restore=monkeypatch.undo)
    check_seen(lambda x: x * Settings.scale, lambda: monkeypatch.setattr(Settings, "scale", 5.0), X, restore=monkeypatch.undo)
    check_seen(lambda x: x * alias.scale, lambda: monkeypatch.setattr(Settings, "scale", 5.0), X, restore=monkeypatch.undo)
    check_seen(lambda x: x * settings.steps[0], lambda: Settings.steps.insert(0, 5.0), X, restore=lambda: Settings.steps.pop(0))


def test_depths():
    node = SimpleNamespace(value=2.0)
    for _ in range(6):
        node = SimpleNamespace(child=node)

    def leaf():
        at = node
        while hasattr(at, "child"):
            at = at.child
        return at

    check_seen(lambda x: x * leaf().value, lambda: setattr(leaf(), "value", 5.0), X)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.flags = 2.0, {"shift": 1.0}
        self.config = Config()
        self.inner = nn.Sequential(nn.Sequential(nn.Sequential(nn.Sequential(nn.Sequential(Leaf())))))

    def forward(self, x):
        return self.inner(x) * self.scale * self.config.scale + self.flags["shift"]


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.power = 1.0

    def forward(self, x):
        return x * self.power


def test_attributes_of_modules():
    net = Net()
    check_seen(lambda x: net(x), lambda: setattr(net, "scale", 5.0), X)
    check_seen(net.forward, lambda: setattr(net.config, "scale", 3.0), X)
    check_seen(lambda x: net(x), lambda: net.flags.update(shift=7.0), X)
    deep = net.inner[0][0][0][0][0]
    check_seen(lambda x: net(x), lambda: setattr(deep, "power", 3.0), X)


def test_a_child_replaced_and_a_hook_added():
    net = Net()
    check_seen(lambda x: net(x), lambda: setattr(net, "inner", nn.ReLU()), X)
    check_seen(lambda x: net(x), lambda: net.register_forward_hook(lambda m, args, out: out * 3), X)
    handles = []
    check_seen(
        lambda x: net(x),
        lambda: handles.append(nn.register_module_forward_hook(lambda m, args, out: out + 1)),
        X,
        restore=lambda: handles[0].remove(),
    )


def test_a_buffer_replaced_and_written():
    net = nn.Module()
    net.register_buffer("table", hw.tensor([1.0, 2.0, 3.0]))
    f = hw.compile(lambda x: x * net.table)
    assert f(X).tolist() == [1.0, -4.0, 9.0]
    net.table.mul_(2)
    assert f(X).tolist() == [2.0, -8.0, 18.0]
    net.table = hw.tensor([0.0, 1.0, 0.0])
    assert f(X).tolist() == [0.0, -2.0, 0.0]
    assert f.captures == 2
    net.table.data = hw.tensor([1.0, 1.0, 1.0])
    assert f(X).tolist() == X.tolist()


def test_data_of_tied_tensors_set_apart_and_together():
    base = hw.tensor([1.0, 2.0, 3.0, 4.0])
    a, b = base[:2], base[2:]

    @hw.compile
    def f(x):
        whole = base * 1
        a.add_(x)
        return whole.sum() + (a * b).sum()

    def eager(x):
        whole = base * 1
        a.add_(x)
        return whole.sum() + (a * b).sum()

    x = hw.tensor([1.0, 1.0])
    for change in (None, lambda: setattr(a, "data", hw.tensor([5.0, 6.0])), lambda: setattr(a, "data", b)):
        if change is not None:
            change()
        before = base.clone(), a.clone(), b.clone()
        want = eager(x)
        after = [array(t) for t in (base, a, b)]
        for t, v in zip((base, a, b), before):
            t.copy_(v)
        assert f(x).item() == want.item()
        assert_same([array(t) for t in (base, a, b)], after)


def test_modes():
    f = hw.compile(lambda x: x * 2)
    x = hw.tensor([1.0], requires_grad=True)
    assert f(x).requires_grad
    with hw.no_grad():
        assert not f(x).requires_grad
    with hw.inference_mode():
        assert f(x).is_inference()
    assert f(x).requires_grad and f.captures == 3


def test_dtype_shape_layout_and_requires_grad():
    f = hw.compile(lambda x: (x * 2).sum())
    calls = [
        hw.ones(3), hw.ones(3, dtype=hw.float64), hw.ones(3, dtype=hw.int32), hw.ones(1, 3), hw.ones(3, requires_grad=True),
        hw.ones(3, 1).t(), hw.ones(6)[::2], hw.ones(()),
    ]  # fmt: skip
    for _ in range(2):
        for x in calls:
            got, want = f(x), (x * 2).sum()
            assert got.dtype == want.dtype and got.item() == want.item() and got.requires_grad == want.requires_grad
    assert f.captures <= len(calls)


def test_default_dtype():
    f = hw.compile(lambda: hw.ones(2) / 3)
    assert f().dtype == hw.float32
    hw.set_default_dtype(hw.float64)
    try:
        assert f().dtype == hw.float64
    finally:
        hw.set_default_dtype(hw.float32)


def test_other_arguments_are_part_of_the_call():
    f = hw.compile(lambda x, n=1, mode="a", flags=(), **more: x * n if mode == "a" else x + n + len(flags) + len(more))
    assert f(X).tolist() == X.tolist()
    assert f(X, 2).tolist() == (X * 2).tolist()
    assert f(X, 2.0).tolist() == (X * 2).tolist()
    assert f(X, True).tolist() == X.tolist()
    assert f(X, n=2, mode="b", flags=(1, 2)).tolist() == (X + 4).tolist()
    assert f(X, n=2, mode="b", flags=(1, 3), z=1).tolist() == (X + 5).tolist()
    captures = f.captures
    assert f(X, 2).tolist() == (X * 2).tolist() and f.captures == captures


def test_an_object_as_an_argument_is_guarded():
    config = Config()
    f = hw.compile(lambda x, config: x * config.scale)
    assert f(X, config).tolist() == (X * 2).tolist()
    config.scale = 3.0
    assert f(X, config).tolist() == (X * 3).tolist()
    assert f(X, Config(4.0)).tolist() == (X * 4).tolist()


def test_nan_zero_and_types_of_constants():
    box = SimpleNamespace(value=float("nan"))
    f = hw.compile(lambda x: x * 0 + box.value)
    for _ in range(3):
        assert np.isnan(array(f(X))).all()
    assert f.captures == 1
    box.value = 0.0
    assert not np.signbit(array(f(hw.zeros(1)))).any()
    g = hw.compile(lambda x: x * box.value)
    for value, dtype in ((1, hw.int64), (1.0, hw.float32), (True, hw.int64)):
        box.value = value
        assert g(hw.tensor([2])).dtype == dtype


def test_negative_zero_is_not_zero():
    box = SimpleNamespace(value=0.0)
    f = hw.compile(lambda x: x * box.value)
    assert not np.signbit(array(f(hw.ones(1)))).any()
    box.value = -0.0
    assert np.signbit(array(f(hw.ones(1)))).all()
    g = hw.compile(lambda x, by: x * by)
    assert not np.signbit(array(g(hw.ones(1), 0.0))).any()
    assert np.signbit(array(g(hw.ones(1), -0.0))).all()


def test_too_many_variants_are_an_error_that_says_why():
    box = SimpleNamespace(value=0)
    f = hw.compile(lambda x: x + box.value)
    with pytest.raises(hw.CompileError, match="value was .* and is .*Pass what changes as a tensor"):
        for i in range(100):
            box.value = i
            assert f(X).tolist() == (X + i).tolist()


# ---------------------------------------------------------------- what changes in each call is refused
DICE = {
    "random.random()": lambda x: x * random.random(),
    "random.gauss()": lambda x: x * random.gauss(0, 1),
    "numpy.random.rand()": lambda x: x * float(np.random.rand()),
    "numpy generator": lambda x: x * float(np.random.default_rng(0).random()),
    "time.time()": lambda x: x * time.time(),
    "time.perf_counter()": lambda x: x * time.perf_counter(),
}


@pytest.mark.parametrize("name", DICE)
def test_dice_and_clocks_are_refused(name):
    with pytest.raises(hw.CompileError, match="another value in each run"):
        hw.compile(DICE[name])(X)
    assert hw.compile(lambda x: x + 1)(X).tolist() == (X + 1).tolist()


class Counter:
    def __init__(self):
        self.n, self.seen, self.table = 0, [], {}


BOX = Counter()


def grows_global(x):
    global SCALE
    SCALE = SCALE * 2
    return x * SCALE


def doubles(x):
    BOX.n = BOX.n * 2 + 1
    return x * BOX.n


def lists(x):
    BOX.seen.insert(0, 1)
    return x * len(BOX.seen)


def sets_item(x):
    BOX.table["n"] = BOX.table.get("n", 0) + 1
    return x * BOX.table["n"]


def new_attribute(x):
    BOX.last = 3
    return x


@pytest.mark.parametrize("function", [grows_global, doubles, lists, sets_item, new_attribute])
def test_a_function_that_changes_python_state_is_refused_and_undone(function):
    before = SCALE, BOX.n, list(BOX.seen), dict(BOX.table), dict(vars(BOX))
    with pytest.raises(hw.CompileError, match="changes what its Python code reads.*Do it outside"):
        hw.compile(function)(X)
    assert (SCALE, BOX.n, BOX.seen, BOX.table, vars(BOX)) == before


def test_nonlocal_that_changes_is_refused():
    n = 1

    def f(x):
        nonlocal n
        n = n * 2
        return x * n

    with pytest.raises(hw.CompileError, match="Do it outside"):
        hw.compile(f)(X)
    assert n == 1


def test_objects_of_the_functions_own_are_free():
    class Sums:
        def __init__(self):
            self.total, self.parts = 0.0, []

        def add(self, t):
            self.total = self.total + t
            self.parts.append(t)
            return self

    class Plain:
        def put(self, t):
            self.t = t
            return self

    def f(x):
        sums, found = Sums(), {}
        for i in range(3):
            sums.add(x * i)
            found[i] = x + i
        scale = 1.0

        def inner(y):
            nonlocal scale
            scale = scale + 1
            return y * scale + found[1]

        return inner(sums.total) + inner(x) + Plain().put(x).t + sum(p.sum() for p in sums.parts)

    program = hw.compile(f)
    for _ in range(3):
        assert_same(array(program(X)), array(f(X)))
    assert program.captures == 1


def test_counting_calls_is_free():
    calls = []

    def f(x):
        calls.append(1)
        return x + 1

    program = hw.compile(f)
    for _ in range(3):
        program(X)
    assert len(calls) == 1 and program.captures == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (hw.manual_seed(3), x)[1],
        lambda x: hw.default_generator.manual_seed(3) and x,
        lambda x: hw.get_rng_state() + x.sum().long(),
    ],
)
def test_seeding_inside_is_refused(function):
    before = array(hw.get_rng_state())
    with pytest.raises(hw.CompileError, match="do it outside"):
        hw.compile(function)(X)
    assert_same(array(hw.get_rng_state()), before)


def test_a_fork_of_the_generator_inside_is_refused():
    def f(x):
        with hw.random.fork_rng():
            return hw.dropout(x, 0.5)

    with pytest.raises(hw.CompileError, match="do it outside"):
        hw.compile(f)(X)


def test_a_generator_argument_is_refused():
    g = hw.Generator().manual_seed(0)
    with pytest.raises(hw.CompileError, match="generator="):
        hw.compile(lambda x: x + hw.rand(3, generator=g))(X)


def test_a_mode_left_changed_is_refused():
    def f(x):
        hw.set_grad_enabled(False)
        return x * 2

    with pytest.raises(hw.CompileError, match="grad mode"):
        hw.compile(f)(X)
    assert hw.is_grad_enabled()


def test_requires_grad_of_a_parameter_left_changed_is_refused():
    layer = nn.Linear(3, 1)

    def f(x):
        layer.weight.requires_grad_(False)
        return layer(x)

    with pytest.raises(hw.CompileError, match="requires_grad.*change it outside"):
        hw.compile(f)(X)
    assert layer.weight.requires_grad


def test_requires_grad_changed_for_a_while():
    layer = nn.Linear(3, 1)

    def f(x):
        layer.requires_grad_(False)
        y = layer(x).sum()
        layer.requires_grad_(True)
        return y

    x = X.clone().requires_grad_()
    y = hw.compile(f)(x)
    y.backward()
    assert layer.weight.grad is None and x.grad is not None


def test_numbers_of_numpy_are_told_by_value():
    import numpy as np

    f = hw.compile(lambda x, n: x * float(n))
    for value in (2.0, 2.0, 3.0, 2.0):
        assert f(hw.ones(1), np.array(value)).item() == value
        assert f(hw.ones(1), np.float64(value)).item() == value
    assert f.captures <= 4
