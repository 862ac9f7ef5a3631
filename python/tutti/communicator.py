# SPDX-License-Identifier: Apache-2.0
"""Collectives of Python programs, over the C interface of the library."""
from __future__ import annotations

import atexit
import ctypes
import enum
import os
import sys
from ctypes import byref, c_int, c_size_t, c_void_p
from operator import index
from typing import TYPE_CHECKING, Any, Generic, Iterable, Optional, Protocol, SupportsIndex, Tuple, TypeVar, Union

from . import library
from .buffers import READERS, Address, bytes_of, describe, read, read_array, view_of
from .library import LIBRARY, TuttiError

if TYPE_CHECKING:
    from typing_extensions import Buffer

Result = TypeVar("Result")


class SupportsDLPack(Protocol):
    """A tensor in host memory, for example of torch."""

    def __dlpack__(self) -> Any: ...

    def __dlpack_device__(self) -> Tuple[int, int]: ...


Data = Union["Buffer", SupportsDLPack]
Counts = Iterable[SupportsIndex]


class Op(enum.IntEnum):
    """How numbers are reduced. AVG is the sum divided by the number of ranks; integers truncate towards zero."""

    SUM = library.SUM
    PROD = library.PROD
    MIN = library.MIN
    MAX = library.MAX
    AVG = library.AVG


class InPlace(enum.Enum):
    """The type of IN_PLACE."""

    IN_PLACE = "in place"


IN_PLACE = InPlace.IN_PLACE
Output = Union[Data, InPlace]

WAIT, TEST, UINT8 = LIBRARY.tutti_wait, LIBRARY.tutti_test, library.UINT8

LIVING = set()  # communicators that were not freed
FINALISERS = []  # MPI_Finalize, if this module has initialised MPI
ABANDONED = []  # buffers of failed calls: a late rank may still write there


def failure(code, arguments):
    """Returns the error of a call. arguments: first the handle of the communicator."""
    if arguments[0].value is None:
        return TuttiError("the communicator was freed; make the call before free()", code)
    if code != library.USAGE:
        ABANDONED.append(arguments)
    return library.error(code)


class Collectives(Generic[Result]):
    """The collectives. `Communicator` has them as blocking calls, its `start` as calls that go on while the program computes, and
    its `prepare` as calls that are checked once and made many times.

    All ranks make the same calls in the same order, with the same types, lengths, operations and roots; all in place or none.
    With P ranks, a vector or block has n elements of any shape. Calls that end with _v have blocks of different lengths, side by
    side in rank order: counts are sequences of P numbers of elements. Data is a numpy array, any object with a writable buffer
    (array.array, bytearray), or a CPU tensor with DLPack, for example of torch. It must be contiguous. Elements are integers
    of 1 to 8 bytes, float16, float32, float64 or bfloat16; calls that do not reduce accept any elements of fixed size.

    Raises TypeError or ValueError for data that cannot be used, and TuttiError for all other errors."""

    def __init__(self, handle: c_void_p, rank: int, size: int, pending: dict) -> None:
        self._handle, self._rank, self._size, self._pending = handle, rank, size, pending

    def _do(self, form, data, output=IN_PLACE, op=Op.SUM, root=0, counts=None) -> Result:
        """Makes, starts or prepares the call. counts: a tuple, if blocks have different lengths."""
        raise NotImplementedError

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._size

    def all_reduce(self, data: Data, output: Output = IN_PLACE, op: Op = Op.SUM) -> Result:
        """Reduces the ranks' vectors; every rank gets the result. data: n, output: n."""
        return self._do(ALL_REDUCE, data, output, op)

    def reduce_scatter(self, data: Data, output: Output = IN_PLACE, op: Op = Op.SUM) -> Result:
        """Reduces the ranks' vectors; rank r gets block r of the result. data: P n, output: n. In place, the result is block `rank`
        of data."""
        return self._do(REDUCE_SCATTER, data, output, op)

    def all_gather(self, data: Data, output: Output = IN_PLACE) -> Result:
        """Every rank gets the blocks of all ranks, in rank order. data: n, output: P n. In place, data has P n elements, of which
        block `rank` is the input."""
        return self._do(ALL_GATHER, data, output)

    def all_to_all(self, data: Data, output: Output = IN_PLACE) -> Result:
        """Block r of this rank's data becomes block `rank` of rank r's output. data: P n, output: P n."""
        return self._do(ALL_TO_ALL, data, output)

    def broadcast(self, data: Data, root: int = 0) -> Result:
        """Every rank gets the root's vector. data: n; the root's may be read-only."""
        return self._do(BROADCAST, data, IN_PLACE, Op.SUM, root)

    def reduce(self, data: Data, output: Optional[Output] = IN_PLACE, op: Op = Op.SUM, root: int = 0) -> Result:
        """Reduces the ranks' vectors; the root gets the result. data: n, output: n on the root, None on other ranks. In place, data
        is overwritten on all ranks."""
        return self._do(REDUCE, data, output, op, root)

    def gather(self, data: Data, output: Optional[Output] = IN_PLACE, root: int = 0) -> Result:
        """The root gets the blocks of all ranks, in rank order. data: n, output: P n on the root, None on other ranks. In place,
        the root's data has P n elements, of which block `root` is the input."""
        return self._do(GATHER, data, output, Op.SUM, root)

    def scatter(self, data: Optional[Data], output: Output = IN_PLACE, root: int = 0) -> Result:
        """Rank r gets block r of the root's vector. data: P n on the root, None on other ranks; output: n. In place, the root's
        block stays in its data, and the other ranks receive their blocks in `data`."""
        return self._do(SCATTER, data, output, Op.SUM, root)

    def scan(self, data: Data, output: Output = IN_PLACE, op: Op = Op.SUM) -> Result:
        """Reduces the vectors of ranks 0 to `rank`. data: n, output: n."""
        return self._do(SCAN, data, output, op)

    def exscan(self, data: Data, output: Optional[Output] = IN_PLACE, op: Op = Op.SUM) -> Result:
        """Reduces the vectors of the ranks before `rank`. data: n, output: n; rank 0's output stays as it is and may be None."""
        return self._do(EXSCAN, data, output, op)

    def all_gather_v(self, data: Data, output: Output, counts: Counts) -> Result:
        """all_gather with blocks of different lengths. counts: the elements of each rank's block, the same on all ranks. data:
        counts[rank], output: their sum. In place (output=IN_PLACE), data has all blocks, of which block `rank` is the input."""
        return self._do(ALL_GATHER_V, data, output, counts=(counts,))

    def reduce_scatter_v(self, data: Data, output: Output, counts: Counts, op: Op = Op.SUM) -> Result:
        """reduce_scatter with blocks of different lengths. counts: the elements of each rank's block, the same on all ranks. data:
        their sum, output: counts[rank]. In place, the result is block `rank` of data."""
        return self._do(REDUCE_SCATTER_V, data, output, op, counts=(counts,))

    def all_to_all_v(self, data: Data, output: Output, sent: Counts, received: Optional[Counts] = None) -> Result:
        """all_to_all with blocks of different lengths. sent, received: the elements that this rank sends to each rank and receives
        from it; None: as many as it sends, as always in place. data: the sum of sent, output: the sum of received."""
        return self._do(ALL_TO_ALL_V, data, output, counts=(sent, received))

    def gather_v(self, data: Data, output: Optional[Output], counts: Optional[Counts], root: int = 0) -> Result:
        """gather with blocks of different lengths. data: this rank's block, of any length. On the root, output has all blocks, and
        counts are their elements; both are None on other ranks. In place, the root's data has all blocks, of which block `root`
        is the input."""
        return self._do(GATHER_V, data, output, Op.SUM, root, (counts,))

    def scatter_v(self, data: Optional[Data], output: Output, counts: Optional[Counts], root: int = 0) -> Result:
        """scatter with blocks of different lengths. On the root, data has all blocks, and counts are their elements; both are None
        on other ranks. output: this rank's block, of any length. In place, the root's block stays in its data, and the other
        ranks receive their blocks in `data`."""
        return self._do(SCATTER_V, data, output, Op.SUM, root, (counts,))


class Form:
    """A collective: its blocking and its started function of the library, and a function that returns their arguments."""

    def __init__(self, arguments):
        self.run, self.start = (getattr(LIBRARY, prefix + arguments.__name__) for prefix in ("tutti_", "tutti_start_"))
        self._arguments = arguments

    def arguments(self, ranks, data, output, op, root, counts=None):
        return (ranks._handle, *self._arguments(ranks, data, output, op, as_int(root, "root"), *(counts or ())))


def all_reduce(_ranks, data, output, op, _root):
    return *both(data, output, 1, 1, True), operation(op)


def reduce_scatter(ranks, data, output, op, _root):
    return *both(data, output, ranks.size, 1, True), operation(op)


def all_gather(ranks, data, output, _op, _root):
    return both(data, output, 1, ranks.size, False)


def all_to_all(ranks, data, output, _op, _root):
    return both(data, output, ranks.size, ranks.size, False)


def broadcast(ranks, data, _output, _op, root):
    return *moved(*read(data, root != ranks.rank)), root


def reduce(ranks, data, output, op, root):
    if output is IN_PLACE or root == ranks.rank:
        return *both(data, output, 1, 1, True), operation(op), root
    source, count, kind = read(data, False)
    check_numbers(kind)
    return source, address_if_any(output), count, kind, operation(op), root


def scan(_ranks, data, output, op, _root):
    return *both(data, output, 1, 1, True), operation(op)


def exscan(ranks, data, output, op, _root):
    if output is IN_PLACE or ranks.rank > 0:
        return *both(data, output, 1, 1, True), operation(op)
    source, count, kind = read(data, False)
    check_numbers(kind)
    return source, address_if_any(output), count, kind, operation(op)


def gather(ranks, data, output, _op, root):
    if root == ranks.rank:
        return *both(data, output, 1, ranks.size, False), root
    source, count, kind = moved(*read(data, False))
    if output is IN_PLACE:
        return library.IN_PLACE, source, count, kind, root
    return source, address_if_any(output), count, kind, root


def scatter(ranks, data, output, _op, root):
    if root == ranks.rank:
        return *both(data, output, ranks.size, 1, False), root
    source, target = (library.IN_PLACE, data) if output is IN_PLACE else (address_if_any(data), output)
    return source, *moved(*read(target, True)), root


def all_gather_v(ranks, data, output, _op, _root, counts):
    numbers = numbers_of(counts, ranks)
    source, target, kind = both_of_lengths(data, numbers[ranks.rank], output, sum(numbers))
    return source, target, *moved_blocks(kind, numbers)


def reduce_scatter_v(ranks, data, output, op, _root, counts):
    numbers = numbers_of(counts, ranks)
    source, target, kind = both_of_lengths(data, sum(numbers), output, numbers[ranks.rank])
    check_numbers(kind)
    return source, target, *moved_blocks(kind, numbers), operation(op)


def all_to_all_v(ranks, data, output, _op, _root, sent, received):
    sent = numbers_of(sent, ranks)
    received = sent if received is None else numbers_of(received, ranks)
    source, target, kind = both_of_lengths(data, sum(sent), output, sum(received))
    return source, target, moved_blocks(kind, sent)[0], *moved_blocks(kind, received)


def gather_v(ranks, data, output, _op, root, counts):
    if root == ranks.rank:
        numbers = numbers_of(counts, ranks)
        source, target, kind = both_of_lengths(data, numbers[root], output, sum(numbers))
        return source, target, moved(None, numbers[root], kind)[1], *moved_blocks(kind, numbers), root
    source, count, kind = moved(*read(data, False))
    if output is IN_PLACE:
        return library.IN_PLACE, source, count, None, kind, root
    return source, address_if_any(output), count, None, kind, root


def scatter_v(ranks, data, output, _op, root, counts):
    if root == ranks.rank:
        numbers = numbers_of(counts, ranks)
        source, target, kind = both_of_lengths(data, sum(numbers), output, numbers[root])
        return source, target, moved(None, numbers[root], kind)[1], *moved_blocks(kind, numbers), root
    source, target = (library.IN_PLACE, data) if output is IN_PLACE else (address_if_any(data), output)
    target, count, kind = moved(*read(target, True))
    return source, target, count, None, kind, root


ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL = Form(all_reduce), Form(reduce_scatter), Form(all_gather), Form(all_to_all)
BROADCAST, REDUCE, GATHER, SCATTER = Form(broadcast), Form(reduce), Form(gather), Form(scatter)
SCAN, EXSCAN = Form(scan), Form(exscan)
ALL_GATHER_V, REDUCE_SCATTER_V, ALL_TO_ALL_V = Form(all_gather_v), Form(reduce_scatter_v), Form(all_to_all_v)
GATHER_V, SCATTER_V = Form(gather_v), Form(scatter_v)


def numbers_of(counts, ranks):
    """Returns the counts of elements as a list of one int for each rank."""
    if counts is None:
        raise ValueError(f"the counts are None; use a sequence of {ranks.size} numbers, one for each rank")
    numbers = [index(count) for count in counts]
    if len(numbers) != ranks.size or any(number < 0 for number in numbers):
        raise ValueError(f"the counts are {numbers}; use {ranks.size} numbers from 0 on, one for each rank")
    return numbers


def both_of_lengths(data, length, output, output_length):
    """Returns the addresses of an input and an output of these lengths, and their type. In place, one buffer has the longer one."""
    if output is IN_PLACE:
        source, length = library.IN_PLACE, max(length, output_length)
        target, found, kind = read(data, True)
    else:
        source, found, kind = read(data, False)
        target, output_found, output_kind = read(output, True)
        if (output_found, output_kind) != (output_length, kind):
            raise ValueError(f"the output has {describe(output_found, output_kind)}; these counts need {describe(output_length, kind)}")
    if found != length:
        raise ValueError(f"the data has {describe(found, kind)}; these counts need {length}")
    return source, target, kind


def moved_blocks(kind, numbers):
    """Returns the counts as an array of C, and the type. Replaces elements that cannot be reduced by bytes."""
    bytes_each, kind = (1, kind) if kind >= 0 else (-kind, UINT8)
    return (c_size_t * len(numbers))(*(number * bytes_each for number in numbers)), kind


def both(data, output, blocks_in, blocks_out, reduces):
    """Returns the addresses of the input and the output, the length of a block, and the type. The input has blocks_in blocks."""
    if output is IN_PLACE:
        source = library.IN_PLACE
        target, length, kind = read(data, True)
        blocks = blocks_in if blocks_in > blocks_out else blocks_out
        count = length // blocks
        if count * blocks != length:
            raise not_in_blocks(length, kind, blocks)
    else:
        source, length, kind = read(data, False)
        target, other_length, other_kind = read(output, True)
        count = length // blocks_in
        if kind != other_kind or count * blocks_in != length or count * blocks_out != other_length:
            raise lengths_differ((length, kind, blocks_in), (other_length, other_kind, blocks_out))
    if kind >= 0:
        return source, target, count, kind
    if reduces:
        check_numbers(kind)
    return source, *moved(target, count, kind)


def as_int(number, name):
    """Returns the number. Raises ValueError if it would become another one as an int of C."""
    value = index(number)
    if not -2**31 <= value < 2**31:
        raise ValueError(f"{name} {value} is out of range; use a number of at most 31 bits")
    return value


def moved(address, count, kind):
    """Replaces elements that cannot be reduced by bytes."""
    return (address, count, kind) if kind >= 0 else (address, count * -kind, UINT8)


def operation(op):
    if op.__class__ is Op:  # fast
        return op
    try:
        return Op(op)
    except ValueError:
        raise ValueError(f"unknown operation {op!r}; use tutti.Op.{', tutti.Op.'.join(Op.__members__)}") from None


def check_numbers(kind):
    if kind < 0:
        raise TypeError(f"{-kind}-byte elements that are neither integers nor floats cannot be reduced; use integers, float16, "
                        "float32, float64 or bfloat16, such as array.view(numpy.float64) for complex128 or view(numpy.uint8) for bool")


def lengths_differ(data, output):
    (length, kind, blocks_in), (other_length, other_kind, blocks_out) = data, output
    if length % blocks_in:
        return not_in_blocks(length, kind, blocks_in)
    return ValueError(f"the output has {describe(other_length, other_kind)} for data of {describe(length, kind)}; use an output of "
                      f"{describe(length // blocks_in * blocks_out, kind)}")


def not_in_blocks(length, kind, blocks):
    return ValueError(f"{describe(length, kind)} cannot be cut into {blocks} equal blocks; use a multiple of {blocks}")


def address_if_any(data):
    """Returns the address of a buffer that this rank does not use. In memory of allocate() the library needs it."""
    return None if data is None else read(data, False)[0]


# A communicator remembers calls with arrays of up to MOST_BYTES_KNOWN.
CALLS_UNTIL_KNOWN, MOST_KNOWN, MOST_BYTES_KNOWN = 8, 32, 65536


def known_call(form, data, output, op, root, arguments):
    """Returns what identifies a call with small numpy arrays, which it keeps alive. Returns a negative number of calls for other data,
    so that it takes a million calls until they are examined again."""
    arrays = (data,) if output is IN_PLACE else (data, output)
    if (any(READERS.get(type(array)) is not read_array or array.nbytes > MOST_BYTES_KNOWN for array in arrays)
            or not arrays[-1].flags.carray or any(isinstance(each, Address) for each in arguments)):
        return -1_000_000
    return output, op, root, data.dtype, data.size, arrays[-1], arrays[-1].size, converted(form, arguments)


class Request:
    """A call that goes on while the program computes. Do not touch its buffers until it is complete. A request that is dropped waits
    for it."""

    __slots__ = ("_request", "_pending")

    def __init__(self, pending, start, arguments):
        self._request, self._pending = c_void_p(), pending
        code = start(*arguments, byref(self._request))
        if code != 0:
            raise failure(code, arguments)
        pending[id(self._request)] = self._request, arguments  # keeps the buffers alive

    def wait(self) -> None:
        """Waits until the call is complete. Raises TuttiError if it fails. Returns at once if the call has ended."""
        self._end(WAIT(byref(self._request)))

    def test(self) -> bool:
        """Makes progress on all pending calls. Returns whether this one is complete. Raises TuttiError if it fails, but knows no
        deadline."""
        done = c_int()
        code = TEST(byref(self._request), byref(done))
        if done.value != 0 or code != 0:
            self._end(code)
        return done.value != 0

    def _end(self, code):
        ended = self._pending.pop(id(self._request), None)
        if code != 0:
            raise failure(code, ended[1])

    def __del__(self, is_finalizing=sys.is_finalizing):
        if self._request.value is not None and not is_finalizing():  # after an error, see free_all()
            try:
                self.wait()
            except TuttiError:  # the next call of the communicator raises it
                pass


class PreparedCall:
    """A call whose arguments were checked once. It keeps its buffers alive, and arrays cannot be resized meanwhile."""

    __slots__ = ("_run", "_start", "_arguments", "_pending")

    def __init__(self, pending, form, arguments):
        self._pending, self._run, self._start = pending, form.run, form.start
        self._arguments = converted(form, arguments)

    def __call__(self) -> None:
        """Makes the call, with what the buffers contain now."""
        code = self._run(*self._arguments)
        if code != 0:
            raise failure(code, self._arguments)

    def start(self) -> Request:
        """Starts the call."""
        return Request(self._pending, self._start, self._arguments)


def converted(form, arguments):
    """Returns the arguments as objects of ctypes, which it then need not make at each call."""
    return tuple(kind(value) if isinstance(value, int) else value for kind, value in zip(form.run.argtypes, arguments))


class StartedCalls(Collectives[Request]):
    """Collectives that return at once."""

    def barrier(self) -> Request:
        """Its request is complete when all ranks have started it."""
        return Request(self._pending, LIBRARY.tutti_start_barrier, (self._handle,))

    def _do(self, form, data, output=IN_PLACE, op=Op.SUM, root=0, counts=None):
        return Request(self._pending, form.start, form.arguments(self, data, output, op, root, counts))


class PreparedCalls(Collectives[PreparedCall]):
    """Collectives that are only prepared."""

    def _do(self, form, data, output=IN_PLACE, op=Op.SUM, root=0, counts=None):
        return PreparedCall(self._pending, form, form.arguments(self, data, output, op, root, counts))


class Communicator(Collectives[None]):
    """Collectives among the ranks of a program. Each call uses the best algorithm for its size.

        with tutti.Communicator.over_rendezvous("tcp://node3:29500", rank, size) as ranks:
            ranks.all_reduce(array)                                 # in place
            ranks.all_gather(block, blocks)                         # out of place
            ranks.broadcast(array, root=1)
            request = ranks.start.all_reduce(array, op=tutti.Op.MAX)
            request.wait()                                          # or request.test()
            step = ranks.prepare.all_reduce(array)
            step()                                                  # faster for small arrays

    Options of the class methods must be equal on all ranks, except `background`. deadline: timeout in seconds for waiting for
    another rank. table: a file of `tutti tune`, which rank 0 reads. background: other threads of the process compute during the
    calls, so waiting ranks sleep soon. One thread at a time may use a communicator, except for send and receive.

    Until free(), a communicator refers to the small arrays of repeated calls, so these cannot be resized in place.

    At the end of a `with` block the ranks wait for each other; after an exception they do not. A program that ends normally frees
    all of its communicators."""

    def __init__(self, handle: c_void_p) -> None:
        """Use the class methods instead. handle: a tutti_comm of the C interface, which this object takes over."""
        pending: dict = {}
        shared = handle, LIBRARY.tutti_comm_rank(handle), LIBRARY.tutti_comm_size(handle), pending
        super().__init__(*shared)
        self._known: dict = {}  # by collective and id of an array
        #: The collectives as calls that return a Request at once.
        self.start = StartedCalls(*shared)
        #: The collectives as calls that are checked once and made many times.
        self.prepare = PreparedCalls(*shared)
        LIVING.add(self)

    @classmethod
    def over_rendezvous(cls, address: str, rank: int, size: int, *, job: Optional[str] = None, listening_socket: int = -1,
                        deadline: float = 30.0, table: Union[str, os.PathLike, None] = None, background: bool = False) -> Communicator:
        """Connects `size` processes at `address` ("tcp://HOST:PORT"), where rank 0 listens. job: an id that differs between jobs.
        listening_socket: on rank 0, the number of a socket that already listens, for example socket.detach()."""
        return cls(library.create("", library.as_c_string(address), as_int(rank, "rank"), as_int(size, "size"), job=job,
                                  listening_socket=listening_socket, deadline=deadline, table=table, background=background))

    @classmethod
    def from_environment(cls, *, job: Optional[str] = None, deadline: float = 30.0, table: Union[str, os.PathLike, None] = None,
                         background: bool = False) -> Communicator:
        """Connects processes with address, rank and size from the environment of torchrun or srun. Options: see over_rendezvous()."""
        return cls(library.create("_from_environment", job=job, deadline=deadline, table=table, background=background))

    @classmethod
    def over_mpi(cls, comm: Any = None, *, deadline: float = 30.0, table: Union[str, os.PathLike, None] = None,
                 background: bool = False) -> Communicator:
        """Uses the ranks of an MPI communicator. comm: a communicator of mpi4py, or an integer (Fortran) handle. The default is all
        ranks of mpirun, and needs no mpi4py: MPI is initialised if necessary, and finalised when the program ends."""
        return cls(library.create("_over_mpi", handle_of(comm), deadline=deadline, table=table, background=background))

    @classmethod
    def self(cls, *, deadline: float = 30.0, table: Union[str, os.PathLike, None] = None) -> Communicator:
        """Creates a communicator of one rank."""
        return cls(library.create("_self", deadline=deadline, table=table))

    def _do(self, form, data, output=IN_PLACE, op=Op.SUM, root=0, counts=None):
        # The arguments of repeated calls with small arrays are known. The comparisons find what a program can change in an array.
        place = form, id(data)
        known = self._known.get(place, 0)
        if known.__class__ is tuple:
            other, known_op, known_root, dtype, size, target, length, arguments = known
            if (other is output and known_op is op and known_root == root and data.dtype is dtype and data.size == size
                    and target.dtype is dtype and target.size == length and target.flags.carray):
                code = form.run(*arguments)
                if code != 0:
                    raise failure(code, arguments)
                return
        arguments = form.arguments(self, data, output, op, root, counts)
        code = form.run(*arguments)
        if code != 0:
            raise failure(code, arguments)
        if counts is not None:
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        if known == CALLS_UNTIL_KNOWN:
            self._known[place] = known_call(form, data, output, op, root, arguments)
        else:  # counts calls, because an array may live for one call
            self._known[place] = 1 if known.__class__ is tuple else known + 1

    def barrier(self) -> None:
        """Returns when all ranks have entered it."""
        self._call(LIBRARY.tutti_barrier)

    def send(self, data: Data, to: int, tag: int = 0) -> None:
        """Sends data to another rank of a rendezvous, which receives as many bytes with the same tag. Returns when the data may be
        changed. Other threads may make other calls meanwhile."""
        self._message(LIBRARY.tutti_send, read(data, False), to, tag)

    def receive(self, data: Data, source: int, tag: int = 0) -> None:
        """Receives data from another rank, see send()."""
        self._message(LIBRARY.tutti_receive, read(data, True), source, tag)

    def _message(self, function, message, peer, tag):
        address, count, kind = message
        self._call(function, address, bytes_of(count, kind), as_int(peer, "rank"), as_int(tag, "tag"))

    def _call(self, function, *arguments):
        code = function(self._handle, *arguments)
        if code != 0:
            raise failure(code, (self._handle, *arguments))

    def allocate(self, size: int) -> memoryview:
        """Allocates zeroed bytes that all ranks of a host can access directly: the fastest buffers within a host. Collective, with
        the same size on all ranks. In a call, all ranks pass parts of the same allocation. Valid until release() or free().

            values = numpy.frombuffer(ranks.allocate(8 * n), dtype=numpy.float64)"""
        if index(size) < 0:
            raise ValueError(f"size {size} is negative; use a number of bytes from 0 on")
        address = c_void_p()
        self._call(LIBRARY.tutti_allocate, index(size), byref(address))
        return view_of(address, size)

    def release(self, memory: Data) -> None:
        """Frees memory of allocate(), which must be passed whole and not be used any more. Collective."""
        address, count, kind = read(memory, True)
        self._call(LIBRARY.tutti_free, address, bytes_of(count, kind))

    def free(self) -> None:
        """Waits for pending calls and for the other ranks, unless a call has failed. Afterwards all calls raise TuttiError."""
        for request, arguments in list(self._pending.values()):
            if WAIT(byref(request)) != 0:
                ABANDONED.append(arguments)
        self._pending.clear()
        self._known.clear()
        LIVING.discard(self)
        handle, self._handle.value = c_void_p(self._handle.value), None
        library.free(handle)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.free()

    def __repr__(self) -> str:
        return f"<tutti.Communicator, rank {self._rank} of {self._size}>"


def handle_of(comm):
    """Returns the integer handle of an MPI communicator. None: all ranks of mpirun."""
    if comm is None:
        initialise_mpi()
        return library.MPI_COMM_WORLD
    if isinstance(comm, int):
        return comm
    if not hasattr(comm, "py2f"):
        raise TypeError(f"{type(comm).__name__} is not a communicator; use one of mpi4py, an integer handle, or None for all ranks of mpirun")
    if mpi := sys.modules.get("mpi4py.MPI"):
        check_same_mpi(mpi)
    return comm.py2f()


def initialise_mpi():
    """Initialises the MPI library that tutti uses. Does nothing in a build without MPI, where creating the communicator fails."""
    if hasattr(LIBRARY, "MPI_Init") and not is_true(LIBRARY.MPI_Initialized):
        LIBRARY.MPI_Init(None, None)
        FINALISERS.append(LIBRARY.MPI_Finalize)


def is_true(function):
    flag = c_int()
    function(byref(flag))
    return flag.value != 0


def check_same_mpi(mpi):
    """Raises ValueError if mpi4py uses another MPI library than tutti, which could not use its handles."""
    if not hasattr(LIBRARY, "MPI_Get_library_version"):
        return
    text = ctypes.create_string_buffer(8192)
    LIBRARY.MPI_Get_library_version(text, byref(c_int()))
    ours, theirs = (each.strip("\0 \n").split("\n")[0] for each in (text.value.decode(), mpi.Get_library_version()))
    if ours != theirs:
        raise ValueError(f"mpi4py uses '{theirs}', but tutti '{ours}'; install both for the same MPI library, or use over_rendezvous")


@atexit.register
def free_all():
    """At a normal exit, waits for the other ranks, so that they do not treat this rank as failed. After an error, they notice when
    the process has ended; under mpirun, the launcher then ends the job."""
    if hasattr(sys, "last_type"):
        return
    for communicator in list(LIVING):
        communicator.free()
    for finalise in FINALISERS:
        finalise()
