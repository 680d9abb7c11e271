"""A parameter computed from other parameters each time it is read."""

from __future__ import annotations

import copy
from typing import Any

import headwater as hw

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter


class ParametrizationList(ModuleList):
    """The chain of modules that computes one parameter from `original` (or `original0`, `original1`, ...)."""

    def __init__(self, modules: list[Module], original: hw.Tensor) -> None:
        super().__init__(modules)
        self.is_tensor = True
        value: Any = original
        with hw.no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    value = module.right_inverse(value)
        requires_grad = original.requires_grad
        if isinstance(value, hw.Tensor):
            self.original = Parameter(value, requires_grad)
        else:
            self.is_tensor = False
            self.ntensors = len(value)
            for i, part in enumerate(value):
                setattr(self, f"original{i}", Parameter(part, requires_grad))

    def right_inverse(self, value: hw.Tensor) -> None:
        """Sets the originals such that the computed parameter becomes `value`."""
        new: Any = value
        with hw.no_grad():
            for module in reversed(list(self)):
                new = module.right_inverse(new)
            if self.is_tensor:
                self.original.copy_(new)
            else:
                for i, part in enumerate(new):
                    getattr(self, f"original{i}").copy_(part)

    def forward(self) -> hw.Tensor:
        if self.is_tensor:
            first = (self.original,)
        else:
            first = tuple(getattr(self, f"original{i}") for i in range(self.ntensors))
        modules = iter(self)
        value = next(modules)(*first)
        for module in modules:
            value = module(value)
        return value


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a parameter of this module (that of the given name) is parametrized."""
    table = module.__dict__.get("parametrizations")
    if not isinstance(table, ModuleDict):
        return False
    return len(table) > 0 if tensor_name is None else tensor_name in table


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """From now on `module.<tensor_name>` is `parametrization` of what was stored there."""
    if is_parametrized(module, tensor_name):
        chain = module.parametrizations[tensor_name]  # type: ignore[attr-defined]
        if hasattr(parametrization, "right_inverse") and chain.is_tensor:
            with hw.no_grad():
                chain.original.copy_(parametrization.right_inverse(chain.original))
        chain.append(parametrization)
        return module
    if tensor_name not in module._parameter_names:
        raise ValueError(f"{type(module).__name__} does not have a parameter with name '{tensor_name}'")
    original = module.__dict__[tensor_name]
    chain = ParametrizationList([parametrization], original)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_own_class(module)
        module.add_module("parametrizations", ModuleDict())
    module.parametrizations[tensor_name] = chain  # type: ignore[attr-defined]
    setattr(type(module), tensor_name, _property(tensor_name))
    return module


def _give_own_class(module: Module) -> None:
    """A subclass for this one module, to carry the properties."""
    base = type(module)
    module.__class__ = type(
        f"Parametrized{base.__name__}", (base,), {"__reduce_ex__": _no_pickle, "__deepcopy__": _deepcopy}
    )


def _no_pickle(self: Module, protocol: Any) -> Any:
    raise RuntimeError("a parametrized module cannot be pickled; save its state_dict()")


def _deepcopy(self: Module, memo: dict[int, Any]) -> Module:
    base: Any = type(self).__mro__[1]
    twin = base.__new__(base)
    memo[id(self)] = twin
    twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
    _give_own_class(twin)
    for name in self.parametrizations:  # type: ignore[attr-defined]
        setattr(type(twin), name, _property(name))
    return twin


def _property(name: str) -> property:
    def read(self: Module) -> hw.Tensor:
        return self.parametrizations[name]()  # type: ignore[attr-defined]

    def write(self: Module, value: hw.Tensor) -> None:
        self.parametrizations[name].right_inverse(value)  # type: ignore[attr-defined]

    return property(read, write)


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes `module.<tensor_name>` a plain parameter again: the computed value, or the original one."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{type(module).__name__} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]  # type: ignore[attr-defined]
    if leave_parametrized:
        with hw.no_grad():
            value = Parameter(chain().detach().clone())
    elif chain.is_tensor:
        value = chain.original
    else:
        raise ValueError("leave_parametrized=False needs a parametrization of a single tensor")
    del module.parametrizations[tensor_name]  # type: ignore[attr-defined]
    delattr(type(module), tensor_name)
    if len(module.parametrizations) == 0:  # type: ignore[attr-defined]
        del module.parametrizations  # type: ignore[attr-defined]
        module.__class__ = type(module).__mro__[1]
    module.register_parameter(tensor_name, value)
    return module
