# SPDX-License-Identifier: Apache-2.0
"""A thread that does one call after the other, so that all ranks' calls have one order."""
import atexit
import queue
import sys
import threading

import torch

LIVING = set()
SECONDS_TO_END = 1  # of a thread whose end nobody else waits for


class Worker:
    """Its calls are done in the order of submit(). A call that fails leaves the others to fail by themselves."""

    def __init__(self, name, last=None):
        """last(): what the thread does when it ends, which a process waits for."""
        self.calls = queue.SimpleQueue()
        self.last = last
        self.thread = threading.Thread(target=self.work, name=name, daemon=True)
        LIVING.add(self)
        self.thread.start()

    def submit(self, call):
        """A torch future of what call() returns: tensors."""
        future = torch.futures.Future()
        self.calls.put((call, future))
        return future

    def end(self):
        """After the calls so far the thread ends; does not wait for that."""
        self.calls.put((None, None))

    def work(self):
        while True:
            call, future = self.calls.get()
            if call is None:
                break
            try:
                with torch.no_grad():
                    result = call()
            except Exception as problem:  # pylint: disable=broad-except  # whatever it is, who waits is told
                future.set_exception(problem)
            else:
                future.set_result(result)
            del call, future  # what they hold is not kept until the next one comes
        try:
            if self.last is not None:
                self.last()
        finally:
            LIVING.discard(self)


@atexit.register
def end_all():
    """A process that ends as it should says goodbye, so that the others do not take it for lost. One that ends by an error does
    not, but no thread may be within torch when the interpreter goes: that would abort the process."""
    failed = hasattr(sys, "last_type")
    workers = list(LIVING)
    for worker in workers:
        if failed:
            worker.last = None
        worker.end()
    for worker in workers:
        worker.thread.join(None if worker.last is not None else SECONDS_TO_END)
