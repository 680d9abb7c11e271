"""Module: the base class of all layers and models."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, MutableMapping
from functools import partial
from typing import Any, TypeVar

import headwater as hw

from ... import recording
from ..parameter import Buffer, Parameter
from .hooks import CallHooks, RemovableHandle, call_with_hooks, every_module
from .state import Stateful

Self = TypeVar("Self", bound="Module")
_NOTHING: Any = object()
_KINDS = ("_parameter_names", "_buffer_names", "_module_names")


class _Registered(MutableMapping[str, Any]):
    """The live dict behind `module._parameters`, `_buffers` and `_modules`.

    Values are plain instance attributes, so that `self.weight` costs one dict look-up; the module only remembers which
    names are registered.
    """

    def __init__(self, module: Module, names: dict[str, None]) -> None:
        self._module = module
        self._names = names

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._module.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._names[name] = None
        self._module.__dict__[name] = value

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        del self._module.__dict__[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


class Module(Stateful):
    """Base class of all layers and models.

    Parameters, buffers and child modules are registered by assigning them to attributes after ``super().__init__()``.
    A subclass defines ``forward``; call the module itself, so that hooks run.

    Example:
        >>> class Net(hw.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.fc = hw.nn.Linear(4, 2)
        ...     def forward(self, x):
        ...         return self.fc(x).relu()
    """

    training: bool
    dump_patches: bool = False
    call_super_init: bool = False
    _hooks: CallHooks | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(
            training=True,
            _parameter_names={},
            _buffer_names={},
            _module_names={},
            _non_persistent_buffers_set=set(),
            _hooks=None,
            _state_hooks=None,
        )

    # -- calling ------------------------------------------------------------------------------------------------------

    def __call__(self, first: Any = _NOTHING, /, *rest: Any, **kwargs: Any) -> Any:
        # Spelled out for speed: a call with one tensor and no hooks makes no tuple and no dict.
        try:
            if self._hooks is None:
                if rest or kwargs:
                    return self.forward(*_arguments(first, rest), **kwargs)
                return self.forward() if first is _NOTHING else self.forward(first)
            return call_with_hooks(self, _arguments(first, rest), kwargs)
        except Exception as error:
            _name_module(error, self)
            raise

    def _call_with_all_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Takes the place of __call__ once a hook for every module is registered."""
        try:
            return call_with_hooks(self, args, kwargs)
        except Exception as error:
            _name_module(error, self)
            raise

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. Every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # -- registration -------------------------------------------------------------------------------------------------

    @property
    def _parameters(self) -> MutableMapping[str, Any]:
        return _Registered(self, self._parameter_names)

    @property
    def _buffers(self) -> MutableMapping[str, Any]:
        return _Registered(self, self._buffer_names)

    @property
    def _modules(self) -> MutableMapping[str, Any]:
        return _Registered(self, self._module_names)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        kind = _kind_of(value)
        if kind is not None:
            if kind not in own:
                raise AttributeError(
                    f"cannot assign {_NOUN[kind]} before {type(self).__name__} calls Module.__init__()"
                )
            if kind == "_buffer_names" and type(value) is not Buffer and name not in own[kind]:
                kind = None  # a plain tensor is a buffer only where one of that name was registered
        if kind is None:
            self._set_plain(name, value)
            return
        for other in _KINDS:
            if other != kind and name in own[other]:
                if other == "_parameter_names" and kind == "_buffer_names" and type(value) is not Buffer:
                    raise TypeError(_cannot_assign(self, value, name, "parameter"))
                del own[other][name]
        own["_non_persistent_buffers_set"].discard(name) if kind != "_buffer_names" else None
        if type(value) is Buffer and not value.persistent:
            own["_non_persistent_buffers_set"].add(name)
        own[kind][name] = None
        own[name] = value

    def _set_plain(self, name: str, value: Any) -> None:
        """Assigns what is not itself a parameter, buffer or module: None empties a registered slot."""
        own = self.__dict__
        if value is not None and "_parameter_names" in own:
            if name in own["_parameter_names"]:
                raise TypeError(_cannot_assign(self, value, name, "parameter"))
            if name in own["_module_names"]:
                raise TypeError(_cannot_assign(self, value, name, "child module"))
            if name in own["_buffer_names"]:
                raise TypeError(_cannot_assign(self, value, name, "buffer"))
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for kind in _KINDS:
            self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        object.__delattr__(self, name)

    def _check_name(self, name: Any, kind: str, what: str) -> None:
        if kind not in self.__dict__:
            raise AttributeError(f"cannot assign {_NOUN[kind]} before {type(self).__name__} calls Module.__init__()")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[kind]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers a parameter, or an empty slot (None) which state_dict leaves out."""
        self._check_name(name, "_parameter_names", "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' (nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: hw.Tensor | None, persistent: bool = True) -> None:
        """Registers a tensor that is state but is not trained; `persistent=False` keeps it out of state_dict."""
        self._check_name(name, "_buffer_names", "buffer")
        if tensor is not None and not isinstance(tensor, hw.Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def add_module(self, name: str, module: Module | None) -> None:
        """Registers a child module under `name`."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name(name, "_module_names", "module")
        self._modules[name] = module

    # -- looking around -----------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The descendant with the dotted name `target`; this module for ""."""
        module: Any = self
        for part in target.split(".") if target else ():
            if not hasattr(module, part):
                raise AttributeError(f"{type(module).__name__} has no attribute `{part}` (looking for '{target}')")
            module = getattr(module, part)
            if not isinstance(module, Module):
                raise AttributeError(f"`{part}` is not an nn.Module (looking for '{target}')")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts `module` in the place of the descendant with the dotted name `target`; strict: it must exist."""
        path, _, name = target.rpartition(".")
        if not target or not name:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module).__name__}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the dotted name `target`."""
        value = self._get_tensor(target)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{target}` is not an nn.Parameter")
        return value

    def get_buffer(self, target: str) -> hw.Tensor:
        """The buffer with the dotted name `target`."""
        value = self._get_tensor(target)
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._buffer_names:
            raise AttributeError(f"`{target}` is not a buffer")
        return value

    def _get_tensor(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return getattr(module, name)

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all descendants, each with its dotted name."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name in self._module_names:
            child = self.__dict__[name]
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all descendants, each once (or as often as it is used)."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct children with their names, each once."""
        seen = set()
        for name in self._module_names:
            child = self.__dict__[name]
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """The direct children, each once."""
        for _, module in self.named_children():
            yield module

    def _named_tensors(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name in getattr(module, kind):
                value = module.__dict__[name]
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with dotted names; a shared one appears once."""
        return self._named_tensors("_parameter_names", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters, each once."""
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, hw.Tensor]]:
        """Buffers with dotted names, persistent or not."""
        return self._named_tensors("_buffer_names", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[hw.Tensor]:
        """Buffers, each once."""
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    # -- changing everything below ------------------------------------------------------------------------------------

    def apply(self: Self, fn: Callable[[Module], Any]) -> Self:
        """Calls `fn` on every descendant, children first, then on this module."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def train(self: Self, mode: bool = True) -> Self:
        """Training mode (dropout, batch statistics) for this module and its descendants."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {mode!r}")
        if recording.current is not None and self.training != mode:
            recording.current.effect(partial(vars(self).update, training=mode), partial(vars(self).update, training=not mode))
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self: Self) -> Self:
        """Evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Switches gradients of all parameters on or off."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or fills them with zeros."""
        for param in self.parameters():
            if param.grad is not None:
                if set_to_none:
                    param.grad = None
                else:
                    param.grad = hw.zeros_like(param.grad)

    def share_memory(self: Self) -> Self:
        """Moves nothing: CPU tensors are shared with forked workers already."""
        return self

    def _apply(self: Self, fn: Callable[[hw.Tensor], hw.Tensor], recurse: bool = True) -> Self:
        """Replaces every parameter, its gradient, and every buffer by `fn` of it. Parameters keep their identity."""
        for child in self.children() if recurse else ():
            child._apply(fn)
        own = self.__dict__
        for name in self._parameter_names:
            param = own[name]
            if param is None:
                continue
            with hw.no_grad():
                grad = param.grad
                param.data = fn(param.detach())
                if grad is not None:
                    param.grad = fn(grad)
        for name in self._buffer_names:
            if own[name] is not None:
                own[name] = fn(own[name])
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Moves or casts in place: `to(device)`, `to(dtype)`, `to(device, dtype)`, `to(tensor)`.

        A dtype applies to floating-point and complex tensors only; it must itself be one of them.
        """
        device, dtype = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: hw.Tensor) -> hw.Tensor:
            if dtype is not None and (tensor.is_floating_point() or tensor.is_complex()):
                tensor = tensor.to(dtype)
            return tensor if device is None else tensor.to(device)

        return self._apply(convert)

    def to_global(self: Self, mesh: Any, sbp: Any) -> Self:
        """Places all parameters, their gradients and all buffers on a mesh, in place: see hw.distributed.place_module."""
        from ...distributed import place_module

        return place_module(self, mesh, sbp)

    def type(self: Self, dst_type: Any) -> Self:
        """Casts all parameters and buffers."""
        return self._apply(lambda tensor: tensor.to(dst_type))

    def float(self: Self) -> Self:
        """Casts floating-point parameters and buffers to float32."""
        return self._cast_floating(hw.float32)

    def double(self: Self) -> Self:
        """Casts floating-point parameters and buffers to float64."""
        return self._cast_floating(hw.float64)

    def half(self: Self) -> Self:
        """Casts floating-point parameters and buffers to float16."""
        return self._cast_floating(hw.float16)

    def bfloat16(self: Self) -> Self:
        """Casts floating-point parameters and buffers to bfloat16."""
        return self._cast_floating(hw.bfloat16)

    def cpu(self: Self) -> Self:
        """Moves all parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.to("cpu"))

    def _cast_floating(self: Self, dtype: Any) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    # -- hooks --------------------------------------------------------------------------------------------------------

    def _own_hooks(self) -> CallHooks:
        if self._hooks is None:
            self._hooks = CallHooks()
        return self._hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, args)` runs before forward and may return other args.

        with_kwargs: `hook(module, args, kwargs)`, which may return (args, kwargs).
        """
        return self._own_hooks().forward_pre.add((hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """`hook(module, args, output)` runs after forward and may return another output.

        with_kwargs: `hook(module, args, kwargs, output)`. always_call: also when forward raised (output is None).
        """
        return self._own_hooks().forward.add((hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_output)` runs when the gradients of the outputs are known; it may return others."""
        return self._own_hooks().backward_pre.add(hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` runs when the inputs' gradients are known; it may return others."""
        return self._own_hooks().backward.add(hook, prepend)

    # -- showing and copying ------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the brackets of the module's repr. Override it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indent(repr(child))}" for name, child in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join([*lines, *children]) + "\n)"

    def __dir__(self) -> list[str]:
        return sorted(key for key in {*dir(type(self)), *self.__dict__} if not key[0].isdigit())

    def __copy__(self: Self) -> Self:
        twin = type(self).__new__(type(self))
        for key, value in self.__dict__.items():
            twin.__dict__[key] = copy.copy(value) if key in _KINDS or key == "_non_persistent_buffers_set" else value
        return twin


_NOUN = {"_parameter_names": "parameters", "_buffer_names": "buffers", "_module_names": "modules"}


def _arguments(first: Any, rest: tuple[Any, ...]) -> tuple[Any, ...]:
    return () if first is _NOTHING else (first, *rest)


def _kind_of(value: Any) -> str | None:
    if isinstance(value, Module):
        return "_module_names"
    if isinstance(value, Parameter):
        return "_parameter_names"
    return "_buffer_names" if isinstance(value, hw.Tensor) else None


def _cannot_assign(module: Module, value: Any, name: str, what: str) -> str:
    wanted = {"parameter": "nn.Parameter", "child module": "nn.Module", "buffer": "Tensor"}[what]
    return (
        f"cannot assign '{type(value).__name__}' object to {what} '{name}' of {type(module).__name__} "
        f"({wanted} or None expected)"
    )


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    for arg in args:
        if isinstance(arg, hw.Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, hw.dtype):
            dtype = arg
        elif isinstance(arg, (str, hw.device)):
            device = arg
        elif arg is not None and not isinstance(arg, bool):  # bool: non_blocking
            raise TypeError(f"nn.Module.to: expected a device, a dtype or a tensor, got {type(arg).__name__}.")
    return device, dtype


def _name_module(error: Exception, module: Module) -> None:
    """Puts one note on an error that left a module: which module of the outermost one raised it."""
    if not hasattr(error, "add_note"):
        return  # Python 3.10 has no notes
    inner = getattr(error, "_module", module)
    path = next((name for name, child in module.named_modules() if child is inner), "")
    note = f"in module {inner._get_name()}({inner.extra_repr()})"
    if path:
        note += f", which is '{path}' of {module._get_name()}"
    try:
        previous = getattr(error, "_module_note", None)
        notes = getattr(error, "__notes__", [])
        if previous in notes:
            notes.remove(previous)
        error.add_note(note)
        error._module, error._module_note = inner, note  # type: ignore[attr-defined]
    except AttributeError:
        pass  # exceptions with slots carry no note


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, args)` before the forward of every module."""
    Module.__call__ = Module._call_with_all_hooks  # type: ignore[method-assign]
    return every_module.forward_pre.add((hook, False))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """`hook(module, args, output)` after the forward of every module."""
    Module.__call__ = Module._call_with_all_hooks  # type: ignore[method-assign]
    return every_module.forward.add((hook, with_kwargs, always_call))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_input, grad_output)` for every module."""
    Module.__call__ = Module._call_with_all_hooks  # type: ignore[method-assign]
    return every_module.backward.add(hook)
