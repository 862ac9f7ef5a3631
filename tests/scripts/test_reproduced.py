# SPDX-License-Identifier: Apache-2.0
"""The scripts of an artifact draw the figures of a paper again: the same bytes, with a clean clone, on another machine."""

import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from report_files import SCRIPTS, ReportFiles, launch_of, library, needs_matplotlib, run, step, timed, with_key
from plots import records  # found through report_files

ROOT = SCRIPTS.parent
DATA = (".svg", ".pdf", ".png", ".csv")  # the texts say what was typed


@needs_matplotlib
class Reproduced(ReportFiles):
    def clone(self):
        """Copies the files that a commit of this tree would have: those that git knows or does not ignore."""
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "scripts", "python"],
                                capture_output=True, check=False)
        if listed.returncode != 0:
            self.skipTest("not a clone of git")
        made = self.folder / "a clean clone"
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, made / name)
        return made

    def draw_again(self, artifact):
        """Runs a script of each kind of figure in another environment and returns the folder of the figures."""
        home = self.folder / "another home"
        home.mkdir()
        (home / "matplotlibrc").write_text("font.size: 20\naxes.grid: False\nsvg.fonttype: path\n", encoding="utf-8")
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7",
                       "PYTHONDONTWRITEBYTECODE": "1", "TUTTI_PYTHON": sys.executable, "TUTTI": str(Path(records.command()).resolve()),
                       "TUTTI_SCRIPTS": str(self.clone() / "scripts")}
        for script in {path.stem.rsplit("-", 1)[1]: path for path in sorted(artifact.glob("reproduce-*.sh"))}.values():
            done = subprocess.run(["bash", script], cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=100)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), script.name)
        return artifact / "figures"

    def files(self):
        """Two machines with all that a figure can show: ratios, limits, bandwidths, scaling, training steps."""
        found = []
        for name, factor in (("first machine", 1), ("second", 2)):
            launches = [launch_of(number, nranks=ranks, cores=8 * factor) for number, ranks in ((1, 2), (2, 4))]
            points = [with_key(point | {"launch": ranks // 2}, nranks=ranks, ppn=ranks) for ranks in (2, 4) for size in (8, 4096, 1 << 20)
                      for point in (timed("ring", size, factor * (900 + size // ranks), 20, limit_ns=400.0, predicted_ns=950.0),
                                    timed("tree", size, factor * (700 + size), 30, limit_ns=400.0), library(size, factor * (1500 + size), 40))]
            steps = [step("ring/shm", 1.0), step("mpi", 4.0 * factor)]
            found.append(self.lines(*launches, *points, *steps, name=f"{name}.jsonl"))
        return found

    def reproduces(self, *options):
        """Draws with these options, and again by the scripts; returns the names of the figures."""
        shutil.rmtree(self.folder / "again", ignore_errors=True)
        drawn, artifact = self.folder / "figures", self.folder / "again" / "an artifact"
        done = run(*self.files(), "--figures", drawn, "--artifact", artifact, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        moved = artifact.rename(self.folder / "moved")  # an archive is unpacked elsewhere
        again = self.draw_again(moved)
        first, second = ({path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in DATA} for folder in (drawn, again))
        names = {Path(name).stem for name in second}
        self.assertEqual(sorted(name for name in first if Path(name).stem in names), sorted(second))
        self.assertEqual([name for name in second if first[name] != second[name]], [])
        return names

    def test_are_figures_of_a_paper(self):
        names = self.reproduces("--format", "pdf,svg", "--style", "paper", "--only", "decisions,bars,scaling-1M,heatmap")
        self.assertEqual([name.rsplit("-", 1)[1] for name in sorted(names)], ["decisions", "heatmap", "1M", "bars"])
        self.assertEqual(sum("setup-B" in name for name in names), 3, names)

    def test_are_figures_with_other_options(self):
        names = self.reproduces("--format", "png,svg", "--style", "screen", "--width", "5", "--legend", "right", "--no-warnings", "--rename", "ring=Our ring",
                                "--machine-name", "A=the big one", "--candidates", "ring,mpi", "--sizes", "8,4K..", "--only", "latency")
        self.assertEqual(len(names), 1)



if __name__ == "__main__":
    unittest.main()
