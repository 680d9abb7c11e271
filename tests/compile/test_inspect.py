"""What a compiled function tells of itself: the numbers agree with each other and with the plan."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

import headwater as hw
from headwater import nn
from headwater.compiler import inspection


@pytest.fixture
def step():
    hw.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = hw.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @hw.compile
    def step(x, label):
        loss = nn.functional.cross_entropy(model(x) * 1.0, label)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    step(hw.randn(16, 8), hw.zeros(16, dtype=hw.int64))
    return step


def test_the_report_agrees_with_the_plan(step):
    (report,) = step.inspect().programs
    program = step.variants[0].program
    assert [(s.op, s.kernel, s.origin) for s in report.steps] == [tuple(s) for s in program.steps()]
    assert report.arena_bytes == program.arena_bytes
    assert report.working_bytes == program.memory_bytes >= report.arena_bytes
    assert sum(sum(served.values()) for _, served in report.kernels()) == len(report.steps)
    lines = [line.split() for line in program.passes_text().splitlines()]
    assert [(p["name"], p["nodes_before"], p["nodes_after"]) for p in report.passes] == [
        (words[0], int(words[1]), int(words[3])) for words in lines
    ]
    assert all(p["stage"] for p in report.passes)


def test_tensors_that_live_at_once_do_not_overlap(step):
    (report,) = step.inspect().programs
    arena = [b for b in report.blocks if b.kind == "arena"]
    assert len(arena) > 5
    for i, a in enumerate(arena):
        assert 0 <= a.offset and a.offset + a.bytes <= report.arena_bytes
        for b in arena[:i]:
            together = a.first <= b.last and b.first <= a.last
            assert not together or a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset, (a, b)


def test_the_lower_bound_is_what_is_alive_at_the_peak(step):
    (report,) = step.inspect().programs
    assert max(report.live) == report.arena_lower_bound <= report.arena_bytes
    at_peak = [b for b in report.blocks if b.at_peak]
    assert sum(-(-b.bytes // 64) * 64 for b in at_peak) == report.arena_lower_bound


def test_scratch_of_kernels_lies_in_the_arena():
    """Behind the sums much is dead: the scratch of the embedding gradient needs no memory of its own."""
    table = hw.nn.Embedding(20000, 2)

    @hw.compile
    def step(x, rows):
        total = x.cumsum(0).cumsum(1).sum()
        table(rows).sum().backward()
        return total

    step(hw.randn(300, 300), hw.tensor([1, 5, 5]))
    (report,) = step.inspect().programs
    scratch = [b for b in report.blocks if b.spec == "scratch"]
    assert max(b.bytes for b in scratch) >= 20000 * 8 and all(b.first == b.last for b in scratch)
    assert report.working_bytes == report.arena_bytes
    assert 300 * 300 * 4 <= report.arena_bytes < 300 * 300 * 8 + 20000 * 8
    (lookup,) = [b for b in scratch if "_embedding_grad" in b.ops[0]]
    dead = [b for b in report.blocks if b.kind == "arena" and b.last < lookup.first and b.bytes > 100_000]
    assert any(b.offset < lookup.offset + lookup.bytes and lookup.offset < b.offset + b.bytes for b in dead)
    assert table.weight.grad[:7, 0].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0]


def test_roles_and_origins(step):
    (report,) = step.inspect().programs
    assert report.total("state") == (12, 2 * 4 * (8 * 32 + 32 + 32 * 32 + 32 + 32 * 4 + 4))  # parameters, momentum
    assert report.total("argument") == (2, 16 * 8 * 4 + 16 * 8)
    assert report.total("output") == (1, 4)
    largest = report.largest(5)
    assert [b.bytes for b in largest] == sorted((b.bytes for b in report.blocks), reverse=True)[:5]
    first = next(b for b in report.blocks if b.kind == "arena" and b.ops[0] == "linear")
    assert first.spec == "f32[16, 32]"
    assert re.fullmatch(r"Sequential\.0 \(test_inspect\.py:\d+\)", first.origin)


def test_text(step):
    text = str(step.inspect())
    assert "test_inspect.py" in text
    assert "program 0: f32[16, 8], i64[16]" in text
    for line in (r"step: captured once; 1 program", r"    remove_dead +\d+ -> \d+ +ops", r"arena \d", r" +6  \w*sgd\w*_step +simd 6"):
        assert re.search(line, text), line
    assert len(step.inspect().text(tensors=3).splitlines()) == len(text.splitlines()) - 9


def test_pages_are_well_formed(step, tmp_path):
    report = step.inspect()
    report.write_svg(tmp_path / "step.svg")
    drawn = ElementTree.parse(tmp_path / "step.svg").getroot()
    boxes = [e for e in drawn.iter() if e.tag.endswith("rect")]
    assert len(boxes) == sum(b.kind == "arena" for b in report.programs[0].blocks)
    assert all(len(e) == 1 and "f32[" in e[0].text or "i64[" in e[0].text or "scratch" in e[0].text for e in boxes)
    report.write_html(tmp_path / "step.html")
    page = (tmp_path / "step.html").read_text()
    assert page.count("<svg") == page.count("</svg>") == 1
    assert "sgd" in page and "form_regions" in page
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert json.loads(json.dumps(report.data())) == report.data()


def test_forward_and_backward_are_two_programs():
    net = hw.compile(nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
    x = hw.randn(2, 3)
    net(x).sum().backward()
    forward, backward = net.inspect().programs
    assert forward.label == "program 0, forward: f32[2, 3]"
    assert backward.label.startswith("program 1, backward: f32[2, 3]")  # the gradient of the output comes first
    assert "linear" in [s.op for s in forward.steps]
    assert "mm" in [s.op for s in backward.steps]


def test_recaptures_and_symbols_are_told():
    @hw.compile
    def double(x):
        return x * 2 + 1

    with pytest.raises(ValueError, match="call it first"):
        double.inspect().write_svg("nowhere.svg")
    assert "no program" not in str(double.inspect()) and double.inspect().programs == []
    for n in (4, 5, 6):
        double(hw.ones(n))
    labels = [p.label for p in double.inspect().programs]
    assert labels == ["program 0: f32[4]", "program 1: f32[5]", "program 2: f32[6]"]
    assert "captured 2 times" in str(double.inspect())


def test_regions_show_their_operators():
    @hw.compile
    def chain(x):
        return (x * 2 + 1).tanh()

    chain(hw.ones(1000, 8))
    (report,) = chain.inspect().programs
    assert [s.body for s in report.steps] == [["mul", "add", "tanh"]]
    assert "mul add tanh  @ test_inspect.py" in report.text()


def test_sizes_are_readable():
    assert [inspection.size_text(n) for n in (0, 1023, 1536, 3 << 20, 5 << 40)] == ["0 B", "1023 B", "1.5 KiB", "3.0 MiB", "5120.0 GiB"]


def test_branches_and_loops_are_shown(step):
    @hw.compile
    def turns(x):
        z = hw.cond(x.sum() > 0, lambda a: hw.cond(a.amax() > 1, lambda b: b.sin(), lambda b: b, (a,)), lambda a: a.tanh(), (x,))
        return hw.while_loop(lambda v: v.sum() < 9, lambda v: (v * 1.5 + 1,), (z,))[0]

    turns(hw.ones(4))
    (report,) = turns.inspect().programs
    cond, loop = (next(s for s in report.steps if s.op == op) for op in ("_cond", "_while"))
    assert [len(cond.graphs), len(loop.graphs)] == [2, 2]
    inner = next(s for s in cond.graphs[0] if s.op == "_cond")
    assert "sin" in [s.op for s in inner.graphs[0]] and "tanh" in [s.op for s in cond.graphs[1]]
    text = report.text()
    for line in ("branches and loops", "if true", "else", "while", "do", "sin", "test_inspect.py"):
        assert line in text[text.index("branches and loops") :]
    assert "branches and loops" not in step.inspect().text()
    json.dumps(report.data())


def test_state_has_names(step):
    (report,) = step.inspect().programs
    names = {b.name for b in report.blocks if b.kind == "state"}
    assert {"model.0.weight", "model.0.bias", "model.4.weight"} <= names
    assert {"optimizer.model.0.weight.momentum_buffer", "optimizer.model.4.bias.momentum_buffer"} <= names
    assert "" not in names
    table, kept = hw.zeros(3), {"rows": [hw.ones(3)]}

    class Trainer:
        def __init__(self):
            self.net = nn.BatchNorm1d(3)

        def run(self, x):
            table.add_(kept["rows"][0])
            return self.net(x)

    run = hw.compile(Trainer().run)
    run(hw.randn(4, 3))
    names = {b.name for b in run.inspect().programs[0].blocks if b.kind == "state"}
    assert names == {"table", "kept['rows'][0]", "self.net.weight", "self.net.bias", "self.net.running_mean", "self.net.running_var",
                     "self.net.num_batches_tracked"}  # fmt: skip


def test_names_of_state_are_read_back():
    text = "graph f\ninput %0 x: f32[3]\nstate %1 \"kept['rows'][0]\": f32[3]\n%2: f32[3] = mul(%0, %1)\noutput %2\n"
    assert hw._C.Graph.parse(text).text() == text
