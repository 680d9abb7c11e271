"""Graphs whose stages lie on several ranks: registers between ranks are messages with credits."""
from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

import headwater as hw

from ..distributed.world import words_of
from .graph import Graph, Value, _Stage
from .run import Run, RunRecord

_FIRST_TAG, _LAST_TAG = 16384, 28000  # above users' tags, below those of global tensors
_END = -1  # instead of a size: no more values
_FREE, _LEAVE, _DONE = 0, 1, 2  # what a reader says: a copy is free; it reads no more; it has read all there was
_LOOK = 0.05  # seconds between two looks whether the run ends


def _maker(value: Value) -> _Stage:
    assert value.stage is not None
    return value.stage


def expanded(graph: Graph) -> tuple[Graph, list[tuple[_Stage, _Stage]]]:
    """The graph with a sending and a receiving stage where a value goes to another rank; these pairs."""
    found = Graph(graph.name, copies=graph.copies, timeout=graph.timeout, memory_budget=graph.memory_budget)
    made: dict[_Stage, Value] = {}
    away: dict[tuple[_Stage, int], Value] = {}
    pairs: list[tuple[_Stage, _Stage]] = []
    loops = {v: found.loop(*(v.initial or ())) for v in graph._loops}

    def on_rank(stage: _Stage, rank: int) -> Value:
        if stage.rank == rank:
            return made[stage]
        if (stage, rank) not in away:
            send = found.stage(_send, made[stage], name=f"{stage.name} to rank {rank}", copies=stage.copies, bytes=stage.bytes,
                               rank=stage.rank)  # fmt: skip
            here = found.stage(_receive, send, name=f"{stage.name} from rank {stage.rank}", copies=stage.copies, bytes=stage.bytes,
                               rank=rank)  # fmt: skip
            assert send.stage and here.stage
            send.stage.link = f"rank {stage.rank} to rank {rank}"
            pairs.append((send.stage, here.stage))
            away[stage, rank] = here
        return away[stage, rank]

    for s in graph._stages:
        for v in s.inputs:
            if v.initial is not None and v.stage and v.stage.rank != s.rank:
                raise ValueError(f"the loop that stage {s.name!r} on rank {s.rank} reads is made on rank {v.stage.rank}: "
                                 "a loop stays on one rank")  # fmt: skip
        if s.function is None:
            made[s] = found.source(s.values, name=s.name, copies=s.copies, seconds=s.seconds, bytes=s.bytes, rank=s.rank)
        else:
            given = [loops[v] if v.initial is not None else on_rank(_maker(v), s.rank) for v in s.inputs]
            made[s] = found.stage(s.function, *given, name=s.name, copies=s.copies, seconds=s.seconds, bytes=s.bytes, rank=s.rank)
    for v, loop in loops.items():
        if v.stage:
            found.close(loop, made[v.stage])
    rank = graph.results_rank()
    found.results(*(on_rank(v.stage, rank) for v in graph._wanted() if v.stage), rank=rank)
    return found, pairs


def _check_one_way(pairs: list[tuple[_Stage, _Stage]]) -> None:
    """Values never come back to a rank: each rank says that there are no more when all of its stages have ended."""
    onward = {(a.rank, b.rank) for a, b in pairs}
    while more := {(a, d) for a, b in onward for c, d in onward if b == c} - onward:
        onward |= more
    for a, b in sorted(onward):
        if a == b:
            raise ValueError(f"values go from rank {a} to others and back, which streams over ranks cannot do yet: let them go one way")


def _send(value: Any) -> Any:
    """Stands in a plan for what _Outgoing does."""
    return value


_receive = _send


class _End:
    """One end of a register between two ranks. Only the thread of one stage is in it, and afterwards the one that ends the run."""

    def __init__(self, comm: Any, peer: int, tag: int) -> None:
        self.comm, self.peer, self.tag = comm, peer, tag
        self.stopping = False
        self.sent: deque[Any] = deque()
        self.pending: tuple[Any, hw.Tensor] | None = None

    def say(self, tensor: hw.Tensor, tag: int) -> None:
        while self.sent and self.sent[0].is_completed():
            self.sent.popleft()
        self.sent.append(self.comm.send(tensor, self.peer, tag))

    def hear(self, count: int, tag: int, dtype: Any) -> hw.Tensor:
        """The next message. A wait that the end of the run cuts short goes on at the next call."""
        if self.pending is None:
            into = hw.empty(count, dtype=dtype)
            self.pending = self.comm.recv(into, self.peer, tag), into
        request, tensor = self.pending
        while not request.wait_for(_LOOK):
            if self.stopping:
                raise StopIteration
        self.pending = None
        return tensor

    def settle(self) -> None:
        for request in self.sent:
            request.wait()
        self.sent.clear()


class _Outgoing(_End):
    """Sends the values of a stage; at most `copies` of them are on their way or unread."""

    def __init__(self, comm: Any, peer: int, tag: int, copies: int) -> None:
        super().__init__(comm, peer, tag)
        self.credits, self.gone, self.done = copies, False, False

    def __call__(self, value: Any) -> None:
        while self.credits == 0 and not self.gone:
            try:
                self.listen()
            except StopIteration:
                return
        if self.gone:
            return
        self.credits -= 1
        data = hw.frombuffer(bytearray(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)), dtype=hw.uint8)
        self.say(hw.tensor([data.numel()], dtype=hw.int64), self.tag)
        self.say(data, self.tag)

    def listen(self) -> None:
        word = int(self.hear(1, self.tag + 1, hw.int64).item())
        self.credits += word == _FREE
        self.gone |= word != _FREE
        self.done |= word == _DONE

    def end(self) -> None:
        self.say(hw.tensor([_END], dtype=hw.int64), self.tag)


class _Incoming(_End):
    """The values of a stage on another rank. A credit goes back when a value has come: then there is room for the next."""

    ended = False
    size: int | None = None  # of the value whose length has been heard

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        data = self.take()
        if data is None:
            raise StopIteration
        self.say(hw.tensor([_FREE], dtype=hw.int64), self.tag + 1)
        return pickle.loads(data.numpy().data)

    def take(self) -> hw.Tensor | None:
        if self.ended:
            return None
        if self.size is None:
            self.size = int(self.hear(1, self.tag, hw.int64).item())
            if self.size == _END:
                self.ended = True
                return None
        data = self.hear(self.size, self.tag, hw.uint8)
        self.size = None
        return data


class RankRun:
    """The stages of this rank at work. On the rank where results come out it iterates over them; on others iterating, or `wait()`, only
    lasts until the run has ended. All ranks that started it take part; who leaves early ends it for all."""

    def __init__(self, graph: Graph, sources: dict[str, Iterable[Any]], comm: Any) -> None:
        whole, pairs = expanded(graph)
        most = max(s.rank for s in whole._stages)
        if most >= comm.size:
            raise ValueError(f"graph {graph.name!r} has a stage on rank {most}, but there are {comm.size} ranks: start it with "
                             f"headwater launch -n {most + 1}")  # fmt: skip
        if _FIRST_TAG + 2 * len(pairs) > _LAST_TAG:
            raise ValueError(f"graph {graph.name!r} has {len(pairs)} registers between ranks, more than "
                             f"{(_LAST_TAG - _FIRST_TAG) // 2}")  # fmt: skip
        _check_one_way(pairs)
        whole.plan().analysis()  # refuses what would stand still, on all ranks alike
        self._comm, self._rank = comm, comm.rank
        self._out: list[_Outgoing] = []
        self._in: list[_Incoming] = []
        self._gives = whole.results_rank() == self._rank
        self._over = False
        local = self._mine(whole, pairs)
        known = {s.name for s in local._stages}
        self._run = local(**{k: v for k, v in sources.items() if k in known}) if local._stages else None

    def _mine(self, whole: Graph, pairs: list[tuple[_Stage, _Stage]]) -> Graph:
        """The part of the graph that lies here."""
        local = Graph(whole.name, copies=whole.copies, timeout=whole.timeout)
        made: dict[_Stage, Value] = {}
        loops = {v: local.loop(*(v.initial or ())) for v in whole._loops if v.stage and v.stage.rank == self._rank}
        senders, receivers = {s: i for i, (s, _) in enumerate(pairs)}, {r: i for i, (_, r) in enumerate(pairs)}
        for s in whole._stages:
            if s.rank != self._rank:
                continue
            function: Any = s.function
            if s in receivers:
                self._in.append(_Incoming(self._comm, pairs[receivers[s]][0].rank, _FIRST_TAG + 2 * receivers[s]))
                made[s] = local.source(self._in[-1], name=s.name, copies=s.copies, bytes=s.bytes)
                continue
            if s.function is None:
                made[s] = local.source(s.values, name=s.name, copies=s.copies, seconds=s.seconds, bytes=s.bytes)
                continue
            if s in senders:
                peer = pairs[senders[s]][1].rank
                self._out.append(function := _Outgoing(self._comm, peer, _FIRST_TAG + 2 * senders[s], s.copies or whole.copies))
            given = [loops[v] if v.initial is not None else made[_maker(v)] for v in s.inputs]
            made[s] = local.stage(function, *given, name=s.name, copies=s.copies, seconds=s.seconds, bytes=s.bytes)
        for v, loop in loops.items():
            if v.stage:
                local.close(loop, made[v.stage])
        if self._gives:
            local.results(*(made[v.stage] for v in whole._wanted() if v.stage))
        return local

    def record(self) -> RunRecord | None:
        """What the stages of this rank did."""
        return self._run.record() if self._run else None

    def stats(self) -> dict[str, dict[str, float]]:
        """As Run.stats(), of the stages of this rank and of what it sends and receives."""
        return self._run.stats() if self._run else {}

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        try:
            for value in self._run or ():
                if self._gives:
                    return value
                if self._out and all(o.gone for o in self._out):
                    break  # nobody reads any more
            self._end()
        except BaseException as error:
            self._fail(error)
            raise
        raise StopIteration

    def wait(self) -> None:
        """Until the run has ended; results are dropped."""
        for _ in self:
            pass

    def close(self) -> None:
        """Ends the run on all ranks, and waits for them."""
        if not self._over:
            try:
                self._end()
            except BaseException as error:
                self._fail(error)
                raise

    def _end(self) -> None:
        """Both ends of each register say that they are through, so that no message is left."""
        self._over = True
        ends: list[_End] = [*self._out, *self._in]
        for e in ends:
            e.stopping = True
        if self._run:
            self._run.close()
        for e in ends:
            e.stopping = False
        for o in self._out:
            o.end()
        for i in self._in:
            if not i.ended:
                i.say(hw.tensor([_LEAVE], dtype=hw.int64), i.tag + 1)
            while i.take() is not None:
                pass
            i.say(hw.tensor([_DONE], dtype=hw.int64), i.tag + 1)
        for o in self._out:
            while not o.done:
                o.listen()
        for e in ends:
            e.settle()

    def _fail(self, error: BaseException) -> None:
        self._over = True
        self._comm.abort(words_of(error, self._rank))
        for e in (*self._out, *self._in):
            e.stopping = True
        if self._run:
            self._run.close()

    def __enter__(self) -> RankRun:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None and not self._over:
            self._fail(error)
        self.close()


def run_on_ranks(graph: Graph, sources: dict[str, Iterable[Any]]) -> Run | RankRun | None:
    """The run of this process; None where one process hosts all stages."""
    from ..distributed.world import comm

    if all(s.rank == 0 for s in graph._stages) and graph.results_rank() == 0:
        return None
    world = graph.comm or comm()
    return None if world.size == 1 else RankRun(graph, sources, world)
