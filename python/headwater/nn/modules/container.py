"""Modules and parameters in sequences and dicts."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import headwater as hw

from ..parameter import Parameter
from .module import Module


class _Indexed(Module):
    """Children named "0", "1", ... as in a list."""

    def _name_at(self, index: Any) -> str:
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range for {type(self).__name__} with {len(self)} entries")
        return list(self._module_names)[position]

    def _rebuild(self, modules: Iterable[Module | None]) -> None:
        for name in list(self._module_names):
            delattr(self, name)
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def _list(self) -> list[Any]:
        return [self.__dict__[name] for name in self._module_names]

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list())

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = self._list()
        if not isinstance(index, slice):
            self._name_at(index)
        del modules[index]
        self._rebuild(modules)


class Sequential(_Indexed):
    """Calls its modules one after the other; each gets the output of the one before.

    Args: the modules, or one OrderedDict of modules by name.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        own = self.__dict__
        for name in own["_module_names"]:
            input = own[name](input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self.__dict__[self._name_at(index)]

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._module_names)
        for name in names[index] if isinstance(index, slice) else [self._name_at(index)]:
            delattr(self, name)
        if all(name.isdigit() for name in self._module_names):
            self._rebuild(self._list())

    def append(self, module: Module) -> Sequential:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Adds modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Sequential:
        """Adds a module before position `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = self._list()
        modules.insert(index + len(self) if index < 0 else index, module)
        self._rebuild(modules)
        return self

    def pop(self, key: int | slice) -> Any:
        """Removes and returns a module."""
        module = self[key]
        del self[key]
        return module

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other).__name__} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Sequential:
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self).__name__}")
        return Sequential(*(list(self) * other))

    __rmul__ = __mul__


class ModuleList(_Indexed):
    """A list of modules. It has no forward: index it or iterate over it."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(self._list()[index])
        return self.__dict__[self._name_at(index)]

    def append(self, module: Module) -> ModuleList:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before position `index`."""
        modules = self._list()
        modules.insert(index, module)
        self._rebuild(modules)

    def pop(self, key: int | slice) -> Any:
        """Removes and returns a module."""
        module = self[key]
        del self[key]
        return module

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __repr__(self) -> str:
        """Equal neighbours are shown once: (0-5): 6 x Block(...)."""
        groups: list[list[Any]] = []
        for i, text in enumerate(map(repr, self._list())):
            if groups and groups[-1][2] == text:
                groups[-1][1] = i
            else:
                groups.append([i, i, text])
        if not groups:
            return f"{self._get_name()}()"
        lines = []
        for first, last, text in groups:
            label = f"({first})" if first == last else f"({first}-{last})"
            count = "" if first == last else f"{last - first + 1} x "
            lines.append(f"{label}: {count}{text}".replace("\n", "\n  "))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules. It has no forward: look modules up by key."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._module_names)

    def __contains__(self, key: str) -> bool:
        return key in self._module_names

    def clear(self) -> None:
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Removes and returns a module."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The keys."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Pairs of key and module."""
        return self._modules.items()

    def values(self) -> Iterable[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Adds or replaces modules."""
        for key, module in modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules:
            self[key] = module


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, hw.Tensor) and not isinstance(value, Parameter) else value


def _describe(value: Any) -> str:
    if isinstance(value, hw.Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        size = "x".join(str(n) for n in value.shape)
        return f"{kind} containing: [{value.dtype} of size {size}]"
    return f"Object of type: {type(value).__name__}"


class ParameterList(Module):
    """A list of parameters; tensors become parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_at(self, index: Any) -> str:
        position = operator.index(index)
        if not -self._size <= position < self._size:
            raise IndexError(f"index {position} is out of range for ParameterList with {self._size} entries")
        return str(position % self._size)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self.__dict__[str(i)] for i in range(*index.indices(self._size))])
        return self.__dict__[self._name_at(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name_at(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self.__dict__[str(i)] for i in range(self._size)])

    def append(self, value: Any) -> ParameterList:
        """Adds a parameter at the end."""
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds parameters at the end."""
        if not isinstance(values, Iterable) or isinstance(values, hw.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {_describe(value)}" for i, value in enumerate(self))


class ParameterDict(Module):
    """A dict of parameters; tensors become parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return self.__dict__[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: a key must be a string, got {type(key).__name__}")
        if key not in self._keys and hasattr(self, key):
            raise KeyError(f"ParameterDict: '{key}' is a name of the class itself")
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """The keys."""
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return [self.__dict__[key] for key in self._keys]

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of key and parameter."""
        return [(key, self.__dict__[key]) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of `key`, or `default`."""
        return self.__dict__[key] if key in self._keys else default

    def pop(self, key: str) -> Any:
        """Removes and returns a parameter."""
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Removes all parameters."""
        for key in list(self._keys):
            del self[key]

    def update(self, parameters: Any) -> None:
        """Adds or replaces parameters: a mapping or pairs."""
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {_describe(value)}" for key, value in self.items())
