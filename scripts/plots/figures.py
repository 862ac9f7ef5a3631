# SPDX-License-Identifier: Apache-2.0
"""All figures of a report, in the order of the page; a new one is one more line here."""

from dataclasses import dataclass, field

from tutti.lines import ResultsError

from . import comparison_figure, decision, heatmap, levels, multiples, naming, over_size, palette, scaling, sections, spread, steps, steps_figure


@dataclass(eq=False)
class Report:
    """Everything that is known before anything is drawn."""

    results: object
    sections: list
    steps: list
    decisions: object = None   # a Drawing, or None
    scaling: list = field(default_factory=list)
    comparisons: list = field(default_factory=list)
    of_section: dict = field(default_factory=dict)  # {section: its Drawings}
    of_steps: dict = field(default_factory=dict)
    multiples: list = field(default_factory=list)

    def drawings(self):
        """Those of the page, and small multiples, which say the same once more."""
        return self.on_page() + self.multiples

    def on_page(self):
        """The first the most wanted: one kind after the other, so that none is missing of every section."""
        found = [self.decisions] if self.decisions else []
        found += [drawing for drawings in self.of_steps.values() for drawing in drawings] + self.comparisons + self.scaling
        kinds = dict.fromkeys(drawing.kind for drawings in self.of_section.values() for drawing in drawings)
        return found + [drawing for kind in kinds for drawings in self.of_section.values() for drawing in drawings if drawing.kind == kind]

    @property
    def notes(self):
        return self.results.notes

    def palette(self):
        return palette.Palette({candidate for section in self.sections for candidate in section.candidates})


def report_of(results, only=()):
    """`only`: names of figures, or words one of which must be in the name of a figure."""
    made = Report(results, sections.sections_of(results), steps.steps_of(results))
    naming.check(results.names, {candidate for section in made.sections for candidate in section.candidates},
                 [method.name for one in made.steps for method in one.methods], [part.shape.setup for part in made.sections + made.steps])
    measured = [section for section in made.sections if section.sizes]
    made.decisions = decision.drawing(measured)
    made.scaling = scaling.drawings(measured)
    made.comparisons = comparison_figure.drawings(results)
    made.of_section = {section: [*over_size.drawings(section), *heatmap.drawings(section), *spread.drawings(section), *levels.drawings(section)] for section in measured}
    made.of_steps = {one: steps_figure.drawings(one) for one in made.steps}
    made.multiples = multiples.drawings(made.of_section)
    _name_apart(made.drawings())
    if only:
        _leave(made, only)
    return made


def _name_apart(drawings):
    """No figure's files may overwrite another's: names are cut, and lose letters that no file name should have."""
    names = set()
    for drawing in drawings:
        slug, number = drawing.slug, 2
        while drawing.name in names:
            drawing.slug, number = f"{slug}-{number}", number + 1
        names.add(drawing.name)


def _leave(made, only):
    """The figures with one of these names, or with one of these words in their names, which no longer change."""
    names = [drawing.name for drawing in made.drawings()]

    def wanted(drawings):
        return [drawing for drawing in drawings if any(word == drawing.name if word in names else word in drawing.name for word in only)]
    made.decisions = next(iter(wanted(filter(None, [made.decisions]))), None)
    made.scaling, made.comparisons = wanted(made.scaling), wanted(made.comparisons)
    made.of_section = {section: wanted(drawings) for section, drawings in made.of_section.items()}
    made.of_steps = {one: wanted(drawings) for one, drawings in made.of_steps.items()}
    made.multiples = wanted(made.multiples)
    if not made.drawings():
        raise ResultsError(f"no figure has {' or '.join(map(repr, only))} in its name; use a part of {', '.join(names)}" if names else "these results have no figure")
