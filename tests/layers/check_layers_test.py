# SPDX-License-Identifier: Apache-2.0
"""Plants includes in an invented source tree; check_layers.py must report the wrong ones."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # nothing of a test stays in the source tree
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import check_layers  # noqa: E402  (found by the line above)


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, file, *lines):
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")

    def offences(self, file, *lines):
        self.write(file, *lines)
        return check_layers.offences(self.root)

    def assert_allowed(self, file, *lines):
        self.assertEqual(self.offences(file, *lines), [])

    def assert_refused(self, file, line):
        self.assertEqual(len(self.offences(file, line)), 1, f"{file}: {line}")

    def test_includes_that_point_down_are_allowed(self):
        self.assert_allowed("kernels/reduce.cpp", '#include "base/types.hpp"',
                            '#include "kernels/sets.hpp"', "#include <vector>")
        self.assert_allowed("cli/bench.cpp", '#include "autotune/table/table.hpp"',
                            '#include "base/error.hpp"')
        self.assert_allowed("tests/cli/bench_test.cpp", '#include "cli/bench.hpp"')

    def test_an_include_that_points_up_is_named_with_its_line(self):
        self.assertEqual(
            self.offences("base/units.cpp", "", '#include "results/records/record.hpp"'),
            ["base/units.cpp:2: layer base may not include layer results (results/records/record.hpp)"])

    def test_neighbours_may_not_include_one_another(self):
        self.assert_refused("kernels/a.cpp", '#include "topology/machine/machine.hpp"')

    def test_results_may_not_include_collectives(self):
        self.assert_refused("results/a.hpp", '#include "collectives/schedule/schedule.hpp"')

    def test_the_tuner_may_not_include_kernels(self):
        self.assert_refused("autotune/tuner/a.cpp", '#include "kernels/sets.hpp"')

    def test_the_library_may_not_include_workloads(self):
        self.assert_refused("library/a.cpp", '#include "workloads/bench/sweep.hpp"')
        (self.root / "library/a.cpp").unlink()
        self.assert_refused("autotune/table/a.cpp", '#include "workloads/bench/sweep.hpp"')
        (self.root / "autotune/table/a.cpp").unlink()
        self.assert_allowed("autotune/tuner/a.cpp", '#include "workloads/bench/sweep.hpp"')

    def test_the_heap_may_not_include_other_code(self):
        self.assert_refused("collectives/heap/a.cpp", '#include "base/units.hpp"')
        (self.root / "collectives/heap/a.cpp").unlink()
        self.assert_allowed("collectives/world/a.hpp", '#include "collectives/heap/tutti_heap.h"')
        self.assert_refused("collectives/world/b.hpp", '#include "collectives/heap/extents.hpp"')

    def test_a_circle_between_folders_is_named_with_its_includes(self):
        self.write("topology/detect/detect.cpp", '#include "topology/import/import.hpp"')
        self.assertEqual(check_layers.offences(self.root), [])
        found = self.offences("topology/import/import.cpp", "", '#include "topology/detect/sysfs.hpp"')
        self.assertEqual(len(found), 1)
        self.assertIn("in a circle", found[0])
        self.assertIn("topology/detect/detect.cpp:1 includes topology/import/import.hpp", found[0])
        self.assertIn("topology/import/import.cpp:2 includes topology/detect/sysfs.hpp", found[0])

    def test_a_circle_through_three_folders_is_named(self):
        self.write("workloads/bench/a.cpp", '#include "workloads/check/b.hpp"')
        self.write("workloads/check/b.cpp", '#include "workloads/timing/c.hpp"')
        found = self.offences("workloads/timing/c.cpp", '#include "workloads/bench/a.hpp"')
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0].count(" includes "), 3)

    def test_large_folders_and_files_are_mentioned_but_no_offence(self):
        for number in range(check_layers.MOST_FILES):
            self.write(f"cli/file{number}.cpp", "")
        self.write("base/long.cpp", *["//"] * check_layers.MOST_LINES)
        self.write("tests/base/long_test.cpp", *["//"] * 1000)
        self.assertEqual(check_layers.size_advice(self.root), [])
        self.assert_allowed("cli/one_more.cpp", "")
        self.assert_allowed("base/longer.cpp", *["//"] * (check_layers.MOST_LINES + 1))
        folder, file = check_layers.size_advice(self.root)
        self.assertIn("cli: 41 source files", folder)
        self.assertIn("base/longer.cpp: 401 lines", file)

    def test_algorithms_may_only_include_the_placement_of_topology(self):
        self.assert_allowed("collectives/algorithms/a.cpp",
                            '#include "topology/placement/placement.hpp"',
                            '#include "collectives/schedule/schedule.hpp"')
        self.assert_refused("collectives/algorithms/a.cpp", '#include "topology/machine/machine.hpp"')

    def test_transports_may_not_include_algorithms(self):
        self.assert_refused("collectives/transport/a.cpp",
                            '#include "collectives/algorithms/catalog.hpp"')

    def test_relative_paths_are_followed(self):
        self.assert_refused("base/a.hpp", '#include "../cli/main.hpp"')
        self.assert_allowed("base/a.hpp", '#include "units.hpp"')

    def test_nothing_includes_a_test(self):
        self.assert_refused("cli/a.cpp", '#include "tests/cli/fixture.hpp"')

    def test_mpi_is_included_by_its_adapters_only(self):
        self.assert_allowed("collectives/transport/messages/mpi_send.cpp", "#include <mpi.h>")
        self.assert_refused("collectives/transport/shm.cpp", "#include <mpi.h>")

    def test_hwloc_is_included_by_its_adapter_only(self):
        self.assert_allowed("topology/detect/detect_hwloc.cpp", "#include <hwloc.h>")
        self.assert_refused("topology/detect/detect.cpp", "#include <hwloc/linux.h>")

    def test_headers_may_not_include_libraries(self):
        for header in ("mpi.h", "hwloc.h", "ucp/api/ucp.h", "cuda_runtime.h", "nccl.h"):
            with self.subTest(header):
                self.assert_refused("collectives/transport/messages/mpi.hpp", f"#include <{header}>")

    def test_sources_may_include_cuda(self):
        self.assert_allowed("kernels/reduce.cu", "#include <cuda_runtime.h>")

    def test_comments_and_build_folders_do_not_count(self):
        self.assert_allowed("base/a.cpp", '// #include "cli/main.hpp"')
        self.assert_allowed("build-x/base/a.cpp", '#include "cli/main.hpp"')

    def test_the_exit_code_is_1_for_an_offence(self):
        self.write("base/a.cpp", '#include "cli/main.hpp"')
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(check_layers.main([str(self.root)]), 1)
        self.assertIn("base/a.cpp:1:", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
