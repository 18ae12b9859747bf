"""What every test shares: how property tests search, and where the tree is."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# In CI the same examples each time: a red run is a red commit, not luck. At a desk each run looks elsewhere.
settings.register_profile("desk", deadline=None, print_blob=True)
settings.register_profile("ci", parent=settings.get_profile("desk"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the tree."""
    return Path(__file__).resolve().parent.parent
