# SPDX-License-Identifier: Apache-2.0
"""Checks how tutti handles clocks of several hosts that differ by a known time."""
import testhosts
import tutti

MOST_ERROR_NS = 5_000


@tutti.needs_mpi
class Clocks(tutti.Folder):
    def bench(self, hosts, *words):
        file = self.folder / "r.jsonl"
        file.unlink(missing_ok=True)
        done = testhosts.run(*hosts, "--", tutti.EXECUTABLE, "bench", "all_reduce", "-b", "64K", "-e", "64K", "--algo", "ring",
                             "--transport", "mpi", "--baseline", "none", "--inplace", "no", "--limits", "none", "--json", file, *words,
                             timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout, tutti.records(file)

    def test_offsets_are_found_within_five_microseconds(self):
        ahead_ns = [0, 1000 * 10**9, 250_000 * 10**9]
        hosts = ("--hosts", 3, "--ranks-per-host", 1, "--clock-offset", "h1=1000s", "--clock-offset", "h2=250000s")
        for attempt in testhosts.attempts():
            table, lines = self.bench(hosts, "-n", 5)
            clock = next(line for line in lines if line["kind"] == "launch")["clock"]
            errors = [found - true for found, true in zip(clock["offset_ns"], ahead_ns)]
            print(f"errors {errors} ns, residual {clock['residual_ns']} ns, reach {clock['reach_ns']} ns", flush=True)
            self.assertEqual(len(clock["offset_ns"]), 3)
            self.assertEqual(clock["mode"], "ping-pong")
            self.assertIn("# clocks of 3 hosts: ", table)
            if max(map(abs, errors)) <= MOST_ERROR_NS and clock["residual_ns"] <= MOST_ERROR_NS:
                return
        testhosts.fail_unless_busy(self, f"errors {errors} ns in all launches")

    # With clocks that differ by an hour, calls would start an hour apart.
    def test_calls_start_at_a_common_deadline(self):
        for attempt in testhosts.attempts():
            _, lines = self.bench(("--ranks-per-host", 1, "--clock-offset", "h1=3600s"), "--sync", "deadline",
                                  "--max-time", "1s")
            point = next(line for line in lines if line["kind"] == "point")
            print(f"{point.get('n', 0)} samples, {point.get('n_invalid', 0)} invalid, skew {point.get('skew_p50_ns')} ns",
                  flush=True)
            if point.get("n", 0) >= 10:
                break
        else:
            testhosts.fail_unless_busy(self, f"{point.get('n', 0)} samples began on time")
        self.assertEqual((point["mode"], point["def"], point["check"]["state"]), ("deadline", "last_arrival", "ok"))
        self.assertLess(point["t_ns"]["p50"], 10**9)
        # Less than a crossing of the network takes: the ranks' times are not by one clock.
        self.assertGreater(point["t_ns"]["min"], 1000)


if __name__ == "__main__":
    testhosts.main()
