"""The colours of timelines, in a light and a dark scheme: one accent, for what decides, above calm others."""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "card": "#fbfaf7",
    "band": "#f3f1ec",
    "line": "#dfdcd4",
    "ink": "#1f2430",
    "soft": "#5d6472",
    "on-accent": "#ffffff",
    "accent": "#d4480b",
    "changed": "#0b7285",
    "phase": "#bccdf0",
    "collective": "#a9dccb",
    "link": "#8fc7df",
    "replay": "#d6c8f0",
    "load": "#eedca4",
    "record": "#c9ced8",
    "wait": "#e6e3dc",
    "host": "#d5d9e0",
    "idle": "#ece9e2",
}
DARK = {
    "paper": "#0e1116",
    "card": "#151a21",
    "band": "#1b212a",
    "line": "#303845",
    "ink": "#e8ebf0",
    "soft": "#9ba5b4",
    "on-accent": "#1a0d04",
    "accent": "#ff8f4d",
    "changed": "#4fd0e0",
    "phase": "#324a7d",
    "collective": "#20594a",
    "link": "#1d5a78",
    "replay": "#4c3d78",
    "load": "#65521c",
    "record": "#434c5b",
    "wait": "#262d37",
    "host": "#3a4350",
    "idle": "#222933",
}


def variables(scheme: dict[str, str]) -> str:
    """As custom properties of CSS."""
    return " ".join(f"--{name}: {colour};" for name, colour in scheme.items())
