# SPDX-License-Identifier: Apache-2.0
"""A report on 100,000 points: how large its page is, and (printed, as machines differ) how long it takes."""

import time
import unittest

from report_files import ReportFiles, needs_matplotlib
import synthetic  # found through report_files


@needs_matplotlib
class Large(ReportFiles):
    def test_page_of_100_000_points_stays_below_five_megabytes_and_has_the_answer(self):
        source = synthetic.write(self.folder / "r.jsonl", sizes=tuple(8 << i for i in range(24)), launches=11, inplace=(False, True))
        with open(source, encoding="utf-8") as stream:
            self.assertGreater(sum('"kind": "point"' in line for line in stream), 100_000)
        began = time.monotonic()
        html = self.report(source)
        print(f"\n{time.monotonic() - began:.1f} s, {len(html.encode()) / 1e6:.2f} MB", flush=True)
        self.assertLess(len(html.encode()), 5_000_000)
        for text in ('id="answer"', 'id="all-decisions"', "--figures DIR"):
            self.assertIn(text, html)


if __name__ == "__main__":
    unittest.main()
