"""Names that code only counts or collects with: what they hold cannot reach a result, so it is no condition of a program."""
from __future__ import annotations

import dis
from types import CodeType

_COLLECT = frozenset({"append", "add", "appendleft"})
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"})
_STORES = frozenset({"STORE_GLOBAL", "STORE_NAME", "STORE_DEREF"})
_FILLERS = frozenset({"CACHE", "PUSH_NULL", "NOP", "COPY", "SWAP", "DUP_TOP", "DUP_TOP_TWO", "ROT_TWO", "ROT_THREE"})


def _is_const(step: dis.Instruction) -> bool:
    return step.opname in ("LOAD_CONST", "LOAD_SMALL_INT")


def _is_add(step: dis.Instruction) -> bool:
    return step.opname in ("INPLACE_ADD", "INPLACE_SUBTRACT") or (
        step.opname == "BINARY_OP" and step.argrepr in ("+=", "-=")
    )


def _counted(steps: list[dis.Instruction], at: int) -> bool:
    """Whether the name loaded at `at` is used as `n += 1`, `n[0] += 1` or `n.append(...)`."""
    after = steps[at + 1 : at + 7]
    if not after:
        return False
    if after[0].opname in ("LOAD_ATTR", "LOAD_METHOD"):
        return after[0].argval in _COLLECT
    if len(after) >= 3 and _is_const(after[0]) and _is_add(after[1]) and after[2].opname in _STORES:
        return bool(after[2].argval == steps[at].argval)
    if len(after) >= 5 and _is_const(after[0]) and after[1].opname in ("BINARY_SUBSCR", "BINARY_OP"):
        return _is_const(after[2]) and _is_add(after[3]) and after[4].opname == "STORE_SUBSCR"
    return False


def counters(code: CodeType) -> tuple[set[str], set[str]]:
    """(names, attributes of self) that are only counted or collected with."""
    steps = [s for s in dis.get_instructions(code) if s.opname not in _FILLERS]
    names: dict[str, bool] = {}
    attributes: dict[str, bool] = {}
    first = code.co_varnames[0] if code.co_argcount else None
    for i, step in enumerate(steps):
        if step.opname in _LOADS:
            names[step.argval] = names.get(step.argval, True) and _counted(steps, i)
        elif step.opname == "LOAD_FAST" and step.argval == first and i + 1 < len(steps):
            read = steps[i + 1]
            if read.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                continue
            after = steps[i + 2 : i + 5]
            counted = (
                len(after) == 3 and _is_const(after[0]) and _is_add(after[1]) and after[2].opname == "STORE_ATTR"
            ) or (bool(after) and after[0].opname in ("LOAD_ATTR", "LOAD_METHOD") and after[0].argval in _COLLECT)
            attributes[read.argval] = attributes.get(read.argval, True) and counted
    return {n for n, only in names.items() if only}, {a for a, only in attributes.items() if only}
