"""Streams: stages that work at the same time, each on a thread of its own, with bounded memory between them."""
from __future__ import annotations

from .pipeline import Pipeline, Run, Stage, stage
from .plan import StreamPlan, load_plan

__all__ = ["Pipeline", "Run", "Stage", "StreamPlan", "load_plan", "stage"]
