"""For all tests: programs are compiled anew, not taken from the user's cache on disk; and what judges sleeps has more than one go."""
import os

import pytest

os.environ.setdefault("HEADWATER_CACHE_SIZE", "0")


@pytest.fixture
def one_of_several():
    """Runs a check that compares measured sleeps until it holds, five times at most: a busy machine wakes a thread late."""

    def run(check):
        for _ in range(4):
            try:
                return check()
            except AssertionError:
                pass
        return check()

    return run
