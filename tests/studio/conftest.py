"""A studio for the tests: a real server with real workers, and a drawing library that takes no time to load."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from leakwise.charts import render
from leakwise.studio.server import Running

PAGE = {"x-leakwise-studio": "page", "content-type": "application/json"}


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "javascript", lambda: "// vega")
        with Running() as studio:
            yield studio.address


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, headers=PAGE, timeout=60, trust_env=False) as found:
        yield found
