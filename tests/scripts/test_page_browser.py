# SPDX-License-Identifier: Apache-2.0
"""The page of a report in Debian's Chromium, as readers see it: at three widths, light, dark, and on paper."""

import base64
import functools
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest
from itertools import product
from pathlib import Path

from report_files import HERE, launch_of, needs_matplotlib, run, step, timed, with_key
import synthetic  # found through report_files

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
except ModuleNotFoundError:
    webdriver = None

CHROMIUM, DRIVER, PDFTOTEXT = map(shutil.which, ("chromium", "chromedriver", "pdftotext"))
WIDTHS, SCHEMES = (400, 1000, 1800), ("light", "dark")
PAPER = 688  # pixels between the margins of A4
CHECKS = (HERE / "page_checks.js").read_text(encoding="utf-8")
CANDIDATES = [("tutti", algo, "shm") for algo in ("ring", "butterfly", "tree", "one-shot")] + [("tutti", "ring", "mpi"), ("mpi", "mpi", "")]
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


def records_of(host, cpu):
    """Two collectives on 2 and 4 ranks of one machine, and what a page can show besides."""
    rng = random.Random(host)
    yield synthetic.session() | {"argv": ["build/tutti", "bench", "all_reduce,broadcast", "--json", "/home/somebody/" + "measurements/" * 8 + "sweep.jsonl"]}
    for launch, ranks in enumerate((2, 4, 2, 4), start=1):
        started = launch_of(launch, nranks=ranks, env={"LD_LIBRARY_PATH": ":".join(f"/opt/libraries/version-{i}/lib" for i in range(12))})
        started["hosts"][0] |= {"name": host, "cpu_model": cpu}
        yield started
        for coll, size, (impl, algo, transport) in product(("all_reduce", "broadcast"), synthetic.SIZES, CANDIDATES):
            point = synthetic.point(rng, launch, coll, impl, algo, transport, size)
            yield with_key(point | {"limit_ns": point["t_ns"]["p50"] * 0.4} if "t_ns" in point else point, nranks=ranks, ppn=ranks)
    yield with_key(timed("two-level", 8, 100, launch=1, check={"state": "fail", "n_wrong": 3}), nranks=2, ppn=2)
    yield with_key(timed("halving-doubling", 8, 100, launch=2, skipped="6 ranks given"), nranks=4, ppn=4)
    yield from (step(method, exposed, launch=1) for method, exposed in (("ring/shm", 1.0), ("tree/shm", 2.5), ("mpi", 4.0)))
    yield {"v": 1, "kind": "fail", "launch": 2, "phase": "measure", "what": "timeout", "rank": 3, "stderr_tail": "no answer " * 20}


def write_sweep(folder):
    """Writes a file for each of two machines."""
    for host, cpu in (("node0", "AMD EPYC 7B13"), ("login-17.cluster.example.org", "Intel(R) Xeon(R) 8480+")):
        file = folder / f"{host}.jsonl"
        file.write_text("".join(json.dumps(synthetic.whole(record, host)) + "\n" for record in records_of(host, cpu)), encoding="utf-8")
        yield file


@functools.cache
def opened():
    """Makes one page and starts one browser for all tests; the page and the driver."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    page = Path(folder.name, "report.html")
    # Figures of each kind are enough, but the page has all sections.
    done = run(*write_sweep(page.parent), "-o", page, "--only", "decisions,bars,scaling-2K,all-reduce-2")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    # The page is our own, root has no sandbox, and nothing may be fetched.
    for word in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "hide-scrollbars", "host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(DRIVER, env=os.environ | {"HOME": folder.name, "TMPDIR": folder.name}), options=options)
    unittest.addModuleCleanup(driver.quit)
    return page, driver


@needs_matplotlib
@unittest.skipUnless(webdriver and CHROMIUM and DRIVER and PDFTOTEXT,
                     "needs chromium, chromium-driver, python3-selenium and poppler-utils; scripts/setup --browser installs them")
class Browser(unittest.TestCase):
    def setUp(self):
        self.page, self.driver = opened()
        self.folder = self.page.parent

    def open(self, width=1000, scheme="light", page=None, medium=""):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.driver.get((page or self.page).as_uri())

    def check(self, name, *arguments):
        return self.driver.execute_script(f"{CHECKS}; return checks.{name}(...arguments)", *arguments)

    def complaints(self):
        """Returns what the console says, and what the page fetched."""
        fetched = self.driver.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
        return [entry["message"] for entry in self.driver.get_log("browser")] + fetched

    def badly_sorted(self):
        """Returns the columns that are not sorted by number, texts after numbers, and empty cells and dashes last; and how many columns have numbers."""
        found, with_numbers = [], 0
        for column in self.check("sortedColumns"):
            for (state, cells), expected, sign in zip(column["orders"], ("ascending", "descending"), (1, -1)):
                kinds = ["none" if not text or text.startswith("–") else "number" if NUMBER.fullmatch(text) else "text" for text in cells]
                numbers = [float(text) for text, kind in zip(cells, kinds) if kind == "number"]
                order = ("number", "text", "none") if sign == 1 else ("text", "number", "none")
                if state != expected or numbers != sorted(numbers, reverse=sign < 0) or kinds != sorted(kinds, key=order.index):
                    found.append((column["name"], state, cells))
                with_numbers += sign == 1 and len(set(numbers)) > 2
        return found, with_numbers

    def cut_on_paper(self):
        """Returns the figures and tables that are not whole on one sheet, and how many sheets there are."""
        figures, tables = self.check("mark")
        printed = self.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
        (self.folder / "page.pdf").write_bytes(base64.b64decode(printed["data"]))
        text = subprocess.run([PDFTOTEXT, "-bbox", self.folder / "page.pdf", "-"], capture_output=True, text=True, check=True).stdout
        sheets = text.split("<page ")[1:]

        def sheets_with(word):
            return [number for number, sheet in enumerate(sheets) if re.search(rf"{word}\b", sheet)]
        found = []
        for number, name in enumerate(figures):
            places = [sheets_with(f"corner{number}{part}") for part in ("first", "last", "caption")]
            if places[0] != places[1] or places[1] != places[2] or len(places[0]) != 1:
                found.append((name, places))
        return found + [f"table {number}" for number in range(tables) if len(sheets_with(f"table{number}end")) != 1], len(sheets)


class Page(Browser):
    def tearDown(self):
        self.assertEqual(self.complaints(), [])

    def test_fits_every_width_light_and_dark(self):
        for width, scheme in product(WIDTHS, SCHEMES):
            with self.subTest(width=width, scheme=scheme):
                self.open(width, scheme)
                self.assertEqual((self.check("overflows", width), self.check("cutTexts")), ([], []))

    def test_fits_with_everything_unfolded(self):
        for width in WIDTHS:
            with self.subTest(width=width):
                self.open(width)
                self.check("unfold")
                self.assertEqual(self.check("overflows", width), [])

    def test_has_contrast_light_and_dark(self):
        for scheme in SCHEMES:
            with self.subTest(scheme=scheme):
                self.open(scheme=scheme)
                self.check("unfold")
                self.assertEqual(self.check("illegible"), [])

    def test_sorts_every_column_by_number(self):
        self.open()
        found, with_numbers = self.badly_sorted()
        self.assertEqual(found, [])
        self.assertGreater(with_numbers, 20)

    def test_sorts_by_a_click_and_by_the_keyboard(self):
        self.open()
        head = self.driver.find_element("css selector", "#answer thead th:nth-child(2)")
        head.click()
        self.assertEqual(head.get_attribute("aria-sort"), "ascending")
        head.send_keys("\ue007")  # the key Enter
        self.assertEqual(head.get_attribute("aria-sort"), "descending")

    def test_leads_from_its_navigation_to_every_section(self):
        for width in WIDTHS:
            self.open(width)
            self.assertEqual((self.check("deadLinks"), self.check("wrongJumps")), ([], []))
        names = [link.text for link in self.driver.find_elements("css selector", "nav a")]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual(sum("all_reduce" in name for name in names), 4)  # 2 and 4 ranks of two machines

    def test_shows_the_value_below_the_pointer(self):
        self.open()
        figure = self.driver.find_element("css selector", "figure[id$=-latency] svg")
        x, y, text = self.check("firstPoint", figure)
        ActionChains(self.driver).move_to_element_with_offset(figure, round(x), round(y)).perform()
        tip = self.driver.find_element("id", "tip")
        self.assertTrue(tip.is_displayed())
        self.assertIn(text, tip.text)

    def test_prints_without_cut_figures(self):
        for scheme in SCHEMES:
            with self.subTest(scheme=scheme):
                self.open(scheme=scheme)
                found, sheets = self.cut_on_paper()
                self.assertEqual(found, [])
                self.assertGreater(sheets, 2)
        self.open(PAPER, medium="print")
        self.assertEqual((self.check("overflows", PAPER), self.check("cutTexts")), ([], []))

    def test_is_dark_only_on_a_dark_screen(self):
        def background():
            return self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        colours = []
        for scheme, medium in product(SCHEMES, ("screen", "print")):
            self.open(scheme=scheme, medium=medium)
            colours.append(background())
        white = "rgb(255, 255, 255)"
        self.assertEqual((colours[:2], colours[3]), ([white] * 2, white))
        self.assertNotEqual(colours[2], white)


class PlantedFault(Browser):
    def opened_with(self, html, width=1000, medium=""):
        page = self.folder / "fault.html"
        text = self.page.read_text(encoding="utf-8")
        page.write_text(text.replace("</main>", f"{html}</main>"), encoding="utf-8")
        self.open(width, page=page, medium=medium)

    def test_is_found_by_the_checks(self):
        faults = (("overflows", '<p style="width: 2000px">wide</p>'), ("overflows", f'<p style="white-space: nowrap">{"word " * 300}</p>'),
                  ("overflows", '<p style="width: 30px">a-word-that-leaves-its-box</p>'),
                  ("illegible", '<p style="color: #999; background: white">faint</p>'),
                  ("cutTexts", '<figure><svg width="100" height="20" viewBox="0 0 100 20"><text x="90" y="12">cut</text></svg></figure>'),
                  ("deadLinks", '<a href="#nowhere">nowhere</a>'), ("deadLinks", '<p id="terms"></p>'),
                  ("deadLinks", '<nav><a href="#terms">terms</a></nav>'),
                  ("wrongJumps", '<style>section { scroll-margin-top: 200px }</style>'))
        for check, html in faults:
            with self.subTest(html=html):
                self.opened_with(html)
                self.assertNotEqual(self.check(check, *[1000] * (check == "overflows")), [])
                self.assertEqual(self.complaints(), [])

    def test_of_the_script_is_found(self):
        for html in ("<script>absent();</script>", "<script>console.warn('careful');</script>", '<img src="https://example.org/picture.png" alt="">'):
            with self.subTest(html=html):
                self.opened_with(html)
                self.assertNotEqual(self.complaints(), [])

    def test_of_sorting_is_found(self):
        self.opened_with("")
        page = self.folder / "fault.html"
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("Number.isNaN(Number(text)) ? text : Number(text)", "text"), encoding="utf-8")
        self.open(page=page)
        self.assertNotEqual(self.badly_sorted()[0], [])

    def test_on_paper_is_found(self):
        def planted(style, height):
            svg = f'<svg viewBox="0 0 100 {height}" style="width: 100px; min-width: 0; height: {height}px"></svg>'
            return f'<figure style="{style}">{svg}<figcaption>Caption.</figcaption></figure>'
        self.opened_with(planted("break-inside: auto", 2000))
        self.assertEqual(len(self.cut_on_paper()[0]), 1)
        self.opened_with(planted("margin-left: 900px", 100), PAPER, "print")  # the browser would print all of the page smaller
        self.assertNotEqual(self.check("overflows", PAPER), [])


del Browser  # has no tests of its own

if __name__ == "__main__":
    unittest.main()
