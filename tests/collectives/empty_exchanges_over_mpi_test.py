# SPDX-License-Identifier: Apache-2.0
"""Nothing is exchanged by a call without bytes."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402


@tutti.needs_mpi
class EmptyExchanges(unittest.TestCase):
    def test_make_no_calls(self):
        for ranks in (2, 3):
            self.assertEqual(tutti.run_program("empty_exchanges_over_mpi", ranks)[::2], (0, ""))


if __name__ == "__main__":
    unittest.main()
