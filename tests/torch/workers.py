# SPDX-License-Identifier: Apache-2.0
"""A worker runs calls in their order on any thread. A thread that waits for a call gets its result or error."""
import threading
import time

import torch
from tutti_torch.worker import Worker

done = []


def call(name, then=None):
    """Returns a function that records its name and the thread that runs it."""
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


def until_main_thread_waits():
    """Waits until the main thread has woken the worker twice: by submitting the second call, and by waiting for it."""
    has_begun.set()
    while worker.woken.qsize() < 2:
        time.sleep(0.001)


def let_worker_idle():
    """Waits until the worker's thread is idle."""
    while not worker.woken.empty():
        time.sleep(0.01)
    time.sleep(0.1)


has_begun, ended = threading.Event(), threading.Event()
worker = Worker("its thread", last=ended.set)
first = worker.submit(call("first", until_main_thread_waits))
has_begun.wait()
# The worker's thread runs the first call. The main thread, which waits for the second one, must not overtake it.
second = worker.submit(call("second"))
worker.wait(second)
expect(first.wait() is not None, True)
expect(done, [("first", "its thread"), ("second", "its thread")])

let_worker_idle()
wake, worker.wake = worker.wake, lambda: None  # the worker sleeps, so the main thread runs all calls up to that one
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

# Ctrl-C interrupts the thread that runs the call. Other threads get an error.
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
    raise AssertionError("no error for other threads")

# A thread that waits for a call which has begun on another thread does not run later calls.
done.clear()
begun = worker.submit(call("begun"))
worker.calls.popleft()
later = worker.submit(call("later"))
expect(worker.do_next(begun), None)
expect(done, [])
worker.wait(later)

# A callback may wait for a call. The callback's thread runs this call, not a thread that waits for another call.
done.clear()
outer = worker.submit(call("outer"))
chained = outer.future().then(lambda _: worker.wait(worker.submit(call("inner"))))
worker.wait(outer)
chained.wait()
expect(done, [("outer", "MainThread"), ("inner", "tutti callbacks")])

# The worker's thread found the turn taken while the main thread ran a call. It is woken again for later calls.
def submits_another():
    worker.wake = wake
    late.append(worker.submit(call("late")))
    let_worker_idle()


late = []
done.clear()
worker.wait(worker.submit(call("busy", submits_another)))
end = time.monotonic() + 10
while not late[0].done() and time.monotonic() < end:
    time.sleep(0.01)
expect(done, [("busy", "MainThread"), ("late", "its thread")])

# At the end, the worker's thread runs the remaining calls, then `last`.
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
