"""Updates of embedding tables from the rows that were looked up: the same bits as with the gradient of the whole table."""
import numpy as np
import pytest

import headwater as hw
from headwater import nn

ROWS = 3000


def _optimizers():
    o = hw.optim
    return {
        "sgd": lambda p: o.SGD(p, lr=0.1),
        "sgd decay": lambda p: o.SGD(p, lr=0.1, weight_decay=0.01),
        "sgd momentum": lambda p: o.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
        "sgd maximize": lambda p: o.SGD(p, lr=0.1, maximize=True),
        "adagrad": lambda p: o.Adagrad(p, lr=0.1, lr_decay=0.1),
        "adagrad decay": lambda p: o.Adagrad(p, lr=0.1, weight_decay=0.1),
        "adam": lambda p: o.Adam(p, lr=0.1, weight_decay=0.01),
        "amsgrad": lambda p: o.Adam(p, lr=0.1, amsgrad=True),
        "adamw": lambda p: o.AdamW(p, lr=0.1),
        "rmsprop": lambda p: o.RMSprop(p, lr=0.1, centered=True, momentum=0.5),
    }


def _train(optimizer, compiled, *, dtype=hw.float32, features=37, scale=False, padding=None, second_use=False):
    """Table and states after four steps with rows that occur often, once and never; and the compiled step."""
    hw.manual_seed(0)
    table = nn.Embedding(ROWS, features, scale_grad_by_freq=scale, padding_idx=padding, dtype=dtype)
    with hw.no_grad():
        table.weight[7] = -0.0
        table.weight[8] = float("inf")
    opt = _optimizers()[optimizer]([table.weight])

    def step(rows, factors):
        loss = (table(rows) * factors.unsqueeze(-1)).square().sum()
        if second_use:
            loss = loss + table.weight[:5].square().sum()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    run = hw.compile(step) if compiled else step
    rng = np.random.default_rng(0)
    losses = []
    for size in (50, 50, 50, 50):
        rows = np.concatenate([rng.integers(20, 30, size), rng.integers(0, 7, size), rng.integers(9, ROWS, size)])
        losses.append(float(run(hw.tensor(rows.reshape(3, size)), hw.tensor(rng.random((3, size)), dtype=dtype))))
    state = [v for v in opt.state[table.weight].values() if isinstance(v, hw.Tensor)]
    return losses, [table.weight.detach(), *state], run


def _bits(t):
    return t.to(hw.float64).numpy().view(np.int64)


def _ops(step):
    return [s[0] for s in step.variants[0].program.steps()]


@pytest.mark.parametrize("optimizer", _optimizers())
def test_same_bits_as_eager(optimizer):
    losses, expected, _ = _train(optimizer, False)
    found, tensors, step = _train(optimizer, True)
    ops = _ops(step)
    assert "_embedding_grad" not in ops and any(op.startswith("embedding_") and op.endswith("_step") for op in ops), ops
    assert found == losses
    for a, b in zip(tensors, expected, strict=True):
        assert np.array_equal(_bits(a), _bits(b))


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize(
    "options",
    [{"dtype": hw.float64}, {"dtype": hw.bfloat16}, {"scale": True}, {"padding": 22}, {"features": 1}, {"features": 5000}],
    ids=["f64", "bf16", "by frequency", "padding", "one column", "long rows"],
)
def test_tables_of_all_kinds(optimizer, options):
    _, expected, _ = _train(optimizer, False, **options)
    _, tensors, step = _train(optimizer, True, **options)
    assert f"embedding_{optimizer}_step" in _ops(step)
    for a, b in zip(tensors, expected, strict=True):
        assert np.array_equal(_bits(a), _bits(b))


def test_no_gradient_of_the_table_in_memory():
    for optimizer in ("sgd", "adam"):
        _, tensors, step = _train(optimizer, True)
        assert step.variants[0].program.memory_bytes < tensors[0].numel() * 4 / 2


def test_a_table_with_a_second_use_keeps_its_gradient():
    _, expected, _ = _train("sgd", False, second_use=True)
    _, tensors, step = _train("sgd", True, second_use=True)
    assert "_embedding_grad" in _ops(step)
    assert np.array_equal(_bits(tensors[0]), _bits(expected[0]))


def test_rows_without_gradient_are_left_alone_by_an_infinite_parameter():
    _, tensors, _ = _train("sgd", False)
    assert np.isinf(tensors[0].numpy()[8]).all()


def test_a_learning_rate_that_becomes_infinite_touches_all_rows():
    results = []
    for compiled in (False, True):
        hw.manual_seed(1)
        table = nn.Embedding(40, 4)
        opt = hw.optim.SGD(table.parameters(), lr=0.1)

        def step(rows, table=table, opt=opt):
            table(rows).sum().backward()
            opt.step()
            opt.zero_grad()

        run = hw.compile(step) if compiled else step
        run(hw.tensor([1, 2, 3]))
        opt.param_groups[0]["lr"] = float("inf")
        run(hw.tensor([1, 2, 3]))
        results.append(table.weight.detach().numpy().copy())
    assert np.isnan(results[0][10]).all()
    assert np.array_equal(np.isnan(results[0]), np.isnan(results[1]))


def test_a_row_out_of_range_is_an_error():
    table = nn.Embedding(5, 4)
    opt = hw.optim.SGD(table.parameters(), lr=0.1)

    @hw.compile
    def step(rows):
        table(rows).sum().backward()
        opt.step()
        opt.zero_grad()

    with pytest.raises(IndexError, match="out of range"):
        step(hw.tensor([1, 7]))
