# SPDX-License-Identifier: Apache-2.0
"""Runs callbacks of futures on threads that may block. Calls made by callbacks run in the order of the calls whose callbacks they
are, so that all ranks have the same order."""
import queue
import sys
import threading
import traceback

import torch

from tutti.library import TuttiError

HERE = threading.local()  # .callbacks: the Callbacks that this thread runs
ORDER = threading.Condition()  # guards all lists of running callbacks
AFTER_A_DEADLINE = 4  # the code of a TuttiError


class Threads:
    """Runs each task at once, on an idle thread or a new one. Threads are kept for later tasks. So their number is the largest
    number of tasks that ran at the same time."""

    def __init__(self):
        self.tasks, self.change = queue.SimpleQueue(), threading.Condition()
        self.idle = self.running = 0

    def run(self, task):
        with self.change:
            self.running += 1
            self.idle -= 1
            is_short = self.idle < 0
            self.idle += is_short
        self.tasks.put(task)
        if is_short:
            threading.Thread(target=self.work, name="tutti callbacks", daemon=True).start()

    def work(self):
        while True:
            try:
                self.tasks.get()()
            except BaseException:  # pylint: disable=broad-except  # the thread is needed for the next tasks
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            finally:
                with self.change:
                    self.running -= 1
                    self.idle += 1
                    self.change.notify_all()

    def wait_for_all(self, seconds):
        """Returns whether all tasks have ended within this time."""
        with self.change:
            return self.change.wait_for(lambda: self.running == 0, seconds)


THREADS = Threads()


class Callbacks:
    """The callbacks of one call. They run as soon as the call has ended, also while callbacks of other calls run. But a call that
    they begin waits until the callbacks of earlier calls have ended. So all ranks begin the calls of callbacks in the same order.

    Callbacks may begin a call that has callbacks, too, and wait for those. So while the outer callbacks run, the inner ones count
    as part of them."""

    def __init__(self, tell, begun_in, running):
        """tell(): runs them. begun_in: the callbacks that began the call, or None. running: the list of those of the group's other
        calls. Create them in the order of the calls."""
        self.tell, self.running, self.thread = tell, [], None
        with ORDER:
            while begun_in is not None and not begun_in.among:
                begun_in = begun_in.begun_in
            self.begun_in = begun_in
            self.among = running if begun_in is None else begun_in.running
            self.among.append(self)

    def run(self):
        outer, HERE.callbacks = getattr(HERE, "callbacks", None), self
        self.thread = threading.get_ident()
        try:
            self.tell()
        finally:
            HERE.callbacks = outer
            with ORDER:
                self.among.remove(self)
                self.among = None
                ORDER.notify_all()

    def earlier(self):
        """Returns the first callbacks that must end before these may begin a call, or None. Needs ORDER."""
        if self.among and self.among[0] is not self:
            return self.among[0]
        return self.begun_in.earlier() if self.begun_in is not None else None


def wait_for_earlier(seconds, is_ending):
    """Waits until this thread may begin a call, or is_ending(). Returns the callbacks that it runs, or None. Raises TuttiError after
    these seconds: another rank may keep the order, so this one never begins its calls in another one."""
    callbacks = getattr(HERE, "callbacks", None)
    if callbacks is not None:
        with ORDER:
            if not ORDER.wait_for(lambda: is_ending() or callbacks.earlier() is None, min(seconds, threading.TIMEOUT_MAX / 2)):
                raise TuttiError(f"a callback cannot begin its call: a callback of an earlier call has not ended within {seconds:g} s, "
                                 f"it is at {place_of(callbacks.earlier().thread)}; do not wait in a callback for a callback of a later "
                                 "call that begins calls, or use a longer timeout of the group", AFTER_A_DEADLINE)
    return callbacks


def place_of(thread):
    """Returns file and line of the program that the thread is at, below which it may wait in Python's or torch's code."""
    frame = sys._current_frames().get(thread)
    places = [each for each in traceback.extract_stack(frame) if each.filename not in (threading.__file__, torch.futures.__file__)]
    return f"{places[-1].filename}:{places[-1].lineno}"
