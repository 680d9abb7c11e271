"""Profiling: operators, compiled programs, actors, messages and memory over time; `hw.profile()` is `hw.profiler.profile`."""
from __future__ import annotations

from .chrome import merge
from .events import Event
from .profile import ProfilerAction, profile, record_function, schedule
from .table import Averages

__all__ = ["Averages", "Event", "ProfilerAction", "merge", "profile", "record_function", "schedule"]
