"""The tests of headwater.nn compare with torch; they are skipped where it is missing."""

import pytest

pytest.importorskip("torch")
