# SPDX-License-Identifier: Apache-2.0
"""A call under way, as torch sees it."""
import collections

from torch._C._distributed_c10d import Work as TorchWork

# torch in C++ keeps its own part of a work alone, which waits for ever once the part in Python has gone. So these stay until
# somebody has asked for their end; of works that nobody asks the last ones that are done.
MOST_UNASKED = 16
UNASKED = collections.OrderedDict()


class Work(TorchWork):
    """wait() raises what the call has raised; torch's own works of a future swallow it."""

    def __init__(self, worker, call):
        super().__init__()
        self._worker, self._call = worker, call
        UNASKED[id(self)] = self
        if len(UNASKED) > MOST_UNASKED:
            # Of a copy: meanwhile other threads begin works, and end them.
            for work in [work for work in list(UNASKED.values()) if work.is_completed()][:-MOST_UNASKED]:
                UNASKED.pop(id(work), None)

    def wait(self, timeout=None):  # pylint: disable=unused-argument  # the library has the group's
        UNASKED.pop(id(self), None)
        self._worker.wait(self._call)
        return True

    def get_future(self):
        """One that has failed, with the text of what the call raised, where that has."""
        UNASKED.pop(id(self), None)
        return self._call.future()

    def is_completed(self):
        return self._call.done()

    def is_success(self):
        return self._call.done() and self.exception() is None

    def exception(self):
        """What the call has raised; None before its end, and if it raised nothing."""
        try:
            if self._call.done():
                self._call.value()
        except Exception as problem:  # pylint: disable=broad-except
            return problem
        return None

    def result(self):
        return self._worker.wait(self._call)
