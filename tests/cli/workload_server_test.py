# SPDX-License-Identifier: Apache-2.0
"""`tutti workload parameter-server` and `federated`: their reports, and how they end."""
import signal
import subprocess
import unittest

import tutti
from job import Process, descendants, wait_until

RANK_LOST = 5
METHOD = ("--algo", "ring", "--baseline", "none", "--transport")
LITTLE = ("--network", "logistic", "--epochs", 3, "--row", 2, "--min-steps", 1, "-n", 1, "-w", 0)


class Reported(tutti.Folder):
    def steps_of(self, run, *words):
        self.ok(*words, "--json", self.results, run=run)
        return tutti.steps(self.results)

    def check_servers(self, seen, ranks):
        sync, many = seen["1 server sync"], seen["all servers sync"]
        for method in (sync, many):
            self.assertEqual(method["check"]["state"], "ok")
            self.assertEqual(method["metrics"]["worker_bytes"], 2 * 4 * 650)
        self.assertEqual(sync["metrics"]["server_bytes"], 2 * ranks * 4 * 650)
        self.assertGreater(sync["metrics"]["accuracy"], 0.8)
        stale = seen["1 server async"]["metrics"]
        self.assertEqual(stale["gradients"], sync["metrics"]["gradients"])
        self.assertAlmostEqual(stale["mean_staleness"], ranks - 1, delta=0.1)
        self.assertEqual(sum(count for name, count in stale.items()
                             if name.startswith("stale_")), stale["gradients"])

    def test_servers_beside_an_all_reduce_among_threads(self):
        seen = self.steps_of(tutti.run, "workload", "parameter-server", "--ranks", 3, *METHOD, "loopback", *LITTLE)
        self.check_servers(seen, 3)
        self.assertIn("all-reduce ring/loopback", seen)

    @tutti.needs_mpi
    def test_servers_among_processes_one_of_them_slow(self):
        def run(*words):
            return tutti.run_ranks(3, *words)
        seen = self.steps_of(run, "workload", "parameter-server", *METHOD, "mpi", *LITTLE,
                             "--slow-rank", "2:30", "--drop-slowest", 1)
        self.check_servers(seen, 3)
        for method in ("1 server sync, slowed", "all servers async, slowed", "all-reduce ring/mpi, slowed"):
            self.assertGreater(seen[method]["metrics"]["free_step_ms"], 0)
        self.assertGreater(seen["1 server sync, slowed, dropping 1"]["metrics"]["late"], 0)

    @tutti.needs_mpi
    def test_federated_saves_all_but_one_of_e_messages(self):
        def run(*words):
            return tutti.run_ranks(2, *words)
        seen = self.steps_of(run, "workload", "federated", *METHOD, "shm", "--network", "logistic", "--rounds", 20,
                             "--local-steps", 5, "--min-steps", 1, "-n", 1, "-w", 0, "--data", "by-label")
        averaged = seen["ring/shm"]
        self.assertEqual(averaged["check"]["state"], "ok")
        self.assertEqual(averaged["metrics"]["client_bytes"], 20 * 4 * 651)
        self.assertAlmostEqual(averaged["metrics"]["bytes_saved"], 0.8)
        self.assertEqual(seen["ring/shm, every step"]["metrics"]["averages"], 100)


@tutti.needs_mpi
class KilledWorker(tutti.Folder):
    def test_ends_the_job_with_exit_5(self):
        path = self.folder / "killed.jsonl"
        job = subprocess.Popen(
            [tutti.MPI_RUN, "2", tutti.EXECUTABLE, "workload", "parameter-server", *METHOD, "mpi", "--mode", "async",
             "--epochs", "100000", "--min-steps", "1", "-n", "1", "-T", "10s", "--json", str(path)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=tutti.CLEAN)
        processes = []

        def clean_up():
            for process in processes:
                process.kill(signal.SIGKILL)
            job.kill()
            job.wait()
            job.stderr.close()
        self.addCleanup(clean_up)

        def ranks():
            return [place["pid"] for record in tutti.records(path) if record["kind"] == "launch"
                    for place in record["ranks"]]
        wait_until(lambda: ranks() or job.poll() is not None, "the ranks are up")
        self.assertIsNone(job.poll())
        victim = Process(ranks()[1])
        processes += descendants(job.pid)
        busy_since = victim.cpu_seconds()
        wait_until(lambda: victim.cpu_seconds() - busy_since > 0.5, "it trains")
        victim.kill(signal.SIGKILL)
        _, stderr = job.communicate(timeout=120)
        self.assertEqual(job.returncode, RANK_LOST, stderr)
        self.assertIn(f"rank 1 (process {victim.pid} ", stderr)
        wait_until(lambda: not any(process.is_alive() for process in processes), "all are gone", seconds=10)


if __name__ == "__main__":
    unittest.main()
