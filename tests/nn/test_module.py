"""The Module system: registration, traversal, modes, conversion, copies, repr, errors."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import torch

import headwater as hw
from headwater import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.scale = nn.Parameter(hw.ones(3))
        self.register_buffer("seen", hw.zeros(1))
        self.register_buffer("cache", hw.zeros(2), persistent=False)
        self.nothing = None

    def forward(self, x):
        return self.norm(self.fc(x)) * self.scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.rest = nn.Sequential(Block(), nn.ReLU())

    def forward(self, x):
        return self.rest(self.first(x))


class TorchBlock(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.scale = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("cache", torch.zeros(2), persistent=False)
        self.nothing = None


class TorchNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = TorchBlock()
        self.rest = torch.nn.Sequential(TorchBlock(), torch.nn.ReLU())


def test_names_are_torchs():
    ours, theirs = Net(), TorchNet()
    for method in ("named_parameters", "named_buffers", "named_modules", "named_children"):
        assert [n for n, _ in getattr(ours, method)()] == [n for n, _ in getattr(theirs, method)()], method
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours).replace("Block", "TorchBlock").replace("Net(", "TorchNet(", 1) == repr(theirs)


def test_assignment_registers_replaces_and_removes():
    m = Block()
    assert (
        set(m._parameters) == {"scale"} and set(m._modules) == {"fc", "norm"} and set(m._buffers) == {"seen", "cache"}
    )
    m.scale = None
    assert m._parameters["scale"] is None and list(m.parameters(recurse=False)) == []
    m.fc = nn.Identity()
    assert isinstance(m._modules["fc"], nn.Identity)
    m.seen = hw.ones(1)
    assert "seen" in m.state_dict() and float(m.state_dict()["seen"]) == 1
    m.extra = nn.Parameter(hw.ones(2))
    assert "extra" in dict(m.named_parameters())
    m.extra = nn.Linear(1, 1)  # a module in place of a parameter
    assert "extra" in m._modules and "extra" not in m._parameters
    del m.extra
    assert "extra" not in m._modules and not hasattr(m, "extra")
    m.plain = hw.ones(2)
    assert "plain" not in m.state_dict()
    m.kept = nn.Buffer(hw.ones(2))
    m.hidden = nn.Buffer(hw.ones(2), persistent=False)
    assert "kept" in m.state_dict() and "hidden" not in m.state_dict() and "hidden" in dict(m.named_buffers())


def test_registries_are_live_dicts():
    m = Block()
    p = nn.Parameter(hw.zeros(3))
    m._parameters["scale"] = p
    assert m.scale is p
    del m._parameters["scale"]
    assert not hasattr(m, "scale") and "scale" not in m.state_dict()
    with pytest.raises(KeyError):
        m._parameters["scale"]


@pytest.mark.parametrize(
    "act, error, text",
    [
        (lambda m: setattr(m, "scale", hw.ones(3)), TypeError, "parameter 'scale' of Block"),
        (lambda m: setattr(m, "fc", 3), TypeError, "child module 'fc'"),
        (lambda m: setattr(m, "seen", "text"), TypeError, "buffer 'seen'"),
        (lambda m: m.register_parameter("a.b", None), KeyError, 'contain "."'),
        (lambda m: m.register_parameter("", None), KeyError, "empty"),
        (lambda m: m.register_parameter("fc", None), KeyError, "already exists"),
        (lambda m: m.register_parameter("w", hw.ones(1)), TypeError, "Parameter or None"),
        (lambda m: m.register_buffer("forward", None), KeyError, "already exists"),
        (lambda m: m.register_buffer("b", 3), TypeError, "Tensor or None"),
        (lambda m: m.add_module("c", 3), TypeError, "not a Module"),
        (lambda m: m.add_module(3, nn.Identity()), TypeError, "string"),
        (lambda m: m.absent, AttributeError, "'Block' object has no attribute 'absent'"),
        (lambda m: m.train("yes"), ValueError, "boolean"),
        (lambda m: m.to(hw.int64), TypeError, "floating point"),
        (lambda m: m.get_parameter("fc.absent"), AttributeError, "absent"),
        (lambda m: m.get_submodule("scale"), AttributeError, "not an nn.Module"),
        (lambda m: nn.Module()(1), NotImplementedError, "forward"),
        (lambda m: nn.Parameter(3), TypeError, "headwater.Tensor"),
    ],
)
def test_errors_say_what_is_wrong(act, error, text):
    with pytest.raises(error) as caught:
        act(Block())
    assert text in str(caught.value)


def test_assignment_before_init_is_an_error():
    class Early(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="before Early calls Module"):
        Early()


def test_an_error_names_the_module_that_raised_it():
    net = Net()
    with pytest.raises(Exception) as caught:
        net(hw.zeros(4, 5))
    note = "\n".join(getattr(caught.value, "__notes__", []))
    assert "Linear(in_features=3, out_features=3, bias=True)" in note and "'first.fc' of Net" in note
    assert len(caught.value.__notes__) == 1


def test_submodules_by_path():
    net = Net()
    assert net.get_submodule("rest.0.fc") is net.rest[0].fc
    assert net.get_submodule("") is net
    assert net.get_parameter("first.fc.weight") is net.first.fc.weight
    assert net.get_buffer("first.norm.running_mean") is net.first.norm.running_mean
    net.set_submodule("rest.0.fc", nn.Identity())
    assert isinstance(net.rest[0].fc, nn.Identity)


def test_shared_parameters_appear_once():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    b.weight = a.weight
    both = nn.Sequential(a, b, a)
    assert [n for n, _ in both.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert len(list(both.named_parameters(remove_duplicate=False))) == 6
    assert len(list(both.modules())) == 3
    twin = copy.deepcopy(both)
    assert twin[0].weight is twin[1].weight and twin[0] is twin[2] and twin[0].weight is not a.weight


def test_modes_apply_and_gradients():
    net = Net()
    assert net.eval() is net and not any(m.training for m in net.modules())
    net.train()
    assert all(m.training for m in net.modules())
    order = []
    net.apply(lambda m: order.append(type(m).__name__))
    assert order == ["Linear", "BatchNorm1d", "Block", "Linear", "BatchNorm1d", "Block", "ReLU", "Sequential", "Net"]
    net(hw.randn(4, 3)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all(float(p.grad.abs().sum()) == 0 for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


@pytest.mark.parametrize(
    "method, dtype", [("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("float", "float32")]
)
def test_casts_keep_identity_and_integers(method, dtype):
    net = Net()
    before = list(net.parameters())
    before[0].grad = hw.ones(*before[0].shape)
    assert getattr(net, method)() is net
    assert all(a is b for a, b in zip(net.parameters(), before))
    assert {p.dtype for p in net.parameters()} == {getattr(hw, dtype)}
    assert before[0].grad.dtype == getattr(hw, dtype)
    assert net.first.norm.num_batches_tracked.dtype == hw.int64
    assert net.first.norm.running_mean.dtype == getattr(hw, dtype)


def test_to_takes_device_dtype_or_tensor():
    net = Net()
    assert next(net.to(hw.float64).parameters()).dtype == hw.float64
    assert next(net.to("cpu", hw.float32).parameters()).dtype == hw.float32
    assert next(net.to(hw.zeros(1, dtype=hw.float64)).parameters()).dtype == hw.float64
    assert next(net.to(dtype=hw.float32).parameters()).dtype == hw.float32
    assert next(net.cpu().parameters()).requires_grad
    assert next(net.type(hw.float64).parameters()).dtype == hw.float64


def test_copies_are_independent():
    net = Net()
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        twin.first.scale.data.fill_(5)
        twin.extra = nn.Parameter(hw.ones(1))
        assert float(net.first.scale.sum()) == 3
        assert "extra" not in dict(net.named_parameters())
        assert "cache" in dict(twin.first.named_buffers()) and "first.cache" not in twin.state_dict()
    shallow = copy.copy(net)
    shallow.extra = nn.Parameter(hw.ones(1))
    assert shallow.first is net.first and "extra" not in dict(net.named_parameters())


def test_a_module_is_freed_without_the_garbage_collector():
    gc.disable()
    try:
        net = Net()
        parameter, module = weakref.ref(net.first.scale), weakref.ref(net)
        del net
        assert module() is None and parameter() is None
    finally:
        gc.enable()


def test_parameter_is_a_tensor_that_shares_its_data():
    data = hw.zeros(2, 2)
    p = nn.Parameter(data)
    assert isinstance(p, hw.Tensor) and p.requires_grad and p.is_leaf
    data.fill_(3)
    assert float(p.sum()) == 12
    assert repr(p).startswith("Parameter containing:\n") and "requires_grad=True" in repr(p)
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    again = pickle.loads(pickle.dumps(p))
    assert type(again) is nn.Parameter and again.requires_grad
    np.testing.assert_array_equal(again.detach().numpy(), p.detach().numpy())
    assert not isinstance(p * 2, nn.Parameter)


class TestContainers:
    def test_sequential(self):
        from collections import OrderedDict

        seq = nn.Sequential(OrderedDict([("a", nn.Linear(2, 3)), ("b", nn.ReLU())]))
        assert list(seq.state_dict()) == ["a.weight", "a.bias"] and len(seq) == 2 and seq[-1] is seq.b
        plain = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        assert isinstance(plain[:2], nn.Sequential) and len(plain[:2]) == 2
        plain.append(nn.Identity()).insert(0, nn.Identity())
        assert [type(m).__name__ for m in plain] == ["Identity", "Linear", "ReLU", "Linear", "Identity"]
        del plain[0]
        assert list(plain._modules) == ["0", "1", "2", "3"] and isinstance(plain[0], nn.Linear)
        plain[3] = nn.Sigmoid()
        assert plain(hw.ones(4, 2)).shape == (4, 1)
        assert len(plain + seq) == 6 and len(seq * 2) == 4
        with pytest.raises(IndexError):
            plain[9]

    def test_module_list(self):
        items = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        items.append(nn.ReLU())
        items += [nn.ReLU()]
        items.insert(1, nn.Tanh())
        assert [type(m).__name__ for m in items] == ["Linear", "Tanh", "Linear", "Linear", "ReLU", "ReLU"]
        assert isinstance(items[1:3], nn.ModuleList) and len(items[1:3]) == 2
        assert isinstance(items.pop(1), nn.Tanh) and len(items) == 5
        theirs = torch.nn.ModuleList([*[torch.nn.Linear(2, 2) for _ in range(3)], torch.nn.ReLU(), torch.nn.ReLU()])
        assert repr(items) == repr(theirs)
        with pytest.raises(NotImplementedError):
            items(1)

    def test_module_dict(self):
        items = nn.ModuleDict({"a": nn.Linear(2, 2)})
        items["b"] = nn.ReLU()
        items.update([("c", nn.Tanh())])
        assert list(items) == ["a", "b", "c"] and "b" in items and len(items) == 3
        assert isinstance(items.pop("c"), nn.Tanh) and list(items.keys()) == ["a", "b"]
        assert repr(items) == repr(torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "b": torch.nn.ReLU()}))
        items.clear()
        assert len(items) == 0

    def test_parameter_list_and_dict(self):
        listed = nn.ParameterList([hw.ones(2), nn.Parameter(hw.zeros(3))])
        listed.append(hw.ones(1))
        assert [n for n, _ in listed.named_parameters()] == ["0", "1", "2"] and len(listed[1:]) == 2
        listed[0] = hw.zeros(2)
        assert isinstance(listed[0], nn.Parameter) and float(listed[0].sum()) == 0
        named = nn.ParameterDict({"left": hw.ones(2), "right": hw.ones(3)})
        assert list(named.state_dict()) == ["left", "right"] and named["left"].shape == (2,)
        named.pop("left")
        assert list(named.keys()) == ["right"] and "left" not in named
        for container in (listed, named):
            assert list(copy.deepcopy(container).state_dict()) == list(container.state_dict())


class TestStateDict:
    def test_shares_memory_and_keep_vars(self):
        m = nn.Linear(2, 2)
        state = m.state_dict()
        assert not state["weight"].requires_grad and state["weight"].data_ptr() == m.weight.data_ptr()
        assert m.state_dict(keep_vars=True)["weight"] is m.weight
        assert list(m.state_dict(prefix="p.")) == ["p.weight", "p.bias"]

    def test_metadata_has_versions(self):
        assert Net().state_dict()._metadata["first.norm"] == {"version": 2}

    def test_message_lists_everything(self):
        state = Net().state_dict()
        del state["first.scale"]
        state["first.other"] = hw.zeros(1)
        state["rest.0.fc.weight"] = hw.zeros(3, 4)
        with pytest.raises(RuntimeError) as caught:
            Net().load_state_dict(state)
        text = str(caught.value)
        assert "loading state_dict for Net" in text
        assert 'Missing key(s) in state_dict: "first.scale"' in text
        assert 'Unexpected key(s) in state_dict: "first.other"' in text
        assert "size mismatch for rest.0.fc.weight" in text and "(3, 4)" in text and "(3, 3)" in text

    def test_not_strict_returns_the_keys(self):
        state = Net().state_dict()
        del state["first.scale"]
        state["other.deep"] = hw.zeros(1)
        keys = Net().load_state_dict(state, strict=False)
        assert keys.missing_keys == ["first.scale"] and keys.unexpected_keys == ["other.deep"]

    def test_assign_takes_the_given_tensors(self):
        m = nn.Linear(2, 2)
        state = {"weight": hw.ones(2, 2, dtype=hw.float64), "bias": hw.zeros(2)}
        m.load_state_dict(state, assign=True)
        assert m.weight.dtype == hw.float64 and m.weight.data_ptr() == state["weight"].data_ptr()
        assert isinstance(m.weight, nn.Parameter) and m.weight.requires_grad

    def test_copying_converts_the_dtype(self):
        m = nn.Linear(2, 2)
        m.load_state_dict({"weight": hw.ones(2, 2, dtype=hw.float64), "bias": hw.zeros(2)})
        assert m.weight.dtype == hw.float32 and float(m.weight.sum()) == 4

    def test_extra_state(self):
        class Counter(nn.Linear):
            count = 0

            def get_extra_state(self):
                return {"count": self.count}

            def set_extra_state(self, state):
                self.count = state["count"]

        a, b = Counter(1, 1), Counter(1, 1)
        a.count = 7
        assert "_extra_state" in a.state_dict()
        b.load_state_dict(a.state_dict())
        assert b.count == 7

    def test_batch_norm_reads_states_without_counter(self):
        state = {k: v for k, v in nn.BatchNorm1d(2).state_dict().items() if k != "num_batches_tracked"}
        nn.BatchNorm1d(2).load_state_dict(state)

    def test_hooks(self):
        m, calls = nn.Sequential(nn.Linear(1, 1)), []
        m.register_state_dict_pre_hook(lambda module, prefix, keep_vars: calls.append("save"))
        m.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update(note=1))
        m.register_load_state_dict_pre_hook(lambda module, state, *rest: state.pop("note"))
        m.register_load_state_dict_post_hook(lambda module, keys: calls.append(list(keys.missing_keys)))
        state = m.state_dict()
        assert state["note"] == 1
        m.load_state_dict(state)
        assert calls == ["save", []]

    def test_rejects_what_is_no_dict(self):
        with pytest.raises(TypeError, match="expects a dict"):
            nn.Linear(1, 1).load_state_dict([1])
        with pytest.raises(RuntimeError, match=r"expected a headwater\.Tensor, got ndarray"):
            nn.Linear(1, 1).load_state_dict({"weight": np.ones((1, 1)), "bias": hw.zeros(1)})


def test_calling_without_hooks_is_lean():
    """The time is measured in benchmarks; here: no hook machinery is entered."""

    class Probe(nn.Module):
        def forward(self, *args, **kwargs):
            return args, kwargs

    probe = Probe()
    assert probe() == ((), {}) and probe(1) == ((1,), {}) and probe(1, 2, a=3) == ((1, 2), {"a": 3})
    assert probe(first=1, self_=2) == ((), {"first": 1, "self_": 2}) and probe(None) == ((None,), {})
    assert probe._hooks is None
