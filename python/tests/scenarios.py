"""Short scenarios."""

from __future__ import annotations

from typing import Any

TWO: dict[str, Any] = {
    "title": "Two flows",
    "duration": "1s",
    "topology": {"kind": "dumbbell", "senders": 2, "rate": "100Mbps", "delay": "1ms"},
    "scheme": [{"transport": "cubic"}, {"transport": "flashpass"}],
    "group": [{"name": "all", "size": "20KB"}],
}
