"""Global tensors as tensors: views, in-place writes, random numbers, printing, reading, and what is refused."""

import pickle

import numpy as np
import pytest

import headwater as hw
from headwater import nn

B, S, SUM = hw.broadcast, hw.split, hw.partial_sum
LINE = hw.mesh("cpu", 3)
GRID = hw.mesh("cpu", (2, 2), names=("data", "model"))
PLACES = [(LINE, [S(0)]), (LINE, [S(1)]), (LINE, [B]), (LINE, [SUM]), (GRID, [S(0), S(1)]), (GRID, [S(1), S(1)]), (GRID, [SUM, S(0)])]
IDS = [f"{m.ndim}d-{p}" for m, p in PLACES]

WRITES = {
    "select": lambda t: t[1].fill_(7),
    "column": lambda t: t[:, 2].mul_(3),
    "block": lambda t: t[1:3, 1:].add_(5),
    "assign": lambda t: t.__setitem__(3, t[0] * 2),
    "element": lambda t: t.__setitem__((0, 1), 9),
    "transposed": lambda t: t.T[0].fill_(2),
    "flat": lambda t: t.view(-1)[3:7].zero_(),
    "strided": lambda t: t.as_strided((2, 2), (8, 2), 1).fill_(4),
    "whole": lambda t: t.add_(t.flip(0)),
    "masked": lambda t: t.masked_fill_(t > 6, 0),
    "indexed": lambda t: t.__setitem__(hw.tensor(2), 1),
}


@pytest.mark.parametrize("place", PLACES, ids=IDS)
@pytest.mark.parametrize("write", WRITES)
def test_writes_in_place(write, place):
    x = hw.arange(20.0).reshape(5, 4)
    g = x.clone().to_global(*place)
    for _ in range(2):
        WRITES[write](x), WRITES[write](g)
        assert g.sbp == list(place[1]) and g.full().tolist() == x.tolist()


@pytest.mark.parametrize("place", PLACES, ids=IDS)
def test_views_show_later_writes(place):
    x = hw.arange(20.0).reshape(5, 4)
    g = x.clone().to_global(*place)
    (v, w), (gv, gw) = ((t[2], t[2][1:]) for t in (x, g))
    for a, b, c in ((x, v, w), (g, gv, gw)):
        b.add_(1), c.mul_(2), a.add_(1), c.sub_(3)
    for a, b in ((x, g), (v, gv), (w, gw)):
        assert b.full().tolist() == a.tolist()


@pytest.mark.parametrize("place", PLACES, ids=IDS)
def test_gradients_of_writes_through_views(place):
    a, grads = hw.randn(5, 4), []
    for t in (a.clone(), a.clone().to_global(*place)):
        t.requires_grad_()
        y = t * 2
        y[1] = y[2] * 3
        y[:, 1].mul_(4)
        y[3:].add_(y[0])
        (y**2).sum().backward()
        grads.append(t.grad.full().numpy())
    np.testing.assert_allclose(grads[1], grads[0], rtol=1e-5)


def test_a_stale_value_is_refused():
    g = hw.ones(4).to_global(LINE, S(0)).requires_grad_()
    y = g.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()


@pytest.mark.parametrize("place", PLACES[:3] + PLACES[4:6], ids=IDS[:3] + IDS[4:6])
def test_random_numbers_do_not_depend_on_the_mesh(place):
    x = hw.ones(6, 5)
    g = x.to_global(*place)
    for draw in (nn.functional.dropout, hw.rand_like, hw.randn_like, hw.bernoulli, nn.functional.alpha_dropout,
                 lambda t: t.clone().normal_(1, 2), lambda t: hw.multinomial(t, 3)):
        hw.manual_seed(3)
        want = draw(x * 0.5)
        hw.manual_seed(3)
        got = draw(g * 0.5)
        assert got.is_global and got.full().tolist() == want.tolist()


def test_tensors_made_from_a_global_one_lie_as_it_does():
    g = hw.ones(5, 4).to_global(GRID, [S(0), S(1)])
    for t in (hw.zeros_like(g), hw.empty_like(g), hw.rand_like(g), g.new_zeros(5, 4), hw.full_like(g, 3)):
        assert t.sbp == g.sbp
    assert hw.zeros_like(g).to_local(3).tolist() == [[0, 0], [0, 0]]
    p = hw.ones(4).to_global(LINE, SUM)
    assert hw.ones_like(p).sbp == [B] and hw.ones_like(p).full().tolist() == [1, 1, 1, 1]


def test_reading():
    g = hw.arange(4).to_global(LINE, S(0))
    assert g.sum().item() == 6 and int(g.max()) == 3 and bool((g == g).all()) and g.tolist() == [0, 1, 2, 3]
    assert repr(g) == "tensor([0, 1, 2, 3], mesh=<mesh cpu[axis0=3]>, sbp=[S(0)])"
    assert g.is_global and not g.full().is_global and g.full() is not g and g.mesh == LINE
    with pytest.raises(RuntimeError, match=r"numpy\(\): i64\[4\] is a global tensor.*full\(\)"):
        g.numpy()
    with pytest.raises(RuntimeError, match="is a global tensor"):
        g.data_ptr()
    x = hw.arange(4)
    assert x.full() is x
    with pytest.raises(RuntimeError, match=r"i64\[4\] is an ordinary tensor; hw.distribute"):
        x.sbp  # noqa: B018
    with pytest.raises(ValueError, match=r"hosts the ranks \[0, 1, 2\]; name one"):
        g.to_local()
    with pytest.raises(ValueError, match=r"hosts the ranks \[0, 1, 2\], not 7"):
        g.to_local(7)


def test_full_is_a_copy():
    g = hw.zeros(2).to_global(LINE, B)
    g.full().fill_(5)
    assert g.full().tolist() == [0, 0]


def test_split_is_both_an_sbp_and_an_op():
    assert repr(hw.split(1)) == "S(1)" and hw.split(-1) == S(-1) and hw.split(0) != hw.split(1)
    assert [p.tolist() for p in hw.split(hw.arange(5), 3)] == [[0, 1, 2], [3, 4]]
    assert [p.tolist() for p in hw.split(hw.arange(4), [1, 3])] == [[0], [1, 2, 3]]
    assert hw.partial("max") == hw.partial_max
    with pytest.raises(ValueError, match="'sum', 'max' or 'min'"):
        hw.partial("mean")


def test_ordinary_and_global_tensors_do_not_mix():
    g, x = hw.ones(3, 3).to_global(LINE, S(0)), hw.ones(3, 3)
    message = r"add: 'other', f32\[3, 3\], is an ordinary tensor, but f32\[3, 3\] is global, .*S\(0\)\]. Place it with hw.distribute"
    with pytest.raises(TypeError, match=message):
        hw.add(g, x)
    with pytest.raises(TypeError, match="mse_loss: 'target', .* is an ordinary tensor"):
        nn.functional.mse_loss(g, x)
    with pytest.raises(TypeError, match="the result is global and cannot be written into the ordinary tensor"):
        x.copy_(g.sum()) if False else hw.zeros(()).add_(g.sum())
    assert (g + 1 + hw.tensor(2.0)).full().tolist() == [[4.0] * 3] * 3
    with hw.implicit_broadcast():
        assert (g + x).full().tolist() == [[2.0] * 3] * 3


def test_two_meshes_do_not_mix():
    a, b = hw.ones(4).to_global(LINE, S(0)), hw.ones(4).to_global(GRID, [B, B])
    with pytest.raises(ValueError, match=r"add\(.*\): the inputs lie on different meshes, cpu\[axis0=3\] and cpu\[data=2, model=2\]"):
        a + b
    assert (a + b.to_global(LINE, B)).full().tolist() == [2.0] * 4


def test_a_signature_can_be_fixed_and_a_wrong_one_names_the_legal_ones():
    x, w = hw.randn(6, 4).to_global(LINE, B), hw.randn(3, 4).to_global(LINE, B)
    assert nn.functional.linear(x, w).sbp == [B]
    with hw.signature("linear", ([S(0), B, B], [S(0)])):
        assert nn.functional.linear(x, w).sbp == [S(0)]
    assert nn.functional.linear(x, w).sbp == [B]
    wrong = hw.signature("linear", ([S(1), B, B], [S(0)]))
    message = r"linear\(.*\): SBP 'S\(1\), B, B -> S\(0\)' is not legal here; legal are: B, B, B -> B; S\(0\), B, B -> S\(0\);"
    with wrong, pytest.raises(ValueError, match=message):
        nn.functional.linear(x, w)
    with hw.signature("linear", ([B, B, B], [B]), ([B, B, B], [B])), pytest.raises(ValueError, match="has 1 axes, but signatures for 2"):
        nn.functional.linear(x, w)


def test_wrong_placements():
    x = hw.ones(4, 4)
    with pytest.raises(ValueError, match=r"the mesh cpu\[data=2, model=2\] has 2 axes, but 1 SBP given: \[S\(0\)\]"):
        x.to_global(GRID, S(0))
    with pytest.raises(ValueError, match=r"split\(2\) needs an axis that a tensor with 2 axes has"):
        x.to_global(LINE, S(2))
    with pytest.raises(TypeError, match="sbp must be hw.split"):
        x.to_global(LINE, "broadcast")
    with pytest.raises(ValueError, match="has no axis 'pipe'"):
        GRID.part("pipe", 0)
    with pytest.raises(ValueError, match="'cpu' or 'meta' devices, got 'tpu'"):
        hw.mesh("tpu", 2)


def test_modules_on_a_mesh():
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6))
    parameters = list(model.parameters())
    assert model.to_global(LINE, {"0.*": S(0)}) is model
    assert all(a is b for a, b in zip(parameters, model.parameters(), strict=True))
    assert model[0].weight.sbp == [S(0)] and model[1].weight.sbp == [B] and model[1].running_mean.is_global
    with pytest.raises(TypeError, match="Sequential is placed on a mesh, but is called with an ordinary tensor"):
        model(hw.ones(2, 4))
    assert model(hw.ones(2, 4).to_global(LINE, S(0))).is_global
    with pytest.raises(TypeError, match="is an ordinary tensor"):  # a failed call leaves nothing switched
        hw.add(model[0].bias, hw.ones(6))
    with pytest.raises(ValueError, match="no parameter or buffer has a name like 'head"):
        model.to_global(LINE, {"head.*": S(0)})


def test_optimizer_state_may_be_split_where_parameters_are_whole():
    """Optimiser state that is split lets the step run on the parts of the gradients: ZeRO falls out of the choice of signatures."""
    model = nn.Linear(6, 4).to_global(LINE, B)
    twin = nn.Linear(6, 4)
    twin.load_state_dict({k: v.full() for k, v in model.state_dict().items()})
    x = hw.randn(5, 6)
    for m, data in ((twin, x), (model, x.to_global(LINE, S(0)))):
        opt = hw.optim.Adam(m.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            m(data).square().sum().backward()
            opt.step()
            if m is model:
                for p in m.parameters():
                    state = opt.state[p]
                    for k, v in state.items():
                        if isinstance(v, hw.Tensor) and v.ndim:
                            state[k] = v.to_global(LINE, S(0))
    for a, b in zip(twin.parameters(), model.parameters(), strict=True):
        np.testing.assert_allclose(b.detach().full().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)
        assert b.sbp == [B]


def test_gradients_that_are_asked_for_lie_as_their_inputs():
    w, x = hw.randn(4, 3).to_global(LINE, B).requires_grad_(), hw.randn(6, 3).to_global(LINE, S(0))
    loss = nn.functional.linear(x, w).square().sum()
    (g,) = hw.autograd.grad(loss, w)
    assert g.sbp == [B]
    np.testing.assert_allclose(g.full().numpy(), 2 * (x.full().numpy() @ w.detach().full().numpy().T).T @ x.full().numpy(), rtol=1e-4)


@pytest.mark.parametrize("plans", [("zero1", "zero3"), (None, "zero1"), ("data", None)])
def test_state_is_saved_under_one_mesh_and_loaded_under_another(plans, tmp_path):
    def make(plan, seed):
        hw.manual_seed(seed)
        model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
        if plan:
            hw.parallelize(model, LINE if plan == "zero3" else GRID, plan)
        return model, hw.optim.Adam(model.parameters(), lr=0.1)

    def step(model, opt):
        x = hw.arange(24.0).reshape(6, 4) / 24
        opt.zero_grad()
        loss = model(hw.distributed.place_batch(model, x) if "_batch_place" in model.__dict__ else x).square().sum()
        loss.backward()
        opt.step()
        return loss.item()

    model, opt = make(plans[0], 1)
    step(model, opt)
    hw.save({"model": model.state_dict(), "optimizer": opt.state_dict()}, tmp_path / "state")
    state = hw.load(tmp_path / "state")
    other, other_opt = make(plans[1], 2)
    other.load_state_dict(state["model"])
    other_opt.load_state_dict(state["optimizer"])
    assert other[0].weight.is_global == bool(plans[1])
    np.testing.assert_allclose([step(other, other_opt) for _ in range(2)], [step(model, opt) for _ in range(2)], rtol=1e-5)
    a, b = other_opt.state[other[0].weight]["exp_avg"], opt.state[model[0].weight]["exp_avg"]
    assert a.is_global == bool(plans[1]) and (not plans[1] or a.sbp == other[0].weight._state_sbp)
    np.testing.assert_allclose(a.full().numpy(), b.full().numpy(), rtol=1e-4)


def test_tied_parameters_are_saved_once(tmp_path):
    a = nn.Linear(3, 3, bias=False)
    model = nn.ModuleList([a, nn.Linear(3, 3, bias=False)])
    model[1].weight = a.weight
    model.to_global(LINE, S(0))
    assert model[0].weight is model[1].weight
    hw.save(model.state_dict(), tmp_path / "tied")
    loaded = hw.load(tmp_path / "tied")
    assert loaded["0.weight"]._shares_storage(loaded["1.weight"])


@pytest.mark.parametrize("dtype", [hw.float32, hw.bfloat16, hw.float64])
def test_the_mean_over_a_split_axis_does_not_gather(dtype):
    x = hw.randn(7, 5).to(dtype)
    g = x.to_global(LINE, S(0))
    for dim, sbp in ((None, [B]), (0, None), (1, [S(0)]), ((0, 1), [B])):
        want, got = (hw.mean(t) if dim is None else hw.mean(t, dim) for t in (x, g))
        assert got.dtype is dtype and (sbp is None or got.sbp == sbp)
        np.testing.assert_allclose(got.full().float().numpy(), want.float().numpy(), rtol=2e-2 if dtype is hw.bfloat16 else 1e-5, atol=1e-3)
    ran = [name for name, *_ in hw._C.record_calls(lambda: g.mean()) if name != "cast"]
    assert ran == ["mean", "sum", "div"]
    x = x.float().requires_grad_()
    (x.to_global(LINE, S(0)) ** 2).mean().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 / 35 * x.detach().numpy(), rtol=1e-5)


def test_indices_of_python_lists():
    x = hw.arange(12.0).reshape(4, 3)
    g = x.to_global(LINE, S(0))
    for index in ([0, 2], (slice(None), [2, 0]), (1, [0, 1]), ([0, 3], [1, 2])):
        assert g[index].full().tolist() == x[index].tolist()
    assert g[g > 4.5].full().tolist() == x[x > 4.5].tolist() and hw.nonzero(g > 9).full().tolist() == [[3, 1], [3, 2]]


@pytest.mark.parametrize(("make", "shape"), [
    (lambda: nn.LSTM(4, 5, batch_first=True), (4, 6, 4)), (lambda: nn.BatchNorm2d(3), (4, 3, 5, 5)),
    (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (4, 6, 8)), (lambda: nn.GroupNorm(2, 4), (3, 4, 5)),
    (lambda: nn.Conv2d(4, 6, 3, padding=1), (5, 4, 6, 6)), (lambda: nn.MaxPool2d(2), (3, 4, 6, 6))])  # fmt: skip
def test_modules_give_what_they_give_alone(make, shape):
    hw.manual_seed(1)
    module, x = make(), hw.randn(*shape)
    want = module(x)
    hw.manual_seed(1)
    placed = make().to_global(GRID, [B, B])
    got = placed(x.to_global(GRID, [S(0), B]))
    got, want = (t[0] if isinstance(t, tuple) else t for t in (got, want))
    np.testing.assert_allclose(got.detach().full().numpy(), want.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_autocast_and_anomaly_mode():
    x, w = hw.randn(6, 4), hw.randn(3, 4)
    g, v = x.to_global(LINE, S(0)), w.to_global(LINE, B)
    with hw.autocast("cpu"):
        y = nn.functional.linear(g, v)
        assert y.dtype is hw.bfloat16 and hw.equal(y.full(), nn.functional.linear(x, w))
    with hw.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="anomaly"):
        (g * 0 - 1).log()


def test_pickling_says_what_to_do():
    with pytest.raises(RuntimeError, match=r"is a global tensor.*full\(\)"):
        pickle.dumps(hw.ones(3).to_global(LINE, S(0)))


@pytest.mark.parametrize("shape, names, rows", [((2,), ("data",), 8), ((3,), ("data",), 7), ((2, 2), ("data", "model"), 6)])
def test_batch_norm_of_rows_stays_where_they_are(shape, names, rows):
    """Each rank norms its rows, and a few numbers of each go to all: the values and gradients of the whole batch."""
    hw.manual_seed(0)
    mesh, batch = hw.mesh("cpu", shape, names=names), [hw.split(0)] + [hw.broadcast] * (len(shape) - 1)
    x, dy = hw.randn(rows, 5, 3, 4, dtype=hw.float64) * 3 + 20, hw.randn(rows, 5, 3, 4, dtype=hw.float64)
    found = []
    for place in (None, batch):
        layer = hw.nn.BatchNorm2d(5).double()
        with hw.no_grad():
            layer.weight.copy_(hw.arange(5)), layer.bias.fill_(0.5)
        given, back = x.clone(), dy
        if place:
            layer.to_global(mesh, [hw.broadcast] * len(shape))
            given, back = x.to_global(mesh, batch), dy.to_global(mesh, batch)
        given.requires_grad_()
        y = layer(given)
        assert not place or y.sbp == batch
        y.backward(back)
        found.append([t.full() if t.is_global else t for t in (
            y.detach(), given.grad, layer.weight.grad, layer.bias.grad, layer.running_mean, layer.running_var)])  # fmt: skip
    for alone, spread in zip(*found, strict=True):
        np.testing.assert_allclose(spread.numpy(), alone.numpy(), rtol=1e-9, atol=1e-11)
