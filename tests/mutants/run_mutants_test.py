# SPDX-License-Identifier: Apache-2.0
"""Plants bugs in a small tree of its own: where they are found, which test notices them, what is left afterwards."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from mutants import Mutant, read_table  # noqa: E402
from pattern import planted  # noqa: E402
from workshop import SKIPPED, Workshop, copy_of_tree, filtered, run_within  # noqa: E402


class Fake(Workshop):
    """A workshop whose build does nothing, and whose one test is the script itself."""

    def __init__(self, tree, compiles=True):
        super().__init__(tree, tree, jobs=1)
        self.compiles = compiles

    def _tests(self, pattern):
        return [{"name": pattern, "command": ["sh", str(self.tree / "test.sh")],
                 "properties": [{"name": "SKIP_RETURN_CODE", "value": 77}]}]

    def _build(self, targets):
        return (0, "") if self.compiles else (1, "test.sh:1: error: no such thing\n")


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        self.script = self.tree / "test.sh"
        self.script.write_text("exit 0\n")

    def mutant(self, new, old="exit 0", **more):
        return Mutant(layer="x", name="m", what="", file="test.sh", old=old, new=new, tests="t", targets=(), **more)


class Outcomes(Tree):
    def outcome(self, mutant, compiles=True):
        outcome = Fake(self.tree, compiles).outcome_of(mutant)
        self.assertEqual(self.script.read_text(), "exit 0\n")
        return outcome

    def test_a_bug_that_fails_a_test_is_killed_by_it(self):
        self.assertEqual(self.outcome(self.mutant("exit 3")), "killed by t")
        self.assertEqual(self.outcome(self.mutant("echo '[  FAILED  ] Ring.Turns (2 ms)'; exit 1")), "killed by t (Ring.Turns)")
        self.assertEqual(self.outcome(self.mutant("echo 'FAIL: test_x (y)'; exit 1")), "killed by t (test_x)")

    def test_a_bug_that_hangs_is_killed_too(self):
        self.assertEqual(self.outcome(self.mutant("sleep 60", timeout=1)), "killed by t, which hangs")

    def test_a_bug_that_fails_nothing_has_survived(self):
        self.assertEqual(self.outcome(self.mutant("true")), "survived")

    def test_a_test_that_cannot_run_here_shows_nothing(self):
        self.script.write_text("exit 77\n")
        workshop, mutant = Fake(self.tree), self.mutant("exit 0", old="exit 77")
        (self.tree / "build.ninja").touch()
        workshop._must = lambda command: None
        workshop.prepare([mutant])
        self.assertEqual(workshop.outcome_of(mutant), f"{SKIPPED} by t")

    def test_a_bug_that_does_not_compile_is_none(self):
        self.assertEqual(self.outcome(self.mutant("exit 3"), compiles=False),
                         "does not compile: test.sh:1: error: no such thing")


class Filters(unittest.TestCase):
    def test_are_words_for_python_alone(self):
        self.assertEqual(filtered(["/b/test_x"], "Ring.*"), ["/b/test_x"])
        self.assertEqual(filtered(["/usr/bin/python3.11", "x_test.py"], "*"), ["/usr/bin/python3.11", "x_test.py"])
        self.assertEqual(filtered(["python3", "x_test.py"], "A.test_b:C"),
                         ["python3", "x_test.py", "--failfast", "-k", "A.test_b", "-k", "C"])


class Patterns(Tree):
    """Where a row finds its place after changes."""

    source = """
int first(int left, int right) {
    if (left < right) return at(left);  // the smaller
    return at(right);
}
int second(int one, int other) {
    return at(other);
}
"""

    def planted(self, old, new, source, file="a.cpp", function=""):
        (self.tree / "a.cpp").write_text(source)
        mutant = Mutant(layer="x", name="m", what="", file=file, old=old, new=new, tests="t", targets=(), function=function)
        if mutant.misfit(self.tree):
            return mutant.misfit(self.tree)
        return planted(mutant.place(self.tree), new)

    def expect(self, old, new, source, changed, **more):
        self.assertEqual(self.planted(old, new, source, **more), source.replace(*changed))

    def test_find_renamed_and_reformatted_code(self):
        source = self.source.replace("left", "begin").replace("at(", "value_at(").replace("< right", "<\n        right")
        self.expect("if (left < right) return at(left);", "return at(left);", source,
                    ("if (begin <\n        right) return value_at(begin);", "return value_at(begin);"))

    def test_names_decide_between_places_that_look_alike(self):
        self.expect("return at(other);", "return other;", self.source, ("at(other)", "other"))
        self.expect("return at(right);", "return 0;", self.source, ("return at(right)", "return 0"))

    def test_the_function_decides_if_names_do_not(self):
        source = self.source.replace("right", "r").replace("other", "o")
        self.expect("return at(value);", "return 7;", source, ("return at(o)", "return 7"), function="second")

    def test_code_is_found_in_another_file(self):
        self.expect("if (left < right)", "if (right < left)", self.source, ("left < right", "right < left"), file="gone.cpp")

    def test_a_string_stands_for_any_string(self):
        self.expect('throw Error("old text");', "", 'void f() {\n    throw Error("new text");\n}\n', ('    throw Error("new text");\n', ""))

    def test_a_row_says_why_it_does_not_fit(self):
        self.assertIn("lines 3, 4, 7", self.planted("return at(x)", "", self.source))
        self.assertIn("nothing", self.planted("while (left)", "", self.source))
        self.assertIn("changes nothing", self.planted("left < right", "left < right", self.source))
        self.assertIn("a test", self.planted("left < right", "", self.source, file="tests/a.cpp"))

    def test_python_is_indented_as_its_place(self):
        (self.tree / "a.py").write_text("def f():\n    if x:\n        g(1)\n        h()\n")
        mutant = Mutant(layer="x", name="m", what="", file="a.py", old="g(1)", new="for i in x:\n    g(1)", tests="", targets=())
        self.assertEqual(planted(mutant.place(self.tree), mutant.new),
                         "def f():\n    if x:\n        for i in x:\n            g(1)\n        h()\n")


class Tables(Tree):
    def table(self, text):
        path = self.tree / "rings.toml"
        path.write_text(text)
        return read_table(path)

    def test_take_what_is_usual_and_refuse_unknown_fields(self):
        row = '[[mutant]]\nname = "a"\nwhat = "b"\nold = "c"\nnew = "d"\n'
        usual = '[usual]\nfile = "f"\ntests = "t"\ntargets = ["x"]\n'
        only, = self.table(usual + row)
        self.assertEqual((only.layer, only.file, only.targets, only.filter), ("rings", "f", ("x",), "*"))
        other, = self.table(usual + row + 'filter = "R.*"\n')
        self.assertEqual(other.filter, "R.*")
        with self.assertRaisesRegex(ValueError, "a has unknown fields: fliter"):
            self.table(usual + row + 'fliter = "R.*"\n')


class Running(unittest.TestCase):
    def test_ends_all_that_was_started(self):
        code, text = run_within(["sh", "-c", "echo begun; sleep 60 & wait"], 1)
        self.assertEqual((code, text), (None, "begun\n"))

    def test_copies_what_git_knows_and_forgets_what_is_gone(self):
        root = Path(__file__).resolve().parents[2]
        if not (root / ".git").exists():
            self.skipTest("this is no checkout")
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "tree"
            target.mkdir()
            (target / "left").write_text("over")
            copy_of_tree(root, target)
            self.assertEqual((target / "README.md").read_bytes(), (root / "README.md").read_bytes())
            self.assertFalse((target / "left").exists())


if __name__ == "__main__":
    unittest.main()
