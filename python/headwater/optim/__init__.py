"""Optimisers and learning-rate schedules, with torch's names, arguments and defaults."""

from . import lr_scheduler
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .by_formula import Adadelta, Adamax, NAdam, RAdam, Rprop
from .lamb import LAMB
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = [
    "LAMB", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SparseAdam",
    "lr_scheduler",
]  # fmt: skip
