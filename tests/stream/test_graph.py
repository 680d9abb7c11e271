"""Graphs of stages: joins, forks, loops, several sources and results; what is refused and how it is said."""

import gc
import os
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import headwater as hw
from headwater.stream import Graph, load_plan


def threads():
    return len(os.listdir("/proc/self/task"))


class Thing:
    pass


def add(*values):
    return sum(values)


def test_a_diamond_keeps_the_values_of_a_step_together():
    before = threads()
    graph = Graph()
    x = graph.source(range(50))
    left = graph.stage(lambda x: 10 * x, x)
    right = graph.stage(lambda x: time.sleep(0.001) or -x, x)
    graph.stage(lambda right, x, left: (left, right, x), right, x, left, name="join")
    assert list(graph()) == [(10 * i, -i, i) for i in range(50)]
    assert graph.run() == 50
    assert threads() == before
    layout = {name: (producer, consumers) for name, producer, consumers, *_ in graph.plan().data.layout()["registers"]}
    assert layout["source.result"] == ("source", ["<lambda>", "<lambda>-2", "join"])


def test_losing_a_graph_ends_its_threads():
    before = threads()
    graph = Graph()
    x = graph.source(range(1000))
    loop = graph.loop(0)
    graph.close(loop, graph.stage(lambda x, y: time.sleep(0.001) or x + y, x, loop))
    run = graph()
    assert next(run) == 0
    assert threads() > before
    del run, graph, x, loop
    assert threads() == before


def test_a_stage_may_refer_to_what_holds_the_graph():
    """Whoever leaves the loop ends the run, and what it held is gone, whatever still knows the graph."""

    class Training:
        def __init__(self):
            self.graph = Graph()
            self.graph.stage(self.step, self.graph.source(name="values"))

        def step(self, x):
            return x

    before = threads()
    training = Training()
    given = [Thing() for _ in range(20)]
    alive = weakref.WeakSet(given)
    run = training.graph(values=iter(given))
    assert next(run) is given[0]
    del run
    assert threads() == before
    assert training.graph.last_run.stats()["step"]["calls"] >= 1
    del given
    assert len(alive) == 0
    alive.add(training)
    del training
    gc.collect()
    assert len(alive) == 0


def test_the_shortest_source_ends_the_graph():
    before = threads()
    graph = Graph()
    endless = graph.source(iter(int, 1), name="endless")
    numbers = graph.source(range(7), name="numbers")
    both = graph.stage(add, endless, numbers)
    graph.stage(lambda x: x + 1, both)
    assert list(graph()) == list(range(1, 8))
    assert threads() == before


def test_results_are_what_none_reads_or_what_is_said():
    def build():
        graph = Graph()
        x = graph.source(range(5))
        return graph, x, graph.stage(lambda x: x + 1, x), graph.stage(lambda x: x * x, x)

    graph, *_ = build()
    assert list(graph()) == [(i + 1, i * i) for i in range(5)]
    graph, x, plus, square = build()
    graph.results(square, x)
    assert list(graph()) == [(i * i, i) for i in range(5)]
    assert graph.last_run.stats()["<lambda>"]["calls"] == 5  # it is nobody's, and works nevertheless
    graph.results(plus)
    assert list(graph()) == [1, 2, 3, 4, 5]
    graph = Graph()
    graph.source("ab")
    assert list(graph()) == ["a", "b"]


def test_sources_of_a_run():
    graph = Graph("train")
    graph.stage(add, graph.source(name="images"), graph.source([1, 2, 3], name="labels"))
    for epoch in range(2):
        assert list(graph(images=[epoch] * 9)) == [1 + epoch, 2 + epoch, 3 + epoch]
    assert list(graph(labels=[0], images=[7])) == [7]
    with pytest.raises(TypeError, match=r"source 'images' of graph 'train' has no values: give them to source\(\), or to the run"):
        graph()
    with pytest.raises(TypeError, match="graph 'train' has no source 'image'"):
        graph(image=[1])


def test_a_loop_reads_what_an_earlier_step_made():
    graph = Graph()
    x = graph.source(range(1, 7))
    so_far = graph.loop(0)
    total = graph.stage(add, x, so_far, name="total")
    graph.close(so_far, total)
    assert list(graph()) == [1, 3, 6, 10, 15, 21]
    assert list(graph()) == [1, 3, 6, 10, 15, 21]  # it begins anew


def test_two_loops_of_one_producer():
    """Fibonacci: a stage that reads its results of one and of two steps ago, and another that reads the older one only."""
    graph = Graph()
    tick = graph.source(range(10))
    last, older = graph.loop(1), graph.loop(0, 1)
    number = graph.stage(lambda older, tick, last: older + last if tick else 1, older, tick, last, name="number")
    graph.close(last, number)
    graph.close(older, number)
    ago = graph.stage(lambda older: older, older, name="ago")
    graph.results(number, ago)
    # older holds number[k - 2], begun with 0 and 1; last holds number[k - 1].
    want = [1]
    for k in range(1, 10):
        want.append(([0, 1][k] if k < 2 else want[k - 2]) + want[k - 1])
    assert [n for n, _ in graph()] == want
    assert [a for _, a in graph()] == [0, 1, *want[:8]]
    assert graph.plan().copies() == {
        "source.result": 2, "number.result": 2, "number.loop-1": 2, "number.loop-2": 3, "ago.result": 2,
    }  # fmt: skip


def test_a_cycle_that_would_stand_still_is_refused_and_named():
    read = []
    graph = Graph()
    x = graph.source(read.append(i) or i for i in range(3))
    back = graph.loop()
    first = graph.stage(add, x, back, name="first")
    graph.close(back, graph.stage(add, first, name="second"))
    with pytest.raises(ValueError, match=r"'first'.*'second'") as error:
        graph()
    assert "second.loop" in str(error.value)
    assert read == []


def test_a_slow_reader_bounds_a_fork():
    class Tracked:
        alive = most = 0

        def __init__(self):
            Tracked.alive += 1
            Tracked.most = max(Tracked.most, Tracked.alive)

        def __del__(self):
            Tracked.alive -= 1

    graph = Graph(copies=3)
    x = graph.source(range(40))
    made = graph.stage(lambda x: Tracked(), x, name="made")
    fast = graph.stage(lambda t: 0, made, name="fast")
    slow = graph.stage(lambda t: time.sleep(0.001), made, name="slow")
    graph.stage(lambda fast, slow: None, fast, slow, name="join")
    assert graph.run() == 40
    assert Tracked.most <= 3 + 2  # the copies, what is being made, what a call still holds
    assert Tracked.alive == 0
    assert graph.last_run.stats()["made"]["most_held"] == 3


@pytest.mark.parametrize("where", ["left", "right", "join"])
def test_an_exception_in_a_branch(where):
    before = threads()

    def work(name):
        def call(*values):
            if name == where and values[0] == 5:
                raise KeyError("broken")
            return values[0]

        return call

    graph = Graph()
    x = graph.source(range(100))
    left, right = (graph.stage(work(name), x, name=name) for name in ("left", "right"))
    graph.stage(work("join"), left, right, name="join")
    got = []
    with pytest.raises(KeyError, match="broken") as error:
        for value in graph():
            got.append(value)
    assert got == list(range(len(got)))
    assert len(got) <= 5
    if sys.version_info >= (3, 11):
        assert f"actor '{where}'" in error.value.__notes__[0]
    assert threads() == before


def test_branches_overlap():
    """Two branches that wait for each other in every step can do so only if both work at once."""
    meet = threading.Barrier(2)
    graph = Graph()
    x = graph.source(range(20))
    left, right = (graph.stage(lambda x: meet.wait(60) * 0 + x, x, name=name) for name in ("left", "right"))
    graph.stage(add, left, right)
    assert list(graph()) == [2 * i for i in range(20)]


def test_training_on_two_sources_gives_the_same_bits():
    def trained(run):
        hw.manual_seed(0)
        model = hw.nn.Linear(16, 4)
        optimizer = hw.optim.SGD(model.parameters(), lr=0.1)

        @hw.compile
        def step(x, y):
            loss = hw.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return run(step), model.weight.detach().numpy().copy()

    random = np.random.default_rng(0)
    images = [random.normal(size=(32, 16)).astype(np.float32) for _ in range(20)]
    labels = [random.integers(0, 4, 32) for _ in range(20)]

    def streamed(step):
        graph = Graph()
        x = graph.stage(hw.from_numpy, graph.source(images, name="images"))
        y = graph.stage(hw.from_numpy, graph.source(labels, name="labels"))
        graph.stage(step, x, y)
        return [loss.item() for loss in graph()]

    a, weight_a = trained(streamed)
    b, weight_b = trained(
        lambda step: [step(hw.from_numpy(x), hw.from_numpy(y)).item() for x, y in zip(images, labels, strict=True)]
    )
    assert a == b
    assert np.array_equal(weight_a, weight_b)


def test_the_plan_of_a_graph(tmp_path):
    """The slowest branch is the step; a budget buys the copies that let the short branch work ahead."""
    graph = Graph(memory_budget=10_000)
    x = graph.source(name="source", seconds=0.005, bytes=100)
    long = graph.stage(add, graph.stage(add, x, name="one", seconds=0.020, bytes=100), name="two", seconds=0.015, bytes=100)
    graph.stage(add, long, x, name="join", seconds=0.010)
    plan = graph.plan()
    assert plan.analysis()["step_seconds"] == pytest.approx(0.020)
    assert plan.analysis()["critical_cycle"] == ["one"]
    assert plan.copies()["source.result"] >= 3  # what the join reads it must wait for the branch of two stages
    graph.memory_budget, graph.copies = None, 1
    assert graph.plan().analysis()["step_seconds"] > 0.030
    plan.save(tmp_path / "plan.txt")
    assert str(load_plan(tmp_path / "plan.txt")) == str(plan)


def test_mistakes_are_named():
    graph, other = Graph("g"), Graph()
    x, y = graph.source(), other.source()
    open_loop = graph.loop(0)
    with pytest.raises(TypeError, match="stage 'add': its inputs are values of this graph, got a value of another graph"):
        graph.stage(add, y)
    with pytest.raises(TypeError, match="stage 'add': its inputs are values of this graph, got list"):
        graph.stage(add, [x])
    with pytest.raises(ValueError, match="stage 'add' reads a value twice"):
        graph.stage(add, x, x)
    with pytest.raises(ValueError, match=r"stage 'add' has no input: values from outside come from source\(\)"):
        graph.stage(add)
    with pytest.raises(TypeError, match="needs a function, got int"):
        graph.stage(3, x)
    with pytest.raises(ValueError, match="stage 'source-2': copies|stage 'source': copies must be at least 1, got 0"):
        graph.source(copies=0)
    with pytest.raises(TypeError, match=r"results\(\) needs what a stage of this graph makes, got a loop"):
        graph.results(open_loop)
    with pytest.raises(ValueError, match="got a value twice"):
        graph.results(x, x)
    with pytest.raises(ValueError, match=r"results\(\) needs a value"):
        graph.results()
    with pytest.raises(ValueError, match=r"graph 'g' has a loop\(\) without a close\(\)"):
        graph.plan()
    graph.close(open_loop, x)
    with pytest.raises(ValueError, match=r"close\(\) needs a loop\(\) of this graph which is not closed"):
        graph.close(open_loop, x)
    with pytest.raises(ValueError, match=r"graph 'g' has a loop\(\) that no stage reads"):
        graph.plan()
    with pytest.raises(ValueError, match="nothing comes out"):
        Graph()()
    with pytest.raises(ValueError, match="timeout must be at least 0 seconds"):
        Graph(timeout=-1)
    with pytest.raises(TypeError, match="not iterable"):
        graph = Graph()
        graph.stage(add, graph.source(3))
        graph()
