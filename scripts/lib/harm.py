# SPDX-License-Identifier: Apache-2.0
"""Runs tutti, injects a fault into the run, and reports problems with its end.

A row of FAULTS has the fault and its correct exit codes. All runs must end in time, print a message unless they succeed,
leave no process and no file in /dev/shm, and leave every record of a results file readable."""
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from processes import Process, descendants, name_of

ROOT = Path(__file__).resolve().parents[2]
LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "SLURM_")
OK, TIME_OUT, RANK_LOST, USAGE = 0, 4, 5, 64
# Beginnings of the names of files of Open MPI, MPICH and UCX in /dev/shm (tutti's have none). Other files are reported, not deleted.
SEGMENTS = ("vader_segment.", "sm_segment.", "osc_rdma.", "osc_sm.", "open_mpi.", "mpich_", "ucx_shm_posix_")
DEADLINE = 4  # -T and --start-timeout of the runs, in seconds


@dataclass
class Fault:
    name: str
    codes: tuple  # correct exit codes if the fault came in time
    harm: object = None  # called with the run when the fault is due; None: the fault exists from the start
    limit: str = ""  # arguments of ulimit, for the ranks only
    from_bytes: int = 0  # only larger files are affected
    stdout: str = ""  # a file instead of a pipe
    results: str = ""  # a file instead of one of its own
    needs_ranks: bool = False  # needs processes of a launcher
    needs_file: bool = False  # needs a results file


def heed_signals():
    """Resets signals that nohup or a shell's & made this process ignore, as the run would inherit that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Run:
    """Starts `tutti WORDS` with `ranks` processes (0: without a launcher)."""

    def __init__(self, executable, ranks, words, fault, folder):
        self.mark = f"TUTTI_HARM={uuid.uuid4().hex}"
        self.fault = fault
        self.file = folder / "results.jsonl" if "--json" in words else None
        self.words = [str(self.results_file()) if word == "FILE" else str(word).replace("FOLDER", str(folder))
                      for word in words]
        command = [str(executable), *self.words]
        if fault.limit:
            command = ["bash", "-c", f'ulimit {fault.limit}; exec "$@"', "limited", *command]
        if ranks > 0:
            command = [str(ROOT / "scripts/lib/mpi.sh"), str(ranks), *command]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
        environment |= {"TUTTI_LIMITS": "none", "TUTTI_MODEL": "none", "HOME": str(folder)}
        name, value = self.mark.split("=")
        environment[name] = value
        self.began = time.monotonic()
        self.shared_before = own_files()
        self.out, self.err = folder / "out.txt", folder / "err.txt"
        with open(fault.stdout or self.out, "w", encoding="utf-8") as out, open(self.err, "w", encoding="utf-8") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder,
                                            env=environment, preexec_fn=heed_signals)
        self.command = " ".join(command)

    def results_file(self):
        return self.fault.results or self.file

    def largest_file(self):
        return max(path.stat().st_size for path in self.out.parent.iterdir() if path.is_file())

    def processes(self, name):
        """Its processes of that name: mpirun, tutti, tutti-supervise, tutti-cleaner."""
        return [process for process in descendants(self.process.pid) if name_of(process) == name]

    def ranks(self):
        supervisors = {process.pid for process in self.processes("tutti-supervise")}
        found = []
        for process in self.processes("tutti"):
            try:
                if process.parent in supervisors:
                    found.append(process)
            except OSError:
                pass
        return found

    def marked(self):
        """Returns its processes that are alive, including orphans."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if self.mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    process = Process(int(entry.name))
                    if process.is_alive():
                        found.append(process)
            except OSError:
                pass
        return found

    def wait(self, seconds):
        """Returns the exit code as in shells; None if the run does not end."""
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        return 128 - code if code < 0 else code

    def kill(self):
        for process in self.marked():
            process.kill(signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def problems_of_file(self):
        if self.fault.results or not self.file or not self.file.exists():
            return
        lines = self.file.read_text(encoding="utf-8", errors="replace").split("\n")
        kinds = []
        for number, line in enumerate(lines[:-1], 1):  # after the last newline: nothing, or a torn record
            try:
                kinds.append(json.loads(line)["kind"])
            except (ValueError, KeyError):
                yield f"line {number} of the results is not a record"
        shown = len(re.findall(r"^ *\d+ +\d+ +(?:float|int|half|bfloat)", self.out.read_text(errors="replace"), re.M)) \
            if self.out.exists() else 0
        if shown > kinds.count("point") > 0 and "step" not in kinds:
            yield f"{shown} rows were shown, {kinds.count('point')} are in the file"
        if "session" in kinds and "end" not in kinds and "fail" not in kinds and not self.fault.limit:
            yield "the results do not say why the run ended"

    def has_all_results(self):
        """Whether the run is ending, so that a fault may have no effect."""
        return bool(self.file) and self.file.exists() and is_whole(self.file.read_text(errors="replace"))

    def said(self):
        text = self.err.read_text(encoding="utf-8", errors="replace")
        return [line for line in text.splitlines()
                if line.startswith("tutti: ") and not re.match(r"tutti: \d+ of \d+ done", line)]


def is_whole(results):
    return '"kind":"end"' in results


def own_files():
    """Returns the files in /dev/shm of this user."""
    found = set()
    for entry in os.scandir("/dev/shm"):
        try:
            if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                found.add(entry.name)
        except FileNotFoundError:
            pass
    return found


def mapped(files):
    """Returns those files in /dev/shm that a process has mapped."""
    found = set()
    for maps in Path("/proc").glob("[0-9]*/maps") if files else ():
        try:
            text = maps.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        found |= {file for file in files if f"/dev/shm/{file}\n" in text}
    return found


@dataclass
class Outcome:
    command: str
    code: int
    seconds: float
    line: str  # its last line
    problems: list


def harm(executable, ranks, words, fault, after):
    """Runs it with the fault after `after` seconds and returns the outcome."""
    executable = Path(executable).resolve()  # the run has another working folder
    with tempfile.TemporaryDirectory(prefix="tutti-harm-") as name:
        run = Run(executable, ranks, words, fault, Path(name))
        came = False
        try:
            if fault.harm:
                ended = run.wait(after)
                came = ended is None and fault.harm(run) is not False and not run.has_all_results()
            code = run.wait(DEADLINE * 2 + 100)
            problems = []
            if code is None:
                problems.append("hangs: " + ", ".join(f"{name_of(p)} {p.pid}" for p in run.marked()))
                run.kill()
            seconds = time.monotonic() - run.began
            for _ in range(100):  # a cleaner has a moment to clean up
                left, files = run.marked(), own_files() - run.shared_before
                files -= mapped(files)  # files of other jobs or of remaining processes
                if not left and not files:
                    break
                time.sleep(0.1)
            problems += [f"leaves process {process.pid} ({name_of(process)})" for process in left]
            problems += [f"leaves /dev/shm/{file}" for file in sorted(files)]
            for process in left:
                process.kill(signal.SIGKILL)
            for file in files:
                if file.startswith(SEGMENTS):
                    Path("/dev/shm", file).unlink(missing_ok=True)
            said = run.said()
            is_felt = came if fault.harm else run.largest_file() >= fault.from_bytes
            right = fault.codes if is_felt else (*fault.codes, OK)
            if OK in right and said and "--budget" in said[-1]:  # tune had no time for any choice
                right = (USAGE,)
            if code is not None and code not in right:
                problems.append(f"ends with {code}, not {' or '.join(map(str, right))}")
            if code not in (OK, None) and not said:
                problems.append("says nothing")
            problems += run.problems_of_file()
            if problems:
                problems.append("stderr: " + " | ".join(run.err.read_text(errors="replace").splitlines()[-6:]))
            return Outcome(run.command, code, seconds, said[-1] if said else "", problems)
        finally:
            if run.process.poll() is None:
                run.kill()


def _signal(number):
    def send(run):
        run.process.send_signal(number)
    return send


def _to_a(pick, number):
    def send(run):
        found = pick(run)
        if not found:
            return False
        found[-1].kill(number)
        return True
    return send


def _pause(run):
    found = run.ranks()
    if not found:
        return False
    found[-1].kill(signal.SIGSTOP)
    time.sleep(2)
    found[-1].kill(signal.SIGCONT)
    return True


def _pause_all(run):
    found = run.marked()
    for process in found:
        process.kill(signal.SIGSTOP)
    time.sleep(DEADLINE * 2 + 3)
    for process in found:
        process.kill(signal.SIGCONT)
    return True


def _lose_file(run):
    if not run.file or not run.file.exists():
        return False
    with open(run.file, encoding="utf-8", errors="replace") as file:
        run.file.unlink()
        return not is_whole(file.read())


def _ranks(run):
    return run.ranks()


FAULTS = [
    Fault("none", (OK,)),
    Fault("SIGKILL to a rank", (RANK_LOST,), _to_a(_ranks, signal.SIGKILL), needs_ranks=True),
    Fault("SIGSTOP to a rank", (TIME_OUT,), _to_a(_ranks, signal.SIGSTOP), needs_ranks=True),
    Fault("a rank is paused for 2 s", (OK,), _pause, needs_ranks=True),
    Fault("all are paused for longer than -T", (OK,), _pause_all),
    Fault("SIGTERM to a rank", (RANK_LOST,), _to_a(_ranks, signal.SIGTERM), needs_ranks=True),
    Fault("SIGKILL to a supervisor", (RANK_LOST,),
          _to_a(lambda run: run.processes("tutti-supervise"), signal.SIGKILL), needs_ranks=True),
    Fault("SIGKILL to a cleaner", (OK,),
          _to_a(lambda run: run.processes("tutti-cleaner"), signal.SIGKILL), needs_ranks=True),
    Fault("SIGKILL to the launcher", (RANK_LOST,),
          _to_a(lambda run: [p for p in descendants(run.process.pid) if (name_of(p) or "").startswith(("mpirun", "mpiexec"))],
                signal.SIGKILL), needs_ranks=True),
    Fault("SIGINT", (130,), _signal(signal.SIGINT)),
    Fault("SIGTERM", (143,), _signal(signal.SIGTERM)),
    Fault("SIGHUP", (129,), _signal(signal.SIGHUP)),
    Fault("the results file is deleted", (USAGE,), _lose_file, needs_file=True),
    Fault("stdout on a full disk", (USAGE, RANK_LOST, 1), stdout="/dev/full"),
    Fault("results on a full disk", (USAGE,), results="/dev/full", needs_file=True),
    Fault("file size limit", (USAGE,), limit="-f 4", from_bytes=4096),
    Fault("too few descriptors", (OK, USAGE, RANK_LOST, 1, 213), limit="-n 24"),
    Fault("too little memory", (OK, USAGE, RANK_LOST, 1, 213), limit="-v 400000"),
]
