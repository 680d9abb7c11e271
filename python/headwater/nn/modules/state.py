"""Saving a module's state into a flat dict of tensors and loading it back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import headwater as hw

from ..parameter import Parameter
from .hooks import HookTable, RemovableHandle

if TYPE_CHECKING:
    pass

_EXTRA_STATE = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What load_state_dict(strict=False) could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class StateHooks:
    """Hooks around saving and loading, of one module."""

    def __init__(self) -> None:
        self.save_pre = HookTable()  # hook(module, prefix, keep_vars)
        self.save_post = HookTable()  # hook(module, state_dict, prefix, local_metadata)
        self.load_pre = HookTable()  # hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)
        self.load_post = HookTable()  # hook(module, incompatible_keys)


class Stateful:
    """The part of Module that saves and loads."""

    _version: int = 1
    _state_hooks: StateHooks | None
    _parameter_names: dict[str, None]
    _buffer_names: dict[str, None]
    _module_names: dict[str, None]
    _non_persistent_buffers_set: set[str]

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """All parameters and persistent buffers, by dotted name. The tensors share storage with the module.

        Args:
            destination: a dict to fill instead of a new one.
            prefix: put in front of every key.
            keep_vars: return the parameters themselves instead of detached tensors.
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        hooks = self._state_hooks
        for hook in list(hooks.save_pre.values()) if hooks else ():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name in self._module_names:
            child = self.__dict__[name]
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in list(hooks.save_post.values()) if hooks else ():
            changed = hook(self, destination, prefix, metadata)
            if changed is not None:
                destination = changed
        return destination

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Writes this module's own state, not its children's. Subclasses may extend it."""
        for name in self._state_names():
            tensor = self.__dict__[name]
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def _state_names(self) -> list[str]:
        transient = self._non_persistent_buffers_set
        return [*self._parameter_names, *[name for name in self._buffer_names if name not in transient]]

    def get_extra_state(self) -> Any:
        """Override together with `set_extra_state` to keep more than tensors in the state_dict."""
        raise RuntimeError(f"{type(self).__name__}.get_extra_state is called but not defined.")

    def set_extra_state(self, state: Any) -> None:
        """Called by load_state_dict with what `get_extra_state` returned."""
        raise RuntimeError(f"{type(self).__name__}.set_extra_state is called but not defined.")

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies tensors from `state_dict` into this module and its descendants.

        Args:
            state_dict: tensors by dotted name; dtypes are converted to those of the module.
            strict: raise if keys are missing or not expected.
            assign: put the given tensors in place of the module's own instead of copying values.
        Raises:
            RuntimeError: lists every key that is missing, unexpected, or of another shape. Tensors that fit are loaded.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict expects a dict of tensors, got {type(state_dict).__name__}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata  # type: ignore[attr-defined]

        def load(module: Any, part: dict[str, Any], prefix: str) -> None:
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local = {**local, "assign_to_params_buffers": True}
            module._load_from_state_dict(part, prefix, local, True, missing, unexpected, errors)
            for name in module._module_names:
                child = module.__dict__[name]
                if child is not None:
                    start = f"{prefix}{name}."
                    load(child, {key: value for key, value in part.items() if key.startswith(start)}, start)
            hooks = module._state_hooks
            if hooks is not None and hooks.load_post:
                keys = IncompatibleKeys(missing, unexpected)
                for hook in list(hooks.load_post.values()):
                    if hook(module, keys) is not None:
                        raise RuntimeError("load_state_dict post hooks change the lists in place and return None.")

        load(self, state, "")
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            lines = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        return IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Reads this module's own state, not its children's. Subclasses override it to read older layouts."""
        hooks = self._state_hooks
        for hook in list(hooks.load_pre.values()) if hooks else ():
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name in self._state_names():
            own = self.__dict__[name]
            if own is None:
                continue
            key = prefix + name
            if key in state_dict:
                error = _load_tensor(self, name, key, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        if _overrides(self, "set_extra_state"):
            if prefix + _EXTRA_STATE in state_dict:
                self.set_extra_state(state_dict[prefix + _EXTRA_STATE])
            elif strict:
                missing_keys.append(prefix + _EXTRA_STATE)
        if strict:
            unexpected_keys.extend(self._keys_nobody_reads(state_dict, prefix))

    def _keys_nobody_reads(self, state_dict: dict[str, Any], prefix: str) -> list[str]:
        own = set(self._state_names())
        if _overrides(self, "set_extra_state"):
            own.add(_EXTRA_STATE)
        extra = []
        for key in state_dict:
            if key.startswith(prefix):
                first, dot, _ = key[len(prefix) :].partition(".")
                if not (dot and first in self._module_names) and not (not dot and first in own):
                    extra.append(key)
        return extra

    def _own_state_hooks(self) -> StateHooks:
        if self._state_hooks is None:
            self._state_hooks = StateHooks()
        return self._state_hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, prefix, keep_vars)` runs before this module's state is collected."""
        return self._own_state_hooks().save_pre.add(hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata)` runs after this module's state is collected."""

        def without_result(*args: Any) -> None:
            if hook(*args) is not None:
                raise RuntimeError("state_dict post hooks change the dict in place and return None.")

        return self._own_state_hooks().save_post.add(without_result)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but the hook may return another dict."""
        return self._own_state_hooks().save_post.add(hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`."""
        return self._own_state_hooks().load_pre.add(hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, incompatible_keys)` runs after loading and may change the two lists in place."""
        return self._own_state_hooks().load_post.add(hook)


def _load_tensor(module: Any, name: str, key: str, value: Any, assign: bool) -> str | None:
    """Loads one tensor; returns what is wrong with it, or None."""
    own = module.__dict__[name]
    if not isinstance(value, hw.Tensor):
        return f'While copying the parameter named "{key}", expected a headwater.Tensor, got {type(value).__name__}.'
    if tuple(value.shape) != tuple(own.shape):
        if own.ndim == 0 and tuple(value.shape) == (1,):
            value = value[0]
        else:
            return (
                f"size mismatch for {key}: copying a param with shape {tuple(value.shape)} from checkpoint, "
                f"the shape in current model is {tuple(own.shape)}."
            )
    try:
        if assign:
            if isinstance(own, Parameter) and not isinstance(value, Parameter):
                value = Parameter(value, own.requires_grad)
            setattr(module, name, value)
        else:
            with hw.no_grad():
                own.copy_(value.to_global(own.mesh, own.sbp) if own.is_global else value.full())
    except Exception as error:  # reported together with the other keys
        return f'While copying "{key}" of shape {tuple(own.shape)} and dtype {value.dtype}: {error}.'
    return None


def _overrides(module: Any, method: str) -> bool:
    return getattr(type(module), method) is not getattr(Stateful, method)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
