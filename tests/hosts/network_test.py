# SPDX-License-Identifier: Apache-2.0
"""Checks rate and delay of the test hosts' network. Bounds are wide, as the machine may be busy."""
import testhosts
import traffic
import tutti
import unittest

PAIR = ("--ranks-per-host", 1)


class Network(unittest.TestCase):
    def measured(self, what, pattern, *options):
        job = testhosts.run(*PAIR, *options, "--", *testhosts.program(traffic.__file__, what))
        self.assertEqual(job.returncode, 0, job.stderr)
        return testhosts.numbers(pattern, job.stdout)

    def round_trip(self, *options):
        return self.measured("ping", r"round trip (\S+) us", *options)[0]

    def goodput(self, *options):
        return self.measured("stream", r"goodput (\S+) Mbit/s", *options)[0]

    @tutti.needs_mpi
    def test_joins_the_hosts(self):
        self.assertLess(self.round_trip(), 5000)

    @tutti.needs_mpi
    def test_keeps_a_rate(self):
        goodput = self.goodput("--rate", "50mbit")
        self.assertLess(goodput, 50)  # headers are part of the rate
        self.assertGreater(goodput, 35)

    @tutti.needs_mpi
    def test_keeps_the_rate_of_one_host(self):
        self.assertLess(self.goodput("--rate", "1gbit", "--rate-of", "h1=20mbit"), 20)

    @tutti.needs_mpi
    def test_delays_what_crosses_a_link(self):
        trip = self.round_trip("--delay", "1ms", "--delay-of", "h1=4ms")
        self.assertGreaterEqual(trip, 10000)  # both links, in both directions
        self.assertLess(trip, 15000)

    @tutti.needs_mpi
    def test_delays_and_keeps_a_rate(self):
        goodput = self.goodput("--delay", "100us", "--rate", "50mbit")
        self.assertLess(goodput, 50)
        self.assertGreater(goodput, 35)

    @tutti.needs_mpi
    def test_with_losses_still_delivers(self):
        self.assertLess(self.round_trip("--delay", "10us", "--loss", "1%"), 5000)

    def test_shifts_a_clock(self):
        def seconds(host, *options):
            job = testhosts.run("--on", host, *options, "--", *testhosts.program(traffic.__file__, "clock"))
            self.assertEqual(job.returncode, 0, job.stderr)
            return testhosts.numbers(rf"{host} (\S+)", job.stdout)[0]
        ahead = seconds("h1", "--clock-offset", "h1=1000s") - seconds("h0", "--clock-offset", "h1=1000s")
        self.assertGreater(ahead, 900)
        self.assertLess(ahead, 1000)

    def test_has_several_links(self):
        for delays in ((), ("--delay", "1us")):
            if delays and not tutti.ROOT.joinpath("build/delay_switch").exists():
                continue
            with self.subTest(delays):
                job = testhosts.run("--on", "h0", "--links", 2, "--counters", *delays, "--", *testhosts.program(traffic.__file__, "second_link"))
                self.assertEqual(job.returncode, 0, job.stderr)
                for host, way in (("h0", "sent"), ("h1", "received")):
                    first, second = (testhosts.numbers(rf"# {host} eth{link}:.* {way} (\d+)", job.stdout)[0] for link in (0, 1))
                    self.assertGreater(second, traffic.SECOND_LINK_BYTES)
                    self.assertLess(first, 0.1 * second)

    def test_loses_one_link_of_several(self):
        job = testhosts.run("--on", "h1", "--links", 2, "--after", "0s", "link down h1:eth1", "--",
                            "sh", "-c", "until grep -q down /sys/class/net/eth1/operstate; do sleep 0.1; done; cat /sys/class/net/eth0/operstate")
        self.assertEqual((job.returncode, job.stdout), (0, "up\n"), job.stderr)
        self.assertIn("link down h1:eth1 at ", job.stderr)

    @tutti.needs_mpi
    def test_counts_bytes(self):
        job = testhosts.run(*PAIR, "--rate", "50mbit", "--counters", "--", *testhosts.program(traffic.__file__, "stream"))
        sent, = testhosts.numbers(r"# h0 eth0: sent (\d+) ", job.stdout)
        received, = testhosts.numbers(r"# h1 eth0: sent \d+ received (\d+) bytes", job.stdout)
        self.assertGreater(sent, 2e6)
        self.assertLess(abs(sent - received), 0.1 * sent)


if __name__ == "__main__":
    testhosts.main()
