"""The ranks of a mesh spread over processes: the values, losses and random numbers of one process."""

import numpy as np
import pytest
from mesh_programs import boxing, several, train
from pipe_processes import run


def test_boxing_between_two_processes():
    results = run(2, boxing, ranks=4)
    assert [r[0] for r in results] == [[[6.0, 6.0], [6.0, 6.0]]] * 2
    assert [r[1] for r in results] == [[0, 1], [2, 3]]


def test_stages_and_refusals_on_two_processes():
    (messages, (y, grad)), other = run(2, several)
    assert other == (messages, (y, grad))
    np.testing.assert_allclose(grad, 8 * np.asarray(y))  # of y^2, where y = 4 x or 0
    assert len(messages) == 4
    for message, part in zip(messages, ("3 ranks do not divide among 2 processes", "has rank 3, but the 2 processes host 2 ranks",
                                        "give the shape of the whole", "before it makes its first global tensor"), strict=True):
        assert part in message


@pytest.mark.parametrize(("count", "shape", "plan"), [
    (2, (2, 2), "tensor+zero2"), pytest.param(2, (2,), "data", marks=pytest.mark.slow),
    pytest.param(4, (2, 2), "tensor+data", marks=pytest.mark.slow), pytest.param(2, (2, 2), "zero3", marks=pytest.mark.slow)])
def test_training(count, shape, plan):
    alone, here = train(None, None), train(shape, plan)
    for losses, sums, drawn in run(count, train, shape, plan):
        assert losses == here[0] and sums == here[1] and drawn == here[2]  # bit for bit those of one process with as many ranks
        np.testing.assert_allclose(losses, alone[0], rtol=3e-4)
