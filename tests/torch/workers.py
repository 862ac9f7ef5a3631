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


may_go_on, has_begun, ended = threading.Event(), threading.Event(), threading.Event()
worker = Worker("its thread", last=ended.set)
first = worker.submit(call("first", lambda: (has_begun.set(), may_go_on.wait())))
has_begun.wait()
# Its thread is at work: who waits for the second one must not overtake it.
second = worker.submit(call("second"))
threading.Timer(0.05, may_go_on.set).start()
worker.wait(second)
expect(first.done(), True)
expect(done, [("first", "its thread"), ("second", "its thread")])

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

# What a callback of the third one's end waits for can be done then.
done.clear()
outer = worker.submit(call("outer"))
chained = outer.then(lambda _: worker.wait(worker.submit(call("inner"))))
worker.wait(outer)
chained.wait()
expect(done, [("outer", "MainThread"), ("inner", "MainThread")])

# Its thread has looked in vain while this one was at work, and is woken for what came then.
def submits_another():
    worker.wake = wake
    late.append(worker.submit(call("late")))
    time.sleep(0.1)


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
