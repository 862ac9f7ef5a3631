# SPDX-License-Identifier: Apache-2.0
"""Checks what tutti measures on links of a known rate between hosts, and how it uses that."""
import os
from pathlib import Path

import testhosts
import tutti

DELAY_SWITCH = Path(os.environ.get("TUTTI_DELAY_SWITCH", tutti.ROOT / "build/delay_switch"))
GBIT = 0.125          # GB/s
TOLERANCE = 0.10
FRAMES = 1.10         # headers, acknowledgements and the start of calls


@tutti.needs_mpi
class Links(tutti.Folder):
    def run_on(self, hosts, *words):
        done = testhosts.run(*hosts, "--", tutti.EXECUTABLE, *words, timeout=150, XDG_CACHE_HOME=str(self.folder / "cache"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def limits(self, *hosts):
        file = self.folder / "l.jsonl"
        file.unlink(missing_ok=True)
        done = self.run_on(hosts, "limits", "--budget", "3s", "--no-store", "--json", file)
        self.assertIn("between two hosts", done.stdout)
        return next(line for line in tutti.records(file) if line["kind"] == "limits")["network"]

    def bench(self, hosts, *words):
        file = self.folder / "r.jsonl"
        file.unlink(missing_ok=True)
        done = self.run_on(hosts, "bench", *words, "--inplace", "no", "--baseline", "none", "--transport", "mpi",
                           "--json", file)
        return done.stdout, [line for line in tutti.records(file) if line["kind"] == "point"]

    def test_bandwidth_of_each_link_is_what_was_set(self):
        true = {(0, 1): GBIT, (0, 2): 0.4 * GBIT, (1, 2): 0.4 * GBIT}
        for attempt in testhosts.attempts():
            network = self.limits("--hosts", 3, "--ranks-per-host", 1, "--rate", "1gbit", "--rate-of", "h2=400mbit")
            self.assertEqual(network["hosts"], ["h0", "h1", "h2"])
            self.assertEqual([(link["a"], link["b"]) for link in network["links"]], list(true))
            ratios = [link[direction] / true[link["a"], link["b"]] for link in network["links"] for direction in ("GBps", "back_GBps")]
            print("found of set:", *(f"{ratio:.3f}" for ratio in ratios), flush=True)
            if all(abs(ratio - 1) <= TOLERANCE for ratio in ratios):
                return
        testhosts.fail_unless_busy(self, f"found of set: {ratios}")

    # A message crosses two links. The latency includes the time of MPI, TCP and the switch, which is measured with
    # almost no delay.
    def test_latency_grows_by_the_delay_that_was_set(self):
        if not DELAY_SWITCH.exists():
            self.skipTest(f"no {DELAY_SWITCH}; use: scripts/build")
        least_ns = {}
        for attempt in testhosts.attempts():
            for delay in (1, 50, 250):  # microseconds per link
                network = self.limits("--ranks-per-host", 1, "--rate", "1gbit", "--delay", f"{delay}us")
                found = network["links"][0]["latency_ns"]
                least_ns[delay] = min(found, least_ns.get(delay, found))
            ratios = [(least_ns[delay] - least_ns[1]) / (2000 * (delay - 1)) for delay in (50, 250)]
            print(f"latencies {least_ns} ns, found of set: " + " ".join(f"{ratio:.3f}" for ratio in ratios), flush=True)
            if all(abs(ratio - 1) <= TOLERANCE for ratio in ratios):
                return
        testhosts.fail_unless_busy(self, f"found of set: {ratios}")

    # Bytes of n per host and direction for two hosts, 1.5 n for four: 2 (H - 1) / H of the message.
    def test_what_all_reduce_moves_is_counted_and_compared_with_the_limit(self):
        n = 1 << 20
        for hosts, ranks, algorithm, share in ((2, 2, "two-level", 1), (4, 1, "ring", 1.5)):
            with self.subTest(hosts=hosts):
                least_ns = share * n / GBIT
                for attempt in testhosts.attempts():
                    point = self.point_with_network_bytes(hosts, ranks, algorithm, share, n)
                    # Bursts pass at once, and headers use part of the rate.
                    if 0.7 * least_ns < point["limit_ns"] < 1.2 * least_ns:
                        break
                else:
                    testhosts.fail_unless_busy(self, f"limit {point['limit_ns']} ns, but {least_ns} ns for the bytes alone")

    def point_with_network_bytes(self, hosts, ranks, algorithm, share, n):
        table, (point,) = self.bench(("--hosts", hosts, "--ranks-per-host", ranks, "--rate", "1gbit"), "all_reduce",
                                     "-b", n, "-e", n, "--algo", algorithm, "--max-time", "0.5s", "--limits", "stored")
        print(f"{hosts} hosts: {point['wire']['tx_bytes_per_call'] / n:.3f} n out, {point['pct_of_limit']} % of the limit of "
              f"{point['limit_ns']:.0f} ns", flush=True)
        for direction in ("tx_bytes_per_call", "rx_bytes_per_call"):
            self.assertGreaterEqual(point["wire"][direction], share * n)
            self.assertLess(point["wire"][direction], share * n * FRAMES)
        self.assertIn(f"# network of {hosts} hosts: ", table)
        row = next(line for line in table.splitlines() if line.startswith(" ")).split()
        self.assertEqual(row[-2], f"{point['pct_of_limit']:.0f}")
        self.assertAlmostEqual(int(row[-1]), point["wire"]["tx_bytes_per_call"], delta=0.02 * n)
        return point

    def test_limits_of_other_hosts_are_not_compared_with(self):
        self.limits("--hosts", 2, "--ranks-per-host", 1, "--rate", "1gbit")
        table, points = self.bench(("--hosts", 3, "--ranks-per-host", 1), "all_reduce", "-b", 8, "-e", 8, "-n", 1,
                                   "--algo", "ring", "--limits", self.folder / "l.jsonl")
        self.assertIn("hosts h0 h1, not h0 h1 h2", table)
        self.assertNotIn("limit_ns", points[0])


if __name__ == "__main__":
    testhosts.main()
