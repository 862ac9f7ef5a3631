# SPDX-License-Identifier: Apache-2.0
"""Whether a report says that it can be trusted, and why not."""

import re
import unittest

from report_files import Values, launch_of, library, needs_matplotlib, step, timed, with_key
import synthetic  # found through report_files
from plots import sections, summary, trust, verdict


def end_of(number=1, **changes):
    return {"v": 1, "kind": "end", "session": "s", "launch": number, "ok": True, "wall_ns": 1} | changes


def health(host, name, value, wrong, **more):
    return {"health": [{"host": host, "readings": [{"name": name, "value": value, "wrong": wrong} | more]}]}


class Reports(Values):
    def notes(self, *lines):
        """Of all of a report, and of its sections."""
        results = self.results(synthetic.session(), *lines)
        found, parts = trust.Trust(results), sections.sections_of(results)
        for section in parts:
            section.notes = found.notes(section.points, section.cells.values())
        return summary.trust_notes(results, found, parts), parts

    def launches(self, *points_of_each, ends=(), **launch):
        lines = []
        for number, points in enumerate(points_of_each, start=1):
            lines += [launch_of(number, **launch), *(point | {"session": "s", "launch": number} for point in points),
                      end_of(number, **(ends[number - 1] if ends else {}))]
        return lines


class Notes(Reports):
    def marks(self, *points, **launch):
        return {note.mark for note in self.notes(*self.launches(points, **launch))[1][0].notes}

    def test_say_what_disturbs_a_launch(self):
        quiet = timed("ring", 8, 100, mode="deadline", n_invalid=3)
        self.assertEqual(self.marks(quiet), {"one launch"})
        self.assertEqual(self.marks(quiet, load=3.9), {"one launch", "load before start"})
        self.assertEqual(self.marks(quiet, nranks=8), {"one launch", "oversubscribed"})
        self.assertEqual(self.marks(quiet | {"mode": "barrier"}), {"one launch", "disturbed"})
        self.assertEqual(self.marks(quiet | {"n_invalid": 101}), {"one launch", "disturbed"})
        self.assertEqual(self.marks(with_key(quiet, nranks=8) | {"mode": "barrier"}, nranks=8), {"one launch", "oversubscribed"})
        self.assertEqual(self.marks(with_key(quiet, placement="virtual ranks")), {"one launch", "virtual ranks"})
        self.assertEqual(self.marks(quiet, gpus=[{"model": "simulated GPU"}]), {"one launch", "simulated GPU"})
        self.assertEqual(self.marks(quiet | {"limit_ns": 178.0}), {"one launch", "limit too high"})
        self.assertEqual(self.marks(timed("ring", 8, 100, 30, mode="deadline")), {"one launch", "unsteady"})
        self.assertEqual(self.marks(quiet, timed("tree", 8, 1, skipped="no call began on time")), {"one launch", "skipped"})

    def test_say_what_was_wrong_with_hosts(self):
        ends = (health("h", "clock_pct", 50, "CPU 1 is slow"), health("i", "steal_pct", 5, "the hypervisor took 5 %"))
        notes, _ = self.notes(*self.launches([timed("ring", 8, 100)], [timed("ring", 8, 100)], ends=ends))
        texts = {note.mark: note.text for note in notes}
        self.assertEqual(texts["host in trouble"], "h: CPU 1 is slow in 1 of 2 launches; i: the hypervisor took 5 % in 1 of 2 launches")

    def test_say_of_cores_that_were_taken_how_often_over_all_launches(self):
        def ends(*readings):
            return [health("h", "preemptions_per_s", value, "others ran", of=rank) for value, rank in readings]
        for readings, said in ((((620.6, "rank 0"), (507.6, "rank 0")), "rank 0's core was taken 508 to 621 times a second"),
                               (((620.6, "rank 0"), (621.0, "rank 1")), "a rank's core was taken 621 times a second")):
            notes, _ = self.notes(*self.launches([timed("ring", 8, 100)], [timed("ring", 8, 100)], ends=ends(*readings)))
            self.assertIn(f"h: {said} in 2 of 2 launches", [note.text for note in notes])

    def test_say_of_the_waiting_for_cores_its_range_in_which_launches_and_which_were_quiet(self):
        def ends(*percents):
            return [health("h", "cpu_stall_pct", value, f"programs waited for a core {value:.0f} %" if value > 20 else "") for value in percents]
        for percents, because, quiet in (((95.7, 88.9, 3.8, 3.4), "programs waited for a core 89 to 96 % of the time in 2 of 4 launches",
                                          "; launches 3 and 4 hardly waited for a core"),
                                         ((95.7, 3.4), "programs waited for a core 96 % of the time in 1 of 2 launches", "; launch 2 hardly waited for a core"),
                                         ((95.7, 95.8), "programs waited for a core 96 % of the time in 2 of 2 launches", ""),
                                         ((95.7, 1, 1, 1, 1, 1), "programs waited for a core 96 % of the time in 1 of 6 launches",
                                          "; the other 5 launches hardly waited for a core")):
            notes, _ = self.notes(*self.launches(*[[timed("ring", 8, 100)]] * len(percents), ends=ends(*percents)))
            note, = (note for note in notes if note.mark == "host in trouble")
            self.assertEqual((note.text, note.because), (f"h: {because}{quiet}", because))

    def test_say_nothing_of_the_load_that_own_launches_left(self):
        def loads(second_load, began, wall_s=10):
            lines = [launch_of(1, nranks=2, cores=4, load=0.1, t="2026-01-31T12:00:00.000Z"), timed("ring", 8, 100) | {"session": "s"},
                     end_of(1, wall_ns=wall_s * 10**9), launch_of(2, nranks=2, cores=4, load=second_load, t=f"2026-01-31T{began}Z"),
                     timed("ring", 8, 100, launch=2) | {"session": "s"}, end_of(2)]
            return {note.mark: (note.text, note.weight) for note in self.notes(*lines)[0]}.get("load before start")
        self.assertIsNone(loads(4.9, "12:00:11.000"))    # 2 of it are its own, 2.9 are below 3
        self.assertIsNone(loads(4.9, "12:02:09.900"))
        said = "up to 4.9 on 4 cores as 1 of 2 launches began, more than own launches just before explain"
        self.assertEqual(loads(4.9, "12:02:10.100"), (said, trust.RANKING_ONLY))  # that of long ago is gone
        self.assertEqual(loads(4.9, "12:00:09.000"), (said, trust.RANKING_ONLY))  # the other one has not ended
        self.assertEqual(loads(5.1, "12:00:11.000"), (said.replace("4.9", "5.1"), trust.RANKING_ONLY))  # the own ranks are too few for it

    def test_take_times_without_a_zone_for_those_of_utc_and_stand_times_that_are_none(self):
        for first, wall_s, is_said in (("2026-01-31T12:00:00", 10, False), ("2026-01-31T11:00:00", 10, True), ("9999-12-31T23:59:59", 10, True),
                                       ("0001-01-01T00:00:00+14:00", 10, True), ("2026-01-31T12:00:00", 9 * 10**9, True), ("", 10, True)):
            lines = [launch_of(1, t=first), timed("ring", 8, 100, session="s"), end_of(1, wall_ns=wall_s * 10**9),
                     launch_of(2, nranks=2, load=4.9, t="2026-01-31T12:00:11.000Z"), timed("ring", 8, 100, launch=2, session="s"), end_of(2)]
            marks = {note.mark for note in self.notes(*lines)[0]}
            self.assertEqual("load before start" in marks, is_said, (first, wall_s))

    def test_name_an_interrupted_launch(self):
        notes, _ = self.notes(launch_of(), timed("ring", 8, 100, session="s"))
        self.assertIn("interrupted", {note.mark for note in notes})

    def test_take_a_run_that_was_resumed_for_one_launch_in_which_the_last_record_counts(self):
        parts = [synthetic.session() | {"id": name, "resume_of": resumed} for name, resumed in (("t", "s"), ("u", "t"))]
        lines = [launch_of(), timed("ring", 8, 100, session="s"), timed("tree", 8, 100, session="s", check={"state": "fail", "n_wrong": 1}),
                 step("mpi", 2, session="s") | {"kind": "partial_step", "partial": True},
                 parts[0], launch_of() | {"session": "t"}, timed("tree", 8, 130, session="t"), step("mpi", 1, session="t"),
                 parts[1], launch_of() | {"session": "u"}, timed("ring", 64, 200, session="u"), end_of() | {"session": "u"}]
        results = self.results(synthetic.session(), *lines)
        self.assertEqual(results.launch_count(), 1)
        self.assertEqual([one["step_ns"]["p50"] for one in results.steps], [21e6])
        notes, (section,) = self.notes(*lines)
        self.assertEqual({cell.p50: cell.launches for cell in section.cells.values()}, {100: 1, 130: 1, 200: 1})
        self.assertEqual([note.mark for note in notes], ["one launch"])

    def test_count_the_medians_that_are_shown(self):
        # Each launch knows its median to 1 %, but they differ threefold: one cell of two is not known.
        launches = [(timed("ring", 8, time, time // 100), timed("tree", 8, 9000, 9)) for time in (1000, 2000, 3000)]
        notes, parts = self.notes(*self.launches(*launches))
        for found in (notes, parts[0].notes):
            self.assertEqual([note.text for note in found if note.mark == "unsteady"], ["1 median of 2 not known to 10 %"])

    def test_call_a_limit_too_high_only_where_it_still_is(self):
        def with_limits(*limits):
            notes, _ = self.notes(*self.launches(*([timed("ring", 8, 150, 1, limit_ns=limit)] for limit in limits)))
            return {note.mark: note.text for note in notes if "limit" in note.mark}
        self.assertIn("1 median of 1 took less", with_limits(171.0, 171.0)["limit too high"])
        self.assertEqual(with_limits(171.0, 32.3),
                         {"limit unsteady": "between launches the limit changed up to 5.29-fold (8): % of limit is soft there, and is of the least"})
        self.assertEqual(with_limits(33.0, 32.0), {})


class Verdict(Reports):
    def verdict(self, *points_of_each, **changes):
        return verdict.verdict_of(*self.notes(*self.launches(*points_of_each, **changes)))

    def test_is_yes_where_nothing_speaks_against(self):
        self.assertEqual(self.verdict([timed("ring", 8, 100)], [timed("ring", 8, 100)]),
                         "yes, because quiet machine, a core for each rank, several launches")

    def test_is_the_ranking_only_where_times_may_be_off(self):
        self.assertEqual(self.verdict([timed("ring", 8, 100)]), "the ranking only, because one launch")
        two = [timed("ring", 8, 100)], [timed("ring", 8, 100)]
        self.assertEqual(self.verdict(*two, load=3.9), "the ranking only, because load before the start up to 3.9 on 4 cores")
        wide = [[timed("ring", 8, time)] for time in (1000, 3000)]
        self.assertEqual(self.verdict(*wide), "the ranking only, because 1 median of 1 not known to 10 %")

    def test_is_no_where_others_had_the_cores(self):
        waited = [health("h", "cpu_stall_pct", 99.0, "programs waited for a core 99 % of the time")]
        self.assertEqual(self.verdict([timed("ring", 8, 100)], ends=waited), "no, because programs waited for a core 99 % of the time")
        self.assertEqual(self.verdict([timed("ring", 8, 100, mode="barrier")]), "no, because others took the cores in 1 point of 1")
        self.assertEqual(self.verdict([timed("ring", 8, 100)], nranks=8), "no, because 8 ranks on 4 cores")

    def test_tells_rankings_apart(self):
        two, eight = timed("ring", 8, 100), with_key(timed("ring", 8, 100), nranks=8)
        lines = self.launches([two]) + [line | {"launch": 2} for line in self.launches([eight], nranks=8)]
        self.assertEqual(verdict.verdict_of(*self.notes(*lines)),
                         "in 1 table of 2 (each was launched once) the ranking but not the factors; in 1 table of 2 (8 ranks on 4 cores) neither")

    def test_of_single_launches_comes_second_and_greys_their_intervals(self):
        two = [[timed("ring", 8, 100, 1), library(8, 200, 1)], [with_key(timed("ring", 8, 100, 1), coll="broadcast")]]
        ones = [launch_of(1, load=3.9), *(point | {"session": "s", "launch": 1} for point in two[0]), end_of(1),
                launch_of(2, load=3.9), *(point | {"session": "s", "launch": 2} for point in two[1]), end_of(2)]
        notes, parts = self.notes(*ones, timed("tree", 8, 1, skipped="too long") | {"session": "s", "launch": 2})
        self.assertEqual([note.mark for note in notes], ["load before start", "one launch", "skipped"])
        self.assertIn("[1.98, 2.02]¹</span></td>", summary.section_table(parts))
        self.assertEqual(verdict.signs_text(parts), "¹ interval only within this launch.")
        _, parts = self.notes(*self.launches([timed("ring", 8, 100), library(8, 200)], [timed("ring", 8, 100), library(8, 200)]))
        self.assertNotIn("¹", summary.section_table(parts) + verdict.signs_text(parts))

    def test_names_wrong_results_whatever_else_can_be_trusted(self):
        wrong = timed("tree", 8, 90, check={"state": "fail", "n_wrong": 1})
        self.assertEqual(self.verdict([timed("ring", 8, 100), wrong], [timed("ring", 8, 100)]),
                         "no for 1 point with wrong results; yes, because quiet machine, a core for each rank, several launches")
        self.assertEqual(verdict.verdict_of([], []), "no, because nothing was measured with a right result")

    def test_leaves_no_interval_unmarked_where_it_is_no(self):
        for nranks, is_marked in ((4, False), (8, True)):
            _, parts = self.notes(*self.launches([timed("ring", 8, 100, 1), library(8, 200, 1)], nranks=nranks))
            html = summary.section_table(parts)
            self.assertEqual("]‡</td>" in html, is_marked)
            self.assertEqual("<b>ring" in html, not is_marked)

    @needs_matplotlib
    def test_stands_at_the_top_and_its_notes_at_each_figure(self):
        html = self.report(self.lines(synthetic.session(), *self.launches(
            [timed("ring", 8, 100, 1), timed("tree", 8, 300, 1), library(8, 200, 1)], load=4.0, nranks=8)))
        self.assertLess(html.index("<h2>Trust: no, because 8 ranks on 4 cores"), html.index('<p class="lead">'))
        self.assertIn("<b>load before start</b> up to 4.0 on 4 cores as the launch began", html)
        figures = re.findall(r"<figure.*?</figure>", html, flags=re.S)
        self.assertGreaterEqual(len(figures), 5)
        for figure in figures:
            self.assertTrue("! oversubscribed · load before start · one launch<" in figure)
            self.assertTrue("#aab1b9" in figure or not re.search("-(ratio|latency|bandwidth|spread)\"", figure))  # grey intervals


if __name__ == "__main__":
    unittest.main()
