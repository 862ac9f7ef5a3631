# SPDX-License-Identifier: Apache-2.0
"""The work object that torch gets for a call."""
import collections

from torch._C._distributed_c10d import Work as TorchWork

# torch's C++ code keeps only the C++ part of a work. That part never completes if the Python part is deleted. So works are kept
# here until the program waits for them. Of works that it never waits for, the latest completed ones are kept.
MOST_UNAWAITED = 16
UNAWAITED = collections.OrderedDict()


class Work(TorchWork):
    """wait() raises the error of the call. The works that torch makes from a future would swallow it."""

    def __init__(self, worker, call):
        super().__init__()
        self._worker, self._call = worker, call
        UNAWAITED[id(self)] = self
        if len(UNAWAITED) > MOST_UNAWAITED:
            # Iterates over a copy, because other threads begin and end works meanwhile.
            for work in [work for work in list(UNAWAITED.values()) if work.is_completed()][:-MOST_UNAWAITED]:
                UNAWAITED.pop(id(work), None)

    def wait(self, timeout=None):  # pylint: disable=unused-argument  # the library uses the timeout of the group
        UNAWAITED.pop(id(self), None)
        self._worker.wait(self._call)
        return True

    def get_future(self):
        """Returns a future. If the call raises an error, the future fails with the text of that error."""
        UNAWAITED.pop(id(self), None)
        return self._call.future()

    def is_completed(self):
        return self._call.done()

    def is_success(self):
        return self._call.done() and self.exception() is None

    def exception(self):
        """Returns the error of the call; None before its end or if there was none."""
        try:
            if self._call.done():
                self._call.value()
        except Exception as problem:  # pylint: disable=broad-except
            return problem
        return None

    def result(self):
        return self._worker.wait(self._call)
