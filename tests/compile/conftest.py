"""For the tests of compiled functions: graphs are checked after each pass, plans go through a file and back."""
import pytest


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    monkeypatch.setenv("HEADWATER_VERIFY", "1")
