"""Collectives between processes against NumPy, and what needs no second process."""

import pytest
from ranks import launch, needs_mpi

import headwater as hw
import headwater.distributed as dist


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_collectives_of_processes_are_numpys(ranks):
    out = launch(ranks, "collectives.py")
    assert out.returncode == 0, out.stdout[-2000:] + out.stderr[-3000:]
    for r in range(ranks):
        assert f"[rank {r}] all well on rank {r} of {ranks}, local rank {r}" in out.stdout


def test_without_a_launcher_there_is_one_rank():
    assert (dist.get_rank(), dist.get_world_size(), dist.get_local_rank()) == (0, 1, 0)
    t = hw.tensor([1.0, 2.0])
    dist.all_reduce(t)
    dist.barrier()
    out = hw.empty(2)
    dist.all_gather_into_tensor(out, t)
    assert out.tolist() == [1.0, 2.0]
    assert dist.is_initialized()
    work = dist.isend(hw.tensor([3, 4]), 0, tag=5)
    got = hw.zeros(2, dtype=hw.int64)
    assert dist.recv(got, 0, tag=5) == 0 and work.wait() and got.tolist() == [3, 4]


def test_a_written_tensor_has_a_new_version():
    x = hw.tensor([1.0], requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    dist.all_reduce(y.detach())
    with pytest.raises(RuntimeError, match="changed"):
        z.backward()


def raises(text, f, kind=ValueError):
    with pytest.raises(kind) as e:
        f()
    assert text in str(e.value)


def test_mistakes_say_what_differs():
    t = hw.zeros(4)
    raises("there is no reduction 'mean': sum, max, min, product or avg", lambda: dist.all_reduce(t, "mean"))
    raises("the group names rank 3; there are ranks 0 to 0", lambda: dist.new_group([3]))
    raises("the group names a rank twice", lambda: dist.new_group([0, 0]))
    raises("send of 16 bytes to rank 1, tag 0: there are ranks 0 to 0", lambda: dist.send(t, 1), RuntimeError)
    raises("broadcast of 16 bytes from rank 9: rank 9 is no member", lambda: dist.broadcast(t, 9), RuntimeError)
    raises("input and output differ in dtype: f32[4] and i64[4]", lambda: dist.all_gather([hw.zeros(4, dtype=hw.int64)], t))
    raises("an average of i64 would be cut off", lambda: dist.all_reduce(hw.arange(3), "avg"), RuntimeError)
    raises("complex numbers have no order", lambda: dist.all_reduce(t.to(hw.complex64), "max"), RuntimeError)
    raises("a bucket of i64 cannot be sent as bf16", lambda: dist.all_reduce_coalesced([hw.arange(3)], wire=hw.bfloat16))
    raises("say from which rank", lambda: dist.recv(t, None))
    raises("but the launcher says 1", lambda: dist.init_process_group("mpi", world_size=2))
    raises("there is no backend 'nccl'", lambda: dist.init_process_group("nccl"))


def test_ranks_of_one_process_wait_for_each_other():
    first, second = hw._C.inproc_comms(2)
    a, b = hw.tensor([1.0, 2.0]), hw.tensor([10.0, 20.0])
    one, other = first.all_reduce(a, "sum", []), second.all_reduce(b, "sum", [])
    assert one.wait() and other.wait() and a.tolist() == b.tolist() == [11.0, 22.0]
    waiting = first.recv(a, 1, 0)
    assert not waiting.wait_for(0.01) and not waiting.is_completed()
    second.abort("rank 1: enough")
    raises("rank 1: enough", lambda: waiting.wait(), RuntimeError)
    raises("rank 1: enough", lambda: first.barrier([]).wait(), RuntimeError)


def test_a_time_out_names_the_rank_that_is_missing():
    first, second = hw._C.inproc_comms(2)
    raises("rank 0 waited 0", lambda: first.barrier([]).wait(0.02), RuntimeError)
    assert "nothing came from rank 1" in second.status()


@needs_mpi
@pytest.mark.parametrize("ranks", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_training_goes_on_with_another_number_of_ranks(tmp_path, ranks):
    """Three steps on two ranks, the rest on two, or on another number: the same parameters."""
    first = launch(2, "training.py", tmp_path / "run", "first")
    assert first.returncode == 0 and "noticed" in first.stdout, first.stdout + first.stderr[-3000:]
    want = [line.split(": ")[1] for line in first.stdout.splitlines() if "sum of the parameters" in line]
    out = launch(ranks, "training.py", tmp_path / "run", "resume")
    assert out.returncode == 0, out.stderr[-3000:]
    got = [line.split(": ")[1] for line in out.stdout.splitlines() if "sum of the parameters" in line]
    assert abs(float(got[0]) - float(want[0])) < 2e-5 * float(want[0]), (got, want)


def test_check_equal_says_nothing_when_all_is_well():
    model = hw.nn.Linear(3, 2)
    dist.check_equal(model)
    check = dist.ConsistencyCheck(model, every=1)
    check.step()
    for p in model.parameters():
        p.grad = hw.ones(p.shape)
    dist.average_gradients(model, wire=hw.bfloat16)
    assert model.bias.grad.tolist() == [1.0, 1.0]
