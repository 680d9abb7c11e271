"""Gradients of a plain backward() between processes: summed while others are computed, with the bits of one process."""

import json

import pytest
from ranks import launch, needs_mpi, script


def answers(out):
    assert out.returncode == 0, out.stdout[-2000:] + out.stderr[-3000:]
    return sorted(json.loads(line.split("found ", 1)[1]) for line in out.stdout.splitlines() if "found " in line)


@needs_mpi
@pytest.mark.parametrize("plan", ["data", "zero2"])
def test_bits_of_one_process_and_sent_meanwhile(plan):
    found = answers(launch(3, "overlap.py", plan))
    assert [a[0] for a in found] == [0, 1, 2]
    overlap = script("overlap")
    model, _, here = overlap.gradients(3, plan)
    for _, hashes, (sums, before_the_last_product) in found:
        assert hashes == here
        assert before_the_last_product >= 3
        # 30 parameters: the hooked one, 2 large ones and buckets; what a plan splits goes by itself
        assert sums <= 6 if plan == "data" else sums >= len(list(model.parameters()))


@needs_mpi
@pytest.mark.parametrize(("mode", "said"), [
    ("raises", "rank 1 failed first: ValueError: the loss is on fire"), ("killed", "rank 1 was killed by SIGKILL")])  # fmt: skip
def test_an_end_in_the_midst_of_a_backward_pass_ends_all_ranks(mode, said):
    out = launch(2, "overlap.py", "data", mode)
    assert out.returncode == 1 and said in out.stderr, out.stderr[-3000:]
    assert "[rank 0] started" in out.stdout and "ended" not in out.stdout


@needs_mpi
def test_after_a_caught_error_the_next_pass_goes_through():
    out = launch(2, "overlap.py", "data", "caught")
    ends = [line.split("ended ")[1] for line in out.stdout.splitlines() if "ended " in line]
    assert out.returncode == 0 and len(ends) == 2 and ends[0] == ends[1], out.stdout + out.stderr[-3000:]
