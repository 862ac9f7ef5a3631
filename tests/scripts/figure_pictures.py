# SPDX-License-Identifier: Apache-2.0
"""Compares figures with small reference pictures, as coarsely as an eye at a distance: fonts and layouts differ a little between machines.

`scripts/test --update-golden -R figures` writes the pictures from what is drawn; look at them before they are committed."""

import os
import sys
from pathlib import Path

import matplotlib
import numpy
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
import golden  # noqa: E402

WIDTH = 140     # pixels of a reference picture
FINER = 4       # times as fine it is drawn, then averaged
NEAR = 2        # pixels by which something may be elsewhere
VISIBLE = 24    # least visible difference of a colour, of 255
MOST = 0.006    # share of the pixels that may differ visibly
VERSION = (3, 6)  # version of matplotlib that drew the pictures


def skip_other_versions(test):
    version = tuple(int(part) for part in matplotlib.__version__.split(".")[:2])
    if version != VERSION:
        test.skipTest(f"the reference pictures are of matplotlib {'.'.join(map(str, VERSION))}, this one is {matplotlib.__version__}")


def picture_of(figure):
    """The figure in WIDTH pixels, as an array of height, width and colour."""
    figure.set_dpi(WIDTH * FINER / figure.get_figwidth())
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = numpy.asarray(canvas.buffer_rgba())[..., :3].astype(float)
    height, width = drawn.shape[0] // FINER * FINER, drawn.shape[1] // FINER * FINER
    return drawn[:height, :width].reshape(height // FINER, FINER, width // FINER, FINER, 3).mean(axis=(1, 3))


def expect(test, path, picture):
    """Fails the test if a reader would see a difference to the picture of this file."""
    if golden.is_updating():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or difference(picture, _read(path)) > MOST / 4:
            Image.fromarray(picture.round().astype("uint8")).save(path, optimize=True)
        return
    test.assertTrue(path.exists(), f"{path.name} is missing; use scripts/test --update-golden -R figures")
    share = difference(picture, _read(path))
    if share > MOST:
        drawn = Path(os.environ.get("TMPDIR", "/tmp")) / f"drawn-{path.name}"
        Image.fromarray(picture.round().astype("uint8")).save(drawn)
        test.fail(f"{100 * share:.1f} % of the picture differ, see {drawn}; if it is right, use scripts/test --update-golden -R figures")


def _read(path):
    return numpy.asarray(Image.open(path).convert("RGB"), dtype=float)


def difference(one, other):
    """The share of pixels of which the other picture has nothing alike nearby; 1 for another size."""
    if any(abs(mine - theirs) > NEAR for mine, theirs in zip(one.shape, other.shape)):
        return 1.0
    height, width = (min(sizes) for sizes in zip(one.shape[:2], other.shape[:2]))
    one, other = one[:height, :width], other[:height, :width]
    return float(numpy.mean((_beyond(one, other) > VISIBLE) | (_beyond(other, one) > VISIBLE)))


def _beyond(one, other):
    """How far each pixel is from the range of colours around this place in the other picture."""
    padded = numpy.pad(other, ((NEAR, NEAR), (NEAR, NEAR), (0, 0)), mode="edge")
    around = numpy.lib.stride_tricks.sliding_window_view(padded, (2 * NEAR + 1, 2 * NEAR + 1), axis=(0, 1))
    return numpy.maximum(around.min(axis=(-2, -1)) - one, one - around.max(axis=(-2, -1))).max(axis=-1)
