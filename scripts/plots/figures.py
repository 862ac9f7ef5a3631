# SPDX-License-Identifier: Apache-2.0
"""Every figure of a report by name; a new one is one more row."""

from . import style
from .heatmap import heatmap
from .lines import bandwidth, latency
from .spread import spread

FIGURES = {"latency": latency, "bandwidth": bandwidth, "heatmap": heatmap, "spread": spread}


def draw(sections):
    """{section: {name: SVG text}}. A section without a measured point has no figure."""
    look = style.Look({candidate for section in sections for candidate in section.candidates})
    with style.settings():
        return {section: _draw_section(section, look) for section in sections}


def _draw_section(section, look):
    if not section.sizes:
        return {}
    return {name: style.svg_text(make(section, look), f"{section.shape.slug}-{name}",
                                 f"{name} of {section.shape.title}, {section.shape.details}")
            for name, make in FIGURES.items()}
