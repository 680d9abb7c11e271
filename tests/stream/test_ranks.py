"""Graphs over several ranks: values, errors, early ends, what is refused. Ranks are threads here, over the engine of one process."""

import threading

import headwater as hw
from headwater.stream import Graph


def on_ranks(build, size=2, drive=list):
    """What `drive(run)` gives on each rank, or the exception; and what the ranks' Comms say afterwards."""
    comms, found = hw._C.inproc_comms(size), [None] * size

    def go(rank):
        try:
            graph = build()
            graph.comm = comms[rank]
            found[rank] = drive(graph())
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=go, args=(rank,), daemon=True) for rank in range(size)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not any(t.is_alive() for t in threads)
    return found, [c.status() for c in comms]


def line(steps, bad=-1):
    def build():
        graph = Graph()
        doubled = graph.stage(lambda x: hw.tensor([2.0 * x]), graph.source(range(steps)), name="double", bytes=4)

        def add(t):
            if t.item() == bad:
                raise ValueError("no more")
            return t.item() + 1

        graph.stage(add, doubled, name="add", rank=1)
        return graph

    return build


def test_values_go_from_rank_to_rank():
    assert on_ranks(line(20)) == ([[], [2.0 * x + 1 for x in range(20)]], ["", ""])


def test_an_error_ends_all_ranks_with_its_words():
    (other, own), said = on_ranks(line(20, bad=8))
    assert isinstance(own, ValueError) and "rank 1: ValueError: no more" in str(other) and "in actor 'add'" in str(other)
    assert "no more" in said[0] == said[1]


def test_leaving_early_ends_all_ranks():
    def drive(run):
        with run:
            return [value for value, _ in zip(run, range(3), strict=False)] if run._gives else list(run)

    found, said = on_ranks(line(10**9), drive=drive)
    assert found == [[], [1.0, 3.0, 5.0]] and said == ["", ""]


def test_values_that_come_back_are_refused():
    def build():
        graph = Graph()
        there = graph.stage(lambda x: x, graph.source(range(3)), rank=1)
        graph.stage(lambda x: x, there)
        return graph

    found, _ = on_ranks(build)
    assert all("from rank 0 to others and back" in str(e) for e in found)


def test_one_process_runs_all_and_the_plan_shows_the_links():
    graph = line(3)()
    assert list(graph()) == [1.0, 3.0, 5.0]
    assert graph.plan().analysis()["link_bytes"] == {"rank 0 to rank 1": 4}
