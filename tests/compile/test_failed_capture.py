"""A capture that is given up, or a program that writes where it must not: tensors from outside keep the history they had."""

import pytest

import headwater as hw


class GivenUp(Exception):
    pass


def history(*tensors):
    return [(t.requires_grad, t.is_leaf, t.grad_fn) for t in tensors]


def test_a_buffer_written_before_a_failure_has_no_history():
    w, buffer, free = hw.ones(3, requires_grad=True), hw.zeros(3), hw.zeros(3)
    view = buffer[:2]

    @hw.compile
    def f(x):
        buffer.add_(w)
        view.mul_(w[0])
        free.requires_grad_()
        raise GivenUp

    for _ in range(2):
        with pytest.raises(GivenUp):
            f(hw.ones(3))
        assert history(buffer, view, free) == [(False, True, None)] * 3
    assert buffer.tolist() == [0, 0, 0] and view.tolist() == [0, 0]
    (buffer * w).sum().backward()  # no node of the dead graph is reached
    assert w.grad.tolist() == [0, 0, 0]


def test_a_tensor_with_history_gets_it_back():
    w = hw.ones(3, requires_grad=True)
    z = w * 2
    view = z[1:]
    z.retain_grad()

    @hw.compile
    def f(x):
        z.mul_(w)
        view.add_(1)
        raise GivenUp

    with pytest.raises(GivenUp):
        f(hw.ones(3))
    (z.sum() + view.sum()).backward()
    assert w.grad.tolist() == [2, 4, 4] and z.grad.tolist() == [1, 2, 2]


def test_a_failure_inside_a_branch():
    w, buffer = hw.ones(3, requires_grad=True), hw.zeros(3)

    def branch(x):
        buffer.add_(w)
        raise GivenUp

    @hw.compile
    def f(x):
        return hw.cond(x.sum() > 0, branch, lambda x: x, (x,))

    with pytest.raises(GivenUp):
        f(hw.ones(3))
    assert history(buffer) == [(False, True, None)]


def test_history_that_a_run_would_not_record_is_refused():
    w, buffer = hw.ones(3, requires_grad=True), hw.zeros(3)
    z = w * 2
    before = z.grad_fn

    @hw.compile
    def adds(x):
        buffer.add_(w)
        return x * 1

    @hw.compile
    def scales(x):
        z.mul_(w)
        return x * 1

    with pytest.raises(hw.CompileError, match="requires_grad of f32.3. is False before.*change it outside"):
        adds(hw.ones(3))
    with pytest.raises(hw.CompileError, match="history of its own, is written in place by the compiled function.*no_grad"):
        scales(hw.ones(3))
    assert history(buffer) == [(False, True, None)] and z.grad_fn == before
    assert buffer.tolist() == [0, 0, 0] and z.tolist() == [2, 2, 2]


def test_writes_without_history_are_captured_as_before():
    w, buffer = hw.ones(3, requires_grad=True), hw.zeros(3)
    z = w * 2
    view = z[1:]

    @hw.compile
    def f(x):
        buffer.add_(w.detach())
        with hw.no_grad():
            z.mul_(3)
        return view.sum() * x

    assert f(hw.ones(1)).item() == 12 and buffer.tolist() == [1, 1, 1] and z.tolist() == [6, 6, 6]


def test_versions_are_as_before_a_failure():
    w = hw.ones(3, requires_grad=True)
    buffer, argument = hw.ones(3), hw.ones(3)
    loss = (w * buffer * argument).sum()  # keeps what the capture writes to

    @hw.compile
    def f(x):
        buffer.mul_(2)
        x.mul_(2)
        buffer.add_(1)
        raise GivenUp

    with pytest.raises(GivenUp):
        f(argument)
    loss.backward()
    assert w.grad.tolist() == [1, 1, 1]


def test_a_run_raises_the_version_once():
    w, buffer = hw.ones(3, requires_grad=True), hw.ones(3)

    @hw.compile
    def f(x):
        buffer.add_(x)
        return buffer * 1

    loss = (w * buffer).sum()
    f(hw.ones(3))
    with pytest.raises(RuntimeError, match="changed in place since: it is at version 1, saved at version 0"):
        loss.backward()
    loss = (w * buffer).sum()
    f(hw.ones(3))
    with pytest.raises(RuntimeError, match="version 2, saved at version 1"):
        loss.backward()


@pytest.mark.parametrize("which", ["cond", "while_loop"])
def test_an_error_of_a_branch_is_not_for_the_function_to_catch(which):
    y = hw.ones(3)

    def branch(x):
        y.add_(1)
        raise GivenUp("no")

    @hw.compile
    def f(x):
        try:
            if which == "cond":
                hw.cond(x.sum() > 0, branch, lambda x: x, (x,))
            else:
                hw.while_loop(lambda x: x.sum() < 3, branch, (x,))
        except GivenUp:
            pass
        return y * x

    with pytest.raises(hw.CompileError, match=f"catches an error that was raised inside of hw.{which}: GivenUp: no.*depends on data"):
        f(hw.ones(3))
    assert y.tolist() == [1, 1, 1]


def test_a_branch_may_catch_its_own_errors():
    def branch(x):
        try:
            raise GivenUp
        except GivenUp:
            return x * 2

    f = hw.compile(lambda x: hw.cond(x.sum() > 0, branch, lambda x: x, (x,)))
    assert f(hw.ones(2)).tolist() == [2, 2] and f(-hw.ones(2)).tolist() == [-1, -1]
