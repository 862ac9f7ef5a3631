# SPDX-License-Identifier: Apache-2.0
"""Runs calls one after another, so that all ranks make them in the same order."""
import atexit
import collections
import queue
import sys
import threading
import time

import torch

from .callbacks import ORDER, THREADS, Callbacks, wait_for_earlier

LIVING = set()
SECONDS_TO_LEAVE = 10  # at exit: limit of the time to finish calls and to wait for the other ranks
SECONDS_AFTER_AN_ERROR = 1


class Call:
    """A call that a worker runs, and its outcome."""

    def __init__(self, function, begun_in):
        """function() returns tensors. begun_in: the Callbacks that begin this call, or None."""
        self.function, self.begun_in = function, begun_in
        self.end = torch.futures.Future()  # for threads that wait; it has no callbacks
        self.lock = threading.Lock()
        self.set_outcome = None  # after the call: set_outcome(future) completes a future
        self.shown = None  # a future that may have callbacks; made by future()
        self.callbacks = None

    def done(self):
        return self.end.done()

    def value(self):
        return self.end.value()

    def wait(self):
        return self.end.wait()

    def future(self):
        """Returns a future that may have callbacks. If the call raises an error, the future fails with the text of that error."""
        with self.lock:
            if self.shown is None:
                self.shown = torch.futures.Future()
                if self.set_outcome is not None:
                    self.set_outcome(self.shown)
        # torch's C++ code, such as DistributedDataParallel, takes an exception that Python sets as a value. It takes an
        # exception that a callback raises as a failure.
        return self.shown.then(lambda done: done.value())

    def do(self, running):
        """Does the call. Returns the exception that interrupted it, such as Ctrl-C, or None. running: the Callbacks of the
        worker's earlier calls."""
        interrupt = None
        try:
            with torch.no_grad():
                result = self.function()
            outcome = succeeding_with(result)
        except Exception as problem:  # pylint: disable=broad-except  # any error reaches the threads that wait
            outcome = failing_with(problem)
        except BaseException as problem:  # pylint: disable=broad-except  # Ctrl-C on a thread that waits
            interrupt = problem
            outcome = failing_with(RuntimeError(f"interrupted by {problem!r}"))
        self.function = None  # frees the tensors that it refers to
        with self.lock:
            self.set_outcome = outcome
            if self.shown is not None:  # a future that is requested later is complete at once
                self.callbacks = Callbacks(lambda: outcome(self.shown), self.begun_in, running)
        return interrupt


def succeeding_with(result):
    return lambda future: future.set_result(result)


def failing_with(problem):
    return lambda future: future.set_exception(problem)


class Worker:
    """Does its calls in the order of submit(), one at a time. A thread that waits for a call which has not begun does the calls
    up to that one itself if it can, because waking another thread takes longer than a small call. The worker's own thread does
    all other calls.

    Callbacks run where they may wait for other calls: on a thread of THREADS, or on the worker's own thread, while another thread
    does the calls. A call that fails does not cancel later calls."""

    def __init__(self, name, seconds=threading.TIMEOUT_MAX, last=None):
        """seconds: how long a call of a callback may wait for callbacks of earlier calls. last(): runs when the thread ends; the
        process waits for it."""
        self.calls = collections.deque()
        self.turn = threading.Lock()  # held by the thread that runs a call
        self.woken = queue.SimpleQueue()
        self.seconds, self.ending = seconds, False
        self.is_away = False  # its thread runs callbacks
        self.callbacks = []  # running ones, in the order of their calls
        self.last = last
        self.thread = threading.Thread(target=self.work, name=name, daemon=True)
        LIVING.add(self)
        self.thread.start()

    def submit(self, function):
        """Submits a call of function(), which returns tensors. Raises RuntimeError after end(), and TuttiError after `seconds`."""
        begun_in = wait_for_earlier(self.seconds, lambda: self.ending)
        if self.ending:
            raise RuntimeError("the process group has ended")
        call = Call(function, begun_in)
        self.calls.append(call)
        self.wake()
        return call

    def wait(self, call):
        """Returns the value of a submitted call, or raises the error of that call."""
        try:
            self.help(call)
        finally:
            if self.calls or self.ending:  # the worker's thread may have found the turn taken
                self.wake()
        return call.wait()

    def end(self):
        """Lets the thread end after the submitted calls. Does not wait for it."""
        with ORDER:
            self.ending = True
            ORDER.notify_all()
        self.woken.put(None)

    def wake(self):
        if self.is_away:
            THREADS.run(self.stand_in)
        else:
            self.woken.put(None)

    def help(self, wanted=None):
        """Does calls until do_next() finds none to do. Other threads run their callbacks."""
        while call := self.do_next(wanted):
            if call.callbacks is not None:
                THREADS.run(call.callbacks.run)

    def stand_in(self):
        """Does the calls while the worker's thread runs callbacks."""
        self.help()
        while self.calls and not self.turn.locked():  # a call came after the last check, while the turn was taken
            self.help()
        if self.ending:
            self.woken.put(None)

    def do_next(self, wanted=None):
        """Does the next call and returns it. The caller must then run its callbacks. Returns None if there is no call, or another
        thread does one; that thread will also do the next one. Also returns None if the call `wanted` has begun: a thread that
        waits for it must not do a later call, which could block for ever."""
        if not self.turn.acquire(blocking=False):
            return None
        try:
            if not self.calls or (wanted is not None and wanted not in tuple(self.calls)):
                return None
            call = self.calls.popleft()
            interrupt = call.do(self.callbacks)
        finally:
            self.turn.release()
        call.set_outcome(call.end)
        if interrupt is not None:
            if call.callbacks is not None:
                THREADS.run(call.callbacks.run)
            raise interrupt
        return call

    def work(self):
        while not self.ending or self.calls:
            self.woken.get()
            while call := self.do_next():
                if call.callbacks is not None:
                    self.run_here(call.callbacks)
        try:
            self.turn.acquire()  # never released, so that no call runs after the end  # pylint: disable=consider-using-with
            if self.last is not None:
                self.last()
        finally:
            LIVING.discard(self)

    def run_here(self, callbacks):
        """Runs callbacks on the worker's thread. This is faster than waking another thread."""
        self.is_away = True
        try:
            if self.calls:
                THREADS.run(self.stand_in)
            callbacks.run()
        finally:
            self.is_away = False


def end_within(seconds, workers):
    """Ends the workers. Returns whether all threads have ended within this time."""
    for worker in workers:
        worker.end()
    end = time.monotonic() + seconds
    for worker in workers:
        worker.thread.join(max(0, end - time.monotonic()))
    return not any(worker.thread.is_alive() for worker in workers)


@atexit.register
def end_all():
    """At a normal exit, tells the other ranks, so that they do not treat this rank as failed. After an error it does not. In both
    cases no thread may run torch code when the interpreter exits, as that would abort the process. The exit code is unknown here:
    after sys.exit(1), other ranks may still wait in a call for this rank. So the time to wait for them is limited; when the process
    has ended, they notice."""
    workers = list(LIVING)
    failed = hasattr(sys, "last_type")
    if failed:
        for worker in workers:
            worker.last = None
    seconds = SECONDS_AFTER_AN_ERROR if failed else SECONDS_TO_LEAVE
    end = time.monotonic() + seconds
    end_within(seconds, workers)
    THREADS.wait_for_all(end - time.monotonic())
