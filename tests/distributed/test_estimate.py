"""Rehearsals on "meta" meshes: hw.distributed.estimate, search_plan and plan="auto"."""

import gc
import time

import pytest

import headwater as hw
from headwater import nn
from models.bert.config import Config as BertConfig
from models.bert.model import BertModel, Layer
from models.gpt2.config import Config
from models.gpt2.model import GPT2LMHeadModel

F = nn.functional
SPLITS = {"0.*": hw.split(0), "2.weight": hw.split(1)}


def network(width=64, inner=256):
    hw.manual_seed(0)
    return nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))


def small_gpt():
    hw.manual_seed(0)
    return GPT2LMHeadModel(Config(vocab_size=512, n_positions=32, n_embd=64, n_layer=4, n_head=4))


def of_tokens(scores, ids):
    return F.cross_entropy(scores.flatten(0, 1), ids.flatten())


def estimate(model, mesh, plan, x, y, loss_of=F.mse_loss, **options):
    return hw.distributed.estimate(model, mesh, plan, x, y, loss_of=loss_of, **options)


# ---------------------------------------------------------------- tensors that hold nothing
def test_a_meta_mesh_computes_places_but_no_values():
    mesh = hw.mesh("meta", (2, 4), names=("data", "model"))
    x = hw.ones(8, 16).to_global(mesh, [hw.split(0), hw.broadcast])
    w = hw.ones(4, 16).to_global(mesh, [hw.broadcast, hw.split(0)])
    y = F.linear(x, w)
    assert y.shape == (8, 4) and list(y.sbp) == [hw.split(0), hw.split(1)]
    assert hw.dropout(y, 0.5).shape == (8, 4)
    for read in (lambda: y.sum().item(), y.full, lambda: bool(y.sum() > 0)):
        with pytest.raises(RuntimeError, match="'meta' devices hold no"):
            read()
    with pytest.raises(RuntimeError, match="'meta' devices hold no values"):
        y.to_global(hw.mesh("cpu", (2, 4), names=("data", "model")), [hw.broadcast, hw.broadcast])


# ---------------------------------------------------------------- what is counted
def test_a_tensor_parallel_block_sends_four_messages():
    """One sum behind attention and one behind the second layer, forward and backward (Shoeybi et al., 2019); heads stay where they are."""

    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            config = BertConfig(hidden_size=32, num_attention_heads=4, intermediate_size=64)
            self.first = nn.Parameter(hw.ones(32))
            self.layer = nn.ModuleList([Layer(config) for _ in range(2)])

        def forward(self, x):
            x = x * self.first
            for layer in self.layer:
                x = layer(x, None)
            return x

    plan = {pattern if pattern.startswith("*") else "*." + pattern: axis for pattern, axis in BertModel.tensor_plan.items()}
    x = hw.ones(4, 8, 32)
    found = estimate(Blocks(), hw.mesh("meta", 2, names=("model",)), [plan], x, x)
    each = x.numel() * 4  # bytes: a sum over two ranks sends a half to the other, and gets one
    count, size = found.traffic["model all-reduce"]
    assert list(found.traffic) == ["model all-reduce"]
    # Of the first block's input nobody needs the whole gradient: only a row of it, which is summed over the ranks.
    assert count == 2 * 4 and size == pytest.approx((2 * 4 - 1) * each, rel=0.02)


def test_traffic_of_data_parallelism_is_that_of_the_gradients():
    model, n = nn.Linear(64, 8), 4
    found = estimate(model, hw.mesh("meta", n), "data", hw.ones(32, 64), hw.ones(32, 8))
    count, size = found.traffic["axis0 all-reduce"]
    gradients = 4 * (64 * 8 + 8)
    assert size == pytest.approx(2 * (n - 1) / n * gradients, rel=0.02)  # and a loss
    assert list(found.traffic) == ["axis0 all-reduce"] and count == 2
    often = estimate(model, hw.mesh("meta", n), "data", hw.ones(32, 64), hw.ones(32, 8), micro_batches=8)
    assert often.traffic["axis0 all-reduce"][1] == pytest.approx(size, rel=0.02)  # once for all micro-batches


@pytest.mark.parametrize(
    "plan, share",
    [("data", (1, 1, 1)), ("zero1", (1, 1, 4)), ("zero2", (1, 4, 4)), ("zero3", (4, 4, 4)), (SPLITS, (4, 4, 4))],
)
def test_memory_between_steps(plan, share):
    """Parameters, gradients, and two numbers a parameter of Adam's state."""
    parameters = 4 * (64 * 256 + 256 + 256 * 64 + 64)
    found = estimate(network(), hw.mesh("meta", 4), plan, hw.ones(32, 64), hw.ones(32, 64))
    want = sum(k * parameters / s for k, s in zip((1, 1, 2), share, strict=True))
    assert found.parameters == pytest.approx(want, rel=0.02)


@pytest.mark.parametrize("plan", ["data", "zero1", "zero2", "zero3", "tensor", "data+recompute"])
def test_memory_is_that_of_a_real_step(plan):
    ids = hw.randint(0, 512, (16, 32))
    found = estimate(small_gpt(), hw.mesh("cpu", 2), plan, ids, ids, of_tokens)
    gc.collect()
    before = hw.memory.stats()["allocated"]
    model = hw.parallelize(small_gpt(), hw.mesh("cpu", 2), plan)
    optimizer = hw.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad()
        of_tokens(model(ids), hw.distributed.place_batch(model, ids)).backward()
        optimizer.step()

    step()
    gc.collect()
    hw.memory.reset_peak()
    step()
    stats = hw.memory.stats()
    assert found.parameters == pytest.approx((stats["allocated"] - before) / 2, rel=0.06)
    assert found.memory == pytest.approx((stats["peak_allocated"] - before) / 2, rel=0.06)


def test_work_is_divided():
    ids = hw.randint(0, 512, (64, 32))
    device = hw.distributed.Device(op_time=0.0, link_latency=0.0, memory_rate=1e15)
    alone = estimate(small_gpt(), hw.mesh("meta", 1), "data", ids, ids, of_tokens, device=device).compute
    for shape, plan in (((4, 1), "data"), ((2, 2), "data+tensor"), ((1, 4), "tensor")):
        found = estimate(small_gpt(), hw.mesh("meta", shape, names=("data", "model")), plan, ids, ids, of_tokens, device=device)
        assert found.compute == pytest.approx(alone / 4, rel=0.1)


def test_stages_wait_for_each_other():
    model, x = nn.Sequential(*[nn.Linear(64, 64) for _ in range(8)]), hw.ones(512, 64)
    mesh = hw.mesh("meta", 4, names=("pipe",))
    device = hw.distributed.Device(op_time=0.0, link_latency=0.0, link_rate=1e15, memory_rate=1e15)
    one = estimate(model, mesh, [], x, x, device=device)
    four = estimate(model, mesh, [], x, x, device=device, micro_batches=4)
    assert len(one.stage_seconds) == 4 and one.seconds > 0
    assert four.seconds < 0.6 * one.seconds  # (4 + 3) / 4 of a stage's time, not 4
    uneven = estimate(model, mesh, [], x, x, device=device, micro_batches=4, stages=[5, 1, 1, 1])
    assert uneven.seconds > 1.5 * four.seconds


def test_a_thousand_ranks():
    ids = hw.randint(0, 512, (512, 32))
    mesh = hw.mesh("meta", (4, 64, 4), names=("pipe", "data", "model"))
    begin = time.monotonic()
    found = estimate(small_gpt(), mesh, "data+tensor+zero1", ids, ids, of_tokens, micro_batches=4)
    assert time.monotonic() - begin < 60
    assert found.mesh.size == 1024 and {"data all-reduce", "send"} <= set(found.traffic)
    assert "MiB a rank" in str(found) and "ms a micro-batch" in str(found)


def test_a_network_larger_than_any_memory():
    with hw.distributed.sizes_only():
        model = GPT2LMHeadModel(Config(vocab_size=50257, n_positions=2048, n_embd=12288, n_layer=8, n_head=96))
    assert sum(p.numel() for p in model.parameters()) > 10**10
    ids = hw.zeros((), dtype=hw.int64).expand(128, 2048)
    mesh = hw.mesh("meta", (4, 16, 16), names=("pipe", "data", "model"))
    found = estimate(model, mesh, "tensor+zero1+recompute", ids, ids, of_tokens, micro_batches=8)
    assert 1 << 30 < found.memory < 1 << 36
    assert not hw.ones(2).is_global  # the context has ended


def test_the_model_and_the_generator_stay_as_they_are():
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.BatchNorm1d(8))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    state = hw.get_rng_state()
    estimate(model, hw.mesh("meta", 2), "data", hw.ones(4, 8), hw.ones(4, 8))
    assert all(bool((v == before[k]).all()) for k, v in model.state_dict().items())
    assert bool((hw.get_rng_state() == state).all())
    assert not model[0].weight.is_global and model[0].weight.grad is None


def test_what_cannot_be_rehearsed():
    with pytest.raises(RuntimeError, match="'meta' devices hold no"):
        estimate(network(), hw.mesh("meta", 2), "data", hw.ones(4, 64), hw.ones(4, 64), lambda y, t: y.sum() * y.sum().item())
    placed = hw.parallelize(network(), hw.mesh("cpu", 2))
    with pytest.raises(ValueError, match="lies on a mesh already"):
        estimate(placed, hw.mesh("meta", 2), "data", hw.ones(4, 64), hw.ones(4, 64))
    with pytest.raises(ValueError, match="there is no plan"):
        estimate(network(), hw.mesh("meta", 2), "fast", hw.ones(4, 64), hw.ones(4, 64))


# ---------------------------------------------------------------- search
HAND_WRITTEN = [
    (network, F.mse_loss, lambda: hw.ones(64, 64), "data", ["data", "zero1", "zero2", "zero3"]),
    (network, F.mse_loss, lambda: hw.ones(8, 64), "model", [SPLITS, {"0.weight": hw.split(1)}, {"2.weight": hw.split(0)}]),
    (lambda: network(512, 2048), F.mse_loss, lambda: hw.ones(16, 512), "model", [SPLITS]),
    (small_gpt, of_tokens, lambda: hw.randint(0, 512, (16, 32)), "data", ["data", "zero1", "zero2", "zero3"]),
    (small_gpt, of_tokens, lambda: hw.randint(0, 512, (16, 32)), "model", ["tensor", "tensor+sequence"]),
    (small_gpt, of_tokens, lambda: hw.randint(0, 512, (16, 32)), "pipe", [[]]),
]


@pytest.mark.parametrize("case", range(len(HAND_WRITTEN)))
def test_the_search_finds_what_people_write(case):
    make, loss_of, data, axis, plans = HAND_WRITTEN[case]
    x, mesh = data(), hw.mesh("meta", 4, names=(axis,))
    by_hand = min(estimate(make(), mesh, p, x, x, loss_of, micro_batches=4).seconds for p in plans)
    best = hw.distributed.search_plan(make(), mesh, x, x, loss_of=loss_of, micro_batches=4)[0]
    assert best.seconds <= 1.05 * by_hand


def test_ranks_are_arranged_by_the_search():
    x = hw.ones(8, 512)
    found = hw.distributed.search_plan(network(512, 2048), hw.mesh("meta", 4), x, x, loss_of=F.mse_loss)
    assert {m.mesh.names for m in found} >= {("data",), ("model",), ("data", "model")}
    # Few rows, many weights: activations move, not gradients.
    assert found[0].communication < 0.2 * next(e for e in found if e.mesh.names == ("data",) and e.plan == ["data"]).communication
    assert [f.seconds for f in found[1:]] == sorted(f.seconds for f in found[1:])
    assert found[0].seconds <= 1.05 * found[1].seconds
    many = hw.ones(4096, 64)  # the reverse
    assert hw.distributed.search_plan(network(), hw.mesh("meta", 4), many, many, loss_of=F.mse_loss)[0].mesh.names == ("data",)


def test_of_plans_that_cost_the_same_the_simplest_is_taken():
    """Within 5 per cent estimates are no reason to split weights."""
    layers = [nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    x, y = hw.ones(64, 3, 32, 32), hw.zeros(64, dtype=hw.int64)
    device = hw.distributed.Device(link_rate=1e12, link_latency=0.0)
    found = hw.distributed.search_plan(model, hw.mesh("meta", 2), x, y, loss_of=F.cross_entropy, device=device)
    assert found[0].plan == ["data"] and found[0].mesh.names == ("data",)
    assert any(f.seconds < found[0].seconds for f in found)


def test_a_budget_of_memory():
    ids = hw.randint(0, 512, (16, 32))
    mesh = hw.mesh("meta", 4, names=("data",))
    free = hw.distributed.search_plan(small_gpt(), mesh, ids, ids, loss_of=of_tokens)
    limit = min(e.memory for e in free) - 1  # none of those that do not recompute
    best = hw.distributed.search_plan(small_gpt(), mesh, ids, ids, loss_of=of_tokens, memory=limit)[0]
    assert best.memory <= limit and "recompute" in best.plan


def test_stages_are_balanced_by_time():
    """The first layers have few weights and large images, the last ones the reverse."""
    convs = [nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)]
    model = nn.Sequential(*convs, nn.MaxPool2d(8), nn.Flatten(), nn.Linear(256, 1024), nn.Linear(1024, 64))
    x, mesh = hw.ones(8, 3, 32, 32), hw.mesh("meta", 2, names=("pipe",))
    device = hw.distributed.Device(op_time=0.0, link_latency=0.0, link_rate=1e15)
    found = hw.distributed.search_plan(model, mesh, x, (), loss_of=lambda y: y.sum(), micro_batches=4, device=device)
    by_weights = next(e for e in found if e.stages is None)
    assert found[0].stages is not None and found[0].stages[0] < 4
    assert found[0].seconds < 0.9 * by_weights.seconds
    every = [[k, 7 - k] for k in range(1, 7)]
    costs = [estimate(model, mesh, [], x, (), lambda y: y.sum(), micro_batches=4, device=device, stages=s).seconds for s in every]
    assert found[0].seconds == pytest.approx(min(costs))


# ---------------------------------------------------------------- plan="auto"
@pytest.mark.parametrize("mesh", [lambda: hw.mesh("cpu", 4), lambda: hw.mesh("cpu", (2, 2), names=("data", "model"))])
def test_auto_trains_as_one_device(mesh):
    x, y = hw.randn(16, 64), hw.randn(16, 64)

    def trained(model):
        optimizer = hw.optim.Adam(model.parameters(), lr=0.01)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            losses.append(hw.accumulate(model, F.mse_loss, x, y, micro_batches=2).full().item())
            optimizer.step()
        return losses

    model = hw.parallelize(network(), mesh(), "auto", inputs=x, targets=y, loss_of=F.mse_loss, micro_batches=2)
    assert isinstance(model.plan, hw.distributed.Estimate)
    assert trained(model) == pytest.approx(trained(network()), rel=1e-4)


def test_arguments_of_auto():
    with pytest.raises(TypeError, match="rehearses a step"):
        hw.parallelize(network(), hw.mesh("cpu", 2), "auto")
    with pytest.raises(TypeError, match="belong to plan='auto'"):
        hw.parallelize(network(), hw.mesh("cpu", 2), "data", loss_of=F.mse_loss)
    with pytest.raises(TypeError, match="finds the stages itself"):
        hw.parallelize(network(), hw.mesh("cpu", 2), "auto", inputs=hw.ones(2, 64), loss_of=F.mse_loss, stages=[1])
    with pytest.raises(ValueError, match="no plan is possible"):
        hw.parallelize(nn.Linear(4, 4), hw.mesh("cpu", 2, names=("pipe",)), "auto", inputs=hw.ones(2, 4), loss_of=lambda y: y.sum())


def test_measured_device():
    device = hw.distributed.measure_device()
    assert device.flops > 1e8 and device.memory_rate > 1e7 and 0 < device.op_time < 1e-2


def test_loops_of_one_element_after_the_other_are_dear():
    """A window's step takes as long as 128 vector operations: the time of a pool is not that of the memory it touches."""
    x, mesh = hw.ones(8, 16, 64, 64), hw.mesh("meta", 1)
    pooled = estimate(nn.Sequential(nn.Linear(64, 64), nn.MaxPool2d(8, 1)), mesh, "data", x, hw.ones(8, 16, 57, 57))
    steps = 8 * 16 * 57 * 57 * 64  # forward, 64 a window; backward goes to one element each
    vectors = steps / hw.distributed.Device().flops  # seconds, were they vector operations
    assert 120 * vectors < pooled.compute < 200 * vectors
