# SPDX-License-Identifier: Apache-2.0
"""Runs callbacks of futures on threads that may wait. The calls that callbacks begin have the order of the calls that these
callbacks belong to."""
import queue
import sys
import threading

HERE = threading.local()  # .callbacks: the Callbacks that this thread runs
ORDER = threading.Condition()  # guards all lists of running callbacks
SECONDS_FOR_EARLIER = 1.0  # the longest wait for callbacks of earlier calls


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
        """tell(): runs the callbacks. begun_in: the Callbacks that began the call, or None. running: the list of all Callbacks of
        the group that run. Create these objects in the order of the calls."""
        self.tell, self.running, self.is_first = tell, [], False
        with ORDER:
            while begun_in is not None and not begun_in.among:
                begun_in = begun_in.begun_in
            self.begun_in = begun_in
            self.among = running if begun_in is None else begun_in.running
            self.among.append(self)

    def run(self):
        outer, HERE.callbacks = getattr(HERE, "callbacks", None), self
        try:
            self.tell()
        finally:
            HERE.callbacks = outer
            with ORDER:
                self.among.remove(self)
                self.among = None
                ORDER.notify_all()

    def wait_for_earlier(self):
        """Waits until the callbacks of earlier calls have ended, but at most SECONDS_FOR_EARLIER, because they may wait for this
        object's callbacks. After that time the order of calls is not guaranteed."""
        if self.begun_in is not None:
            self.begun_in.wait_for_earlier()
        with ORDER:
            if not self.is_first:
                ORDER.wait_for(lambda: self.among is None or self.among[0] is self, SECONDS_FOR_EARLIER)
            self.is_first = True


def wait_for_earlier():
    """Waits until this thread may begin a call. Returns the Callbacks that it runs, or None."""
    callbacks = getattr(HERE, "callbacks", None)
    if callbacks is not None:
        callbacks.wait_for_earlier()
    return callbacks
