"""Optimisers and learning-rate schedules, with torch's names, arguments and defaults."""

from . import lr_scheduler, swa_utils
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .by_formula import Adadelta, Adamax, NAdam, RAdam, Rprop
from .by_matrix import Adafactor, Muon
from .by_tensors import ASGD
from .lamb import LAMB
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = [
    "ASGD", "LAMB", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils",
]  # fmt: skip
