# SPDX-License-Identifier: Apache-2.0
"""Compares 'bench --numerics' with a simulation of the random numbers, the schedule's order of additions, the rounding of
every addition, and the exact sums."""
import functools
import math
import re
import struct
import unittest

import tutti
from tutti import QUICK

ALL_ONES = 2**64 - 1
COUNT = 37
SEED = 5


def as_float(number):
    """Rounded to 32 bits."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def scramble(word):
    """The finaliser of splitmix64."""
    word = word + 0x9e3779b97f4a7c15 & ALL_ONES
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9 & ALL_ONES
    word = (word ^ word >> 27) * 0x94d049bb133111eb & ALL_ONES
    return word ^ word >> 31


def branch(key, index):
    return scramble(key + index & ALL_ONES)


def noise(key, position):
    word = key + position * 0x9e3779b97f4a7c15 & ALL_ONES
    return (word ^ word >> 32) * 0xd6e8feb86659fd93 & ALL_ONES


@functools.cache
def drawn(data, rank, position):
    """The float that this rank adds."""
    word = noise(branch(branch(scramble(SEED), ("uniform", "cancelling", "wide").index(data)), rank), position)
    if data == "uniform":
        return as_float(word / 2**64)
    if data == "cancelling":
        return as_float((word - 2**64 if word >> 63 else word) / 2**63)
    scrambled = scramble(word)
    sign = -1.0 if scrambled >> 63 else 1.0
    return sign * math.ldexp(2**23 + (word >> 41), scrambled % 127 - 63 - 23)


@functools.cache
def steps_of(algorithm, ranks):
    """Returns the transfers of each step (from, to, chunks, whether they are added) and the number of chunks."""
    words = tutti.run("show", algorithm, "all_reduce", "--ranks", ranks, "--steps", 1000).stdout
    steps, chunks = [], 0
    for line in words.splitlines():
        if re.fullmatch(r"step \d+", line):
            steps.append([])
        elif transfer := re.fullmatch(r"  rank (\d+) -> rank (\d+)  chunks? (\d+)(?:\.\.(\d+))? \((\w+)\)", line):
            sender, receiver, first, last, action = transfer.groups()
            last = int(last or first)
            steps[-1].append((int(sender), int(receiver), range(int(first), last + 1), action == "reduce"))
            chunks = max(chunks, last + 1)
    return steps, chunks


@functools.cache
def results_of(algorithm, ranks, data):
    """Returns the final data of each rank. All transfers of a step read the data from before the step."""
    held = [[drawn(data, rank, i) for i in range(COUNT)] for rank in range(ranks)]
    steps, chunks = steps_of(algorithm, ranks)
    for step in steps:
        before = [list(values) for values in held]
        for sender, receiver, cut, adds in step:
            for i in range(COUNT * cut.start // chunks, COUNT * cut.stop // chunks):
                arrived = before[sender][i]
                held[receiver][i] = as_float(held[receiver][i] + arrived) if adds else arrived
    return held


def fnv1a(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & ALL_ONES
    return value


def error_in_ulp(result, parts):
    """Returns the error of a float sum in ULP. The exact sum must be a normal number."""
    exact = math.fsum(parts)
    distance = abs(math.fsum([*parts, -result]))
    return distance / math.ldexp(1.0, max(math.frexp(exact)[1] - 1, -126) - 23)


class Numerics(tutti.Folder):
    def numerics(self, *words, run=tutti.run):
        file = self.folder / "numerics.jsonl"
        done = run("bench", *words, "--numerics", "--seed", SEED, "--inplace", "no", *QUICK, "--json", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, [record for record in tutti.records(file) if record["kind"] == "numerics"]

    def check(self, record, ranks):
        for one in record["of"]:
            results = results_of(record["key"]["algo"], ranks, one["data"])
            errors = [error_in_ulp(results[rank][i], [drawn(one["data"], other, i) for other in range(ranks)])
                      for rank in range(ranks) for i in range(COUNT)]
            self.assertAlmostEqual(one["max_ulp"], max(errors), delta=1e-9 * max(errors))
            hashes = [fnv1a(struct.pack(f"<{COUNT}f", *values)) for values in results]
            self.assertEqual(one["checksum"], f"{fnv1a(struct.pack(f'<{ranks}Q', *hashes)):016x}")
            self.assertEqual(one["ranks_agree"], len(set(hashes)) == 1)
            self.assertTrue(one["runs_agree"])

    def test_are_those_of_the_order_in_which_the_schedule_adds(self):
        for ranks in (2, 3, 4, 5, 6, 7, 8, 11, 16):
            with self.subTest(ranks=ranks):
                _, found = self.numerics("all_reduce", "--algo", "ring,tree,butterfly", "--transport", "shm,loopback",
                                         "--baseline", "none", "--counts", COUNT, "--ranks", ranks)
                found = found[-6:]  # the file has those of fewer ranks, too
                self.assertEqual({(record["key"]["algo"], record["key"]["transport"]) for record in found},
                                 {(algorithm, transport) for algorithm in ("ring", "tree", "butterfly")
                                  for transport in ("shm", "loopback")})
                for record in found:
                    with self.subTest(record["key"]["algo"], transport=record["key"]["transport"]):
                        self.check(record, ranks)

    def test_have_a_row_and_a_point_of_the_same_id(self):
        done, (record,) = self.numerics("all_reduce", "--algo", "ring", "--transport", "shm", "--baseline", "none",
                                        "--counts", COUNT, "--ranks", 3)
        row, = (line.split() for line in done.stdout.splitlines() if len(line.split()) == 12 and line[0] == " ")
        errors = [f"{one['max_ulp']:.4g}" for one in record["of"]]
        self.assertEqual(row[:-1], ["148", "37", "float", "ring", "shm", "out", *errors, "same", "same"])
        self.assertEqual([point["point"] for point in tutti.points(self.folder / "numerics.jsonl")], [record["point"]])

    def test_of_a_damaged_message_differ(self):
        done, (record,) = self.numerics("all_reduce", "--algo", "ring", "--transport", "loopback", "--baseline", "none",
                                        "--counts", COUNT, "--ranks", 2, "-c", 0, "--fault", "corrupt:step=1,to=0")
        self.assertEqual([one["ranks_agree"] for one in record["of"]], [False] * 3)
        self.assertIn("DIFFER", done.stdout)

    def test_of_what_has_one_result_do_not_compare_ranks(self):
        for collective in ("reduce", "reduce_scatter"):
            _, found = self.numerics(collective, "--algo", "all", "--transport", "shm", "--baseline", "none",
                                     "-d", "double,half,bfloat16,fp8_e4m3,fp8_e5m2", "--counts", COUNT, "--ranks", 3)
            self.assertTrue(found)
            for record in found:
                for one in record["of"]:
                    self.assertNotIn("ranks_agree", one)
                    self.assertTrue(one["runs_agree"])
                    self.assertTrue(0 < one["max_ulp"], one)

    @tutti.needs_mpi
    def test_of_a_library_have_their_row(self):
        _, found = self.numerics("all_reduce", "--algo", "none", "--baseline", "mpi", "--counts", COUNT,
                                 run=lambda *words: tutti.run_ranks(2, *words))
        record, = found
        self.assertEqual(record["key"]["impl"], "mpi")
        for one in record["of"]:  # two ranks have only one order
            self.assertLessEqual(one["max_ulp"], 0.5)
            self.assertEqual((one["ranks_agree"], one["runs_agree"]), (True, True))


if __name__ == "__main__":
    unittest.main()
