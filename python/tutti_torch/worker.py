# SPDX-License-Identifier: Apache-2.0
"""Calls one after the other, so that all ranks' calls have one order."""
import atexit
import collections
import functools
import queue
import sys
import threading
import time

import torch

LIVING = set()
SECONDS_TO_LEAVE = 10  # at exit: for calls under way, and until the other ranks leave, too
SECONDS_AFTER_AN_ERROR = 1


class Worker:
    """Does its calls in the order of submit(), one at a time: on a thread of its own, or on one that waits for a call which has
    not begun, as another thread takes longer to wake than a small call does. A call that fails leaves the others to fail by
    themselves."""

    def __init__(self, name, last=None):
        """last(): what the thread does when it ends, which a process waits for."""
        self.calls = collections.deque()
        self.turn = threading.Lock()  # held by whoever does a call
        self.woken = queue.SimpleQueue()
        self.ending = False
        self.last = last
        self.thread = threading.Thread(target=self.work, name=name, daemon=True)
        LIVING.add(self)
        self.thread.start()

    def submit(self, call):
        """A torch future of what call() returns: tensors. Raises RuntimeError after end()."""
        if self.ending:
            raise RuntimeError("the process group has ended")
        future = torch.futures.Future()
        self.calls.append((call, future))
        self.wake()
        return future

    def wait(self, future):
        """Returns the value of a future of submit(), or raises what its call has raised."""
        try:
            while self.do_next(future):
                pass
        finally:
            if self.calls or self.ending:  # the thread has looked while this one was at work
                self.wake()
        return future.wait()

    def end(self):
        """After the calls so far the thread ends; does not wait for that."""
        self.ending = True
        self.wake()

    def wake(self):
        self.woken.put(None)

    def do_next(self, wanted=None):
        """False if there is no call, or another thread does one, which will see to the next; or if the call of the future `wanted`
        has begun: whoever waits for that does no later call, in which it could wait for ever."""
        if not self.turn.acquire(blocking=False):
            return False
        try:
            if not self.calls or (wanted is not None and all(each is not wanted for _, each in tuple(self.calls))):
                return False
            call, future = self.calls.popleft()
            tell = told_by(call, future)
        finally:
            self.turn.release()
        tell()  # may run what others have asked for then, and that may wait for the next call
        return True

    def work(self):
        while not self.ending or self.calls:
            self.woken.get()
            while self.do_next():
                pass
        try:
            self.turn.acquire()  # for good: nobody does a call after the end  # pylint: disable=consider-using-with
            if self.last is not None:
                self.last()
        finally:
            LIVING.discard(self)


def told_by(call, future):
    """Does the call. Returns what tells the future its outcome."""
    try:
        with torch.no_grad():
            result = call()
    except Exception as problem:  # pylint: disable=broad-except  # whatever it is, who waits is told
        return functools.partial(future.set_exception, problem)
    except BaseException as interrupt:  # pylint: disable=broad-except  # Ctrl-C, on a thread that waits
        return functools.partial(interrupted, future, interrupt)
    return functools.partial(future.set_result, result)


def interrupted(future, interrupt):
    """Ends this thread's wait as Ctrl-C does, and the others' by an error."""
    future.set_exception(RuntimeError(f"interrupted by {interrupt!r}"))
    raise interrupt


def end_within(seconds, workers):
    """Ends them; whether all threads have ended by then."""
    for worker in workers:
        worker.end()
    end = time.monotonic() + seconds
    for worker in workers:
        worker.thread.join(max(0, end - time.monotonic()))
    return not any(worker.thread.is_alive() for worker in workers)


@atexit.register
def end_all():
    """A process that ends as it should says goodbye, so that the others do not take it for lost. One that ends by an error does
    not, but no thread may be within torch when the interpreter goes: that would abort the process. What sys.exit() was given is
    not known here, so the goodbye is not waited for as long as calls are: others may wait in a call for this rank, and miss it
    once the process has gone."""
    workers = list(LIVING)
    failed = hasattr(sys, "last_type")
    if failed:
        for worker in workers:
            worker.last = None
    end_within(SECONDS_AFTER_AN_ERROR if failed else SECONDS_TO_LEAVE, workers)
