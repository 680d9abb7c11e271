"""Streams: stages that work at the same time, each on a thread of its own, with bounded memory between them."""
from __future__ import annotations

from .graph import Graph, Value
from .pipeline import Pipeline, Stage, stage
from .plan import StreamPlan, load_plan
from .run import Run, RunRecord

__all__ = ["Graph", "Pipeline", "Run", "RunRecord", "Stage", "StreamPlan", "Value", "load_plan", "stage"]
