# SPDX-License-Identifier: Apache-2.0
"""The figures of one section over message size: ratio to the library, share of the limit, latency, bandwidth, bytes,
energy, model."""

from dataclasses import replace

from . import curves
from .candidates import library_name
from .curves import Curve, Mark, Plot
from .drawing import Drawing
from .reliability import doubt_text, is_doubted
from .signs import BEYOND, DISTURBED
from .style import shortened
from .units import interval_text, ratio_text, time_text

MOST_LINES = 5


def drawings(section):
    """The figures that have something to draw."""
    made = (make(section) for make in (_ratio, _limit, _latency, _bandwidth, _network, _energy, _gpu_energy, _model))
    return [drawing for drawing in made if drawing]


def _ratio(section):
    library = section.library
    if not library or len(section.candidates) < 2:
        return None
    name = library_name(library, section.shape.coll)

    def marks(candidate):
        for size in section.sizes:
            ratio = section.over_library(candidate, size)
            if ratio:
                yield Mark(size, ratio.value, ratio.low, ratio.high, ratio.launches, _flag(section, candidate, size), not ratio.is_known)

    def label(candidate):
        mean, sizes = section.mean_over_library(candidate)
        if not mean or sizes < 2:
            return candidate.name
        return f"{shortened(candidate.name, 26)} {ratio_text(mean.value)}×" + ("" if mean.is_known else " ?")

    means = [section.mean_over_library(candidate) for candidate in section.candidates]
    key = "×: geometric mean over the sizes" if any(mean and sizes > 1 for mean, sizes in means) else ""
    if any(mean and not mean.is_known for mean, _ in means):
        key += "; ?: of too few calls"

    plot = Plot(f"speed-up over\n{name}", lambda mark: curves.size_words(
        mark, f"{ratio_text(mark.value)}× {interval_text(mark)}"), level=1)
    plot.curves = _curves(section, marks, label, without=library)
    return _drawing(section, "ratio", f"Speed-up over {name} (×, higher is better)",
                    f"{name}'s time divided by the candidate's, with 95 % intervals. The legend has the geometric mean over the sizes.", plot, key)


def _limit(section):
    if not any(section.cell(section.best(size), size).limit for size in section.sizes):
        return None

    def marks(candidate):
        for size, cell in section.line(candidate):
            if cell.limit:
                mark = mark_of(section, candidate, size, lambda time, cell=cell: min(100 * cell.limit / time, 100))
                yield replace(mark, low=None, high=None, flag=BEYOND) if cell.beats_limit else mark

    plot = Plot("% of limit", lambda mark: curves.size_words(mark, f"{mark.value:.0f} %"), top=106)
    plot.curves = _curves(section, marks)
    return _drawing(section, "limit", "Share of the machine's limit (%, higher is better)",
                    "The least possible time on this machine (tutti limits) divided by the measured time.", plot)


def _latency(section):
    def marks(candidate):
        for size, _ in section.line(candidate):
            yield mark_of(section, candidate, size, lambda time: time / 1000)

    plot = Plot("time of one call (µs)", lambda mark: curves.size_words(mark, time_text(mark.value * 1000)), log_y=True)
    plot.curves = _curves(section, marks) + _limit_curve(section, lambda least, _: least / 1000)
    return _drawing(section, "latency", "Time of one call (µs, lower is better)",
                    "Medians of the slowest rank's times, with 95 % intervals.", plot)


def _bandwidth(section):
    def marks(candidate):
        for size, cell in section.line(candidate):
            yield mark_of(section, candidate, size, lambda time, cell=cell: cell.busbw * cell.p50 / time)

    highest = max((cell.busbw for cell in section.cells.values()), default=0)
    if not highest:
        return None
    # A limit far above all lines would press them together; it may leave the picture.
    plot = Plot("bus bandwidth (GB/s)", lambda mark: curves.size_words(mark, f"{mark.value:.3g} GB/s"), top=2.2 * highest)
    plot.curves = _curves(section, marks) + _limit_curve(section, lambda _, busbw: busbw)
    return _drawing(section, "bandwidth", "Bus bandwidth (GB/s, higher is better)",
                    "In 10⁹ bytes per second, computed from the medians as in nccl-tests, with 95 % intervals.", plot)


def _network(section):
    return _bytes(section, "network", lambda cell: cell.wire_bytes,
                  "Network bytes of a call (sent by the busiest host)",
                  "Includes headers, acknowledgements and other traffic at the same time.")


def _bytes(section, kind, value, title, caption):
    def marks(candidate):
        for size, cell in section.line(candidate):
            moved = value(cell)
            if moved is not None and size:
                yield Mark(size, moved / size, launches=cell.launches)

    plot = Plot("bytes per byte\nof message", lambda mark: curves.size_words(mark, f"{mark.value:.3g} per byte"))
    plot.curves = _curves(section, marks)
    return _drawing(section, kind, f"{title}, per byte of the message", caption, plot)


def _energy(section):
    return _joules(section, "energy", "energy_J", "packages of all hosts")


def _gpu_energy(section):
    return _joules(section, "gpu-energy", "gpu_energy_J", "GPUs of all hosts")


def _joules(section, kind, field, meters):
    def marks(candidate):
        for size, cell in section.line(candidate):
            energy = getattr(cell, field)
            if energy:
                yield Mark(size, 1000 * energy, launches=cell.launches, flag=_flag(section, candidate, size))

    plot = Plot("energy of one call (mJ)", lambda mark: curves.size_words(mark, f"{mark.value:.3g} mJ"), log_y=True)
    plot.curves = _curves(section, marks)
    return _drawing(section, kind, f"Energy per call (mJ, lower is better), {meters}",
                    "Energy of all programs during the calls; only calls long enough for the meters are shown.",
                    plot)


def _model(section):
    def marks(candidate):
        for size, cell in section.line(candidate):
            predicted = cell.predicted_ns
            if predicted:
                yield mark_of(section, candidate, size, lambda time, predicted=predicted: predicted / time)

    plot = Plot("predicted / measured", lambda mark: curves.size_words(mark, f"{ratio_text(mark.value)} of the measured time"), level=1)
    plot.curves = _curves(section, marks)
    return _drawing(section, "model", "Model against measured (predicted / measured time, 1 is right)",
                    "Above 1 the model is pessimistic.", plot)


def _curves(section, marks, label=lambda candidate: candidate.name, without=None):
    shown = set(section.shown(MOST_LINES))
    found = [Curve(candidate, label(candidate) if candidate in shown else candidate.name, list(marks(candidate)),
                   in_front=candidate in shown) for candidate in section.candidates if candidate != without]
    return [curve for curve in found if curve.marks]


def _limit_curve(section, value):
    limit = section.limit()
    return [Curve(None, "limit of this machine", [Mark(size, value(least, busbw)) for size, least, busbw in limit])] if limit else []


def mark_of(section, candidate, size, of_time):
    """A value computed from the time of a candidate, with its interval."""
    cell = section.cell(candidate, size)
    low, high = sorted(map(of_time, (cell.time.low, cell.time.high))) if cell.time.is_known else (None, None)
    return Mark(size, of_time(cell.p50), low, high, cell.launches, _flag(section, candidate, size), not cell.time.is_known)


def _flag(section, candidate, size):
    cell = section.cell(candidate, size)
    return DISTURBED if cell and cell.is_disturbed else ""


def _drawing(section, kind, title, caption, plot, key=""):
    if not plot.front:
        return None
    plot.is_doubted = is_doubted(section)
    made = Drawing(kind, section.shape.slug, title, f"{section.shape.title}, {section.shape.details}",
                   plot.caption(caption) + doubt_text(section), None, curves.COLUMNS, lambda: curves.rows(plot), section.points, section.notes, key=key, plot=plot)
    made.draw = lambda canvas: curves.draw(plot, made, canvas)
    return made

