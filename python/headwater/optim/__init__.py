"""Optimisers and learning-rate schedules, with torch's names, arguments and defaults."""

from . import lr_scheduler
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .lamb import LAMB
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = ["LAMB", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "SparseAdam", "lr_scheduler"]
