# SPDX-License-Identifier: Apache-2.0
"""A worker's calls keep their order, whoever does them, and each tells who waits for it what it came to."""
import threading
import time

import torch
from tutti_torch.worker import Worker

done = []


def call(name, then=None):
    """What notes who did it."""
    def noting():
        done.append((name, threading.current_thread().name))
        if then is not None:
            then()
        return [torch.empty(0)]
    return noting


def fails():
    raise ValueError("as it must")


def expect(what, expected):
    assert what == expected, f"{what}, not {expected}"


def until_somebody_waits():
    """For the second call: who submits it wakes the thread, and again who waits for it in vain."""
    has_begun.set()
    while worker.woken.qsize() < 2:
        time.sleep(0.001)


def let_look():
    """The thread has seen to all that it was woken for."""
    while not worker.woken.empty():
        time.sleep(0.01)
    time.sleep(0.1)


has_begun, ended = threading.Event(), threading.Event()
worker = Worker("its thread", last=ended.set)
first = worker.submit(call("first", until_somebody_waits))
has_begun.wait()
# Its thread is at work: who waits for the second one must not overtake it.
second = worker.submit(call("second"))
worker.wait(second)
expect(first.wait() is not None, True)
expect(done, [("first", "its thread"), ("second", "its thread")])

let_look()
wake, worker.wake = worker.wake, lambda: None  # nobody is at work now: who waits does all that comes before
done.clear()
third, failing, fourth = worker.submit(call("third")), worker.submit(fails), worker.submit(call("fourth"))
worker.wait(fourth)
expect(done, [("third", "MainThread"), ("fourth", "MainThread")])
expect(third.done(), True)
try:
    worker.wait(failing)
except ValueError as problem:
    expect(str(problem), "as it must")
else:
    raise AssertionError("no error")

# Ctrl-C ends the wait of who does the call; others are told.
def interrupts():
    raise KeyboardInterrupt


cut = worker.submit(interrupts)
try:
    worker.wait(cut)
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("no interrupt")
try:
    cut.wait()
except RuntimeError as problem:
    expect("interrupted by" in str(problem), True)
else:
    raise AssertionError("no error for the others")

# A call that has begun, and that nobody has told of its end yet, does not bring who waits for it to do a later one.
done.clear()
begun = worker.submit(call("begun"))
worker.calls.popleft()
later = worker.submit(call("later"))
expect(worker.do_next(begun), None)
expect(done, [])
worker.wait(later)

# A callback may wait for a call. The callback's thread does this call, not a thread that waits for another call.
done.clear()
outer = worker.submit(call("outer"))
chained = outer.future().then(lambda _: worker.wait(worker.submit(call("inner"))))
worker.wait(outer)
chained.wait()
expect(done, [("outer", "MainThread"), ("inner", "tutti callbacks")])

# Its thread has looked in vain while this one was at work, and is woken for what came then.
def submits_another():
    worker.wake = wake
    late.append(worker.submit(call("late")))
    let_look()


late = []
done.clear()
worker.wait(worker.submit(call("busy", submits_another)))
end = time.monotonic() + 10
while not late[0].done() and time.monotonic() < end:
    time.sleep(0.01)
expect(done, [("busy", "MainThread"), ("late", "its thread")])

# A call that is left is done before the end, which its thread does.
done.clear()
worker.submit(call("left"))
worker.end()
expect(ended.wait(10), True)
expect([name for name, _ in done], ["left"])
try:
    worker.submit(call("too late"))
except RuntimeError as problem:
    expect(str(problem), "the process group has ended")
else:
    raise AssertionError("a call after the end")
