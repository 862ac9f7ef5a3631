# SPDX-License-Identifier: Apache-2.0
"""Loads libtutti_c.so by ctypes, which releases the GIL during each call."""
import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_void_p
from pathlib import Path

ABI = 1  # TUTTI_C_ABI_VERSION
NAME = f"libtutti_c.so.{ABI}"
IN_PLACE = c_void_p(-1)

INT8, INT16, INT32, INT64, UINT8, HALF, BFLOAT16, FLOAT, DOUBLE = 0, 1, 2, 3, 4, 8, 9, 10, 11
SUM, PROD, MIN, MAX, AVG = range(5)


class TuttiError(RuntimeError):
    """An error of a call, with one line of text. `code`: 4 for a timeout, 5 for a failed rank, 64 for wrong use."""

    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


class Options(ctypes.Structure):
    """tutti_options"""

    _fields_ = [("bytes", c_size_t), ("deadline", c_double), ("job", c_char_p), ("table", c_char_p),
                ("listening_socket", c_int), ("background", c_int)]


def candidates():
    """Returns where to look for the library: TUTTI_C_LIBRARY, else next to the installed package, else the loader's search path."""
    if named := os.environ.get("TUTTI_C_LIBRARY"):
        return [named]
    above = Path(__file__).resolve().parents
    nearby = [str(path) for prefix in above[2:5] for folder in ("lib", "lib64") for path in
              [prefix / folder / NAME, *sorted((prefix / folder).glob(f"*-linux-*/{NAME}"))] if path.exists()]
    return [*nearby, NAME]


def load():
    problems = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as problem:
            problems.append(str(problem))
    else:
        raise ImportError(f"{NAME} not found ({'; '.join(problems)}); install libtutti, or set TUTTI_C_LIBRARY to its path")
    if (found := library.tutti_abi_version()) != ABI:
        raise ImportError(f"{library._name} has version {found} of the C interface, tutti_torch needs {ABI}")
    declare(library)
    return library


def declare(library):
    """Declares the parameter types of all functions, because ctypes would pass integers as int."""
    moves = [c_void_p, c_void_p, c_void_p, c_size_t, c_int]
    arguments = {
        "comm_create": [c_char_p, c_int, c_int, POINTER(Options), POINTER(c_void_p)],
        "all_reduce": [*moves, c_int], "reduce_scatter": [*moves, c_int], "reduce": [*moves, c_int, c_int],
        "broadcast": [c_void_p, c_void_p, c_size_t, c_int, c_int],
        "all_gather": moves, "all_to_all": moves, "gather": [*moves, c_int], "scatter": [*moves, c_int],
        "barrier": [c_void_p], "send": [c_void_p, c_void_p, c_size_t, c_int, c_int],
        "receive": [c_void_p, c_void_p, c_size_t, c_int, c_int],
    }
    for name, types in arguments.items():
        function = getattr(library, "tutti_" + name)
        function.argtypes, function.restype = types, c_int
    library.tutti_comm_free.argtypes, library.tutti_comm_free.restype = [c_void_p], None
    library.tutti_last_error.restype = c_char_p


LIBRARY = load()


def call(name, *arguments):
    """tutti_<name>(*arguments). Raises TuttiError."""
    code = getattr(LIBRARY, "tutti_" + name)(*arguments)
    if code != 0:
        raise TuttiError(LIBRARY.tutti_last_error().decode(errors="replace"), code)


def communicator(address, rank, size, *, deadline, job, listening_socket=-1):
    """Returns the handle of a communicator. deadline: in seconds. listening_socket: on rank 0, a socket that the library takes over."""
    options = Options(ctypes.sizeof(Options), deadline, job.encode(), None, listening_socket, background=1)
    made = c_void_p()
    call("comm_create", address.encode(), rank, size, byref(options), byref(made))
    return made


def free(handle):
    """Frees a communicator. Waits for the other ranks, unless a call has failed."""
    LIBRARY.tutti_comm_free(handle)
