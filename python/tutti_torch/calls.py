# SPDX-License-Identifier: Apache-2.0
"""Collectives on tensors, which the worker of a group runs. Each returns the tensors that hold its results."""
import contextlib
import ctypes

import torch
import torch.distributed as dist

from tutti import library
from tutti.library import IN_PLACE, call

TYPES = {torch.int8: library.INT8, torch.int16: library.INT16, torch.int32: library.INT32, torch.int64: library.INT64,
         torch.uint8: library.UINT8, torch.bool: library.UINT8, torch.float16: library.HALF,
         torch.bfloat16: library.BFLOAT16, torch.float32: library.FLOAT, torch.float64: library.DOUBLE}
COMPLEX = {torch.complex64: torch.float32, torch.complex128: torch.float64}  # their parts, which are summed like two numbers
OPERATIONS = {"SUM": library.SUM, "AVG": library.AVG, "PRODUCT": library.PROD, "MIN": library.MIN, "MAX": library.MAX}
OF_BOOLS = {library.SUM: library.MAX, library.PROD: library.MIN}  # or, and


UNKNOWN_OPERATIONS = ("BAND", "BOR", "BXOR", "PREMUL_SUM")


def name_of(operation):
    # A ReduceOp has no hash in all versions of torch, and its text is an address.
    names = [name for name in (*OPERATIONS, *UNKNOWN_OPERATIONS) if operation == getattr(dist.ReduceOp, name, None)]
    return names[0] if names else str(operation)


def reduction(tensor, operation):
    """Returns the number of elements, and the library's numbers of the type and the operation. A complex number is two elements."""
    name, parts = name_of(operation), COMPLEX.get(tensor.dtype)
    kind = TYPES.get(parts or tensor.dtype)
    if kind is None or name not in OPERATIONS or (parts is not None and name not in ("SUM", "AVG")):
        raise ValueError(f"tutti cannot reduce {tensor.dtype} by {name}; use SUM, AVG, PRODUCT, MIN or MAX of integers, bools or "
                         "floating-point numbers, SUM or AVG of complex numbers, or another backend such as gloo")
    number = OPERATIONS[name]
    return (tensor.numel() * (1 if parts is None else 2), kind,
            OF_BOOLS.get(number, number) if tensor.dtype == torch.bool else number)


def only(tensors, operation):
    """Returns the only tensor of a list. The calls for several GPUs of one process have more."""
    if len(tensors) != 1:
        raise ValueError(f"tutti has no {operation} of {len(tensors)} tensors in one process, such as {operation}_multigpu; use "
                         f"{operation} for each tensor")
    return tensors[0]


def expect_host(*tensors):
    for tensor in tensors:
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            raise ValueError(f"tutti needs dense CPU tensors, not {tensor.layout} on {tensor.device}; copy the tensor to the CPU, "
                             "or use another backend")


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


@contextlib.contextmanager
def as_contiguous(tensor):
    """Yields the tensor if it is contiguous, else a contiguous copy, which is copied back at the end."""
    if tensor.is_contiguous():
        yield tensor
    else:
        copy = tensor.contiguous()
        yield copy
        tensor.copy_(copy)


def without_overlap(tensor, output):
    """Returns the contiguous tensor, in a copy if it overlaps with the contiguous `output`. Calls are never in place, because all
    ranks would have to be in place, and ranks do not know the addresses of each other's tensors."""
    data = tensor.contiguous()
    overlap = (data.data_ptr() < output.data_ptr() + bytes_of(output) and output.data_ptr() < data.data_ptr() + bytes_of(data))
    return data.clone() if overlap else data


def expect_same_sizes(tensors, like, count):
    if len(tensors) != count or any(each.numel() != like.numel() or each.dtype != like.dtype for each in tensors):
        raise ValueError(f"expected {count} tensors of {like.numel()} elements of {like.dtype}, one for each rank")


def expect_one_of_each_rank(tensors, own, rank, ranks):
    if len(tensors) != ranks or any(each.dtype != own.dtype for each in tensors) or tensors[rank].numel() != own.numel():
        raise ValueError(f"expected {ranks} tensors of {own.dtype}, one for each rank, and one of {own.numel()} elements for rank {rank}")


def is_equally_long(tensors):
    return all(each.numel() == tensors[0].numel() for each in tensors)


def expect_blocks(blocks, block, ranks):
    if blocks.numel() != ranks * block.numel() or blocks.dtype != block.dtype:
        raise ValueError(f"expected {ranks} blocks of {block.numel()} elements of {block.dtype}, one for each rank, not "
                         f"{blocks.numel()} elements of {blocks.dtype}")


def copy_rows(flat, tensors):
    """Copies the rows of `flat` to the tensors."""
    for tensor, row in zip(tensors, flat):
        tensor.copy_(row.view(tensor.shape))


def all_reduce(comm, tensors, operation):
    for tensor in tensors:
        with as_contiguous(tensor) as data:
            call("all_reduce", comm, IN_PLACE, data.data_ptr(), *reduction(data, operation))
    return tensors


def reduce(comm, tensor, operation, root, is_root):
    data = tensor.contiguous()
    result = torch.empty_like(data) if is_root else None
    call("reduce", comm, data.data_ptr(), result.data_ptr() if is_root else None,
         *reduction(data, operation), root)
    if is_root:
        tensor.copy_(result)
    return [tensor]


def broadcast(comm, tensor, root, is_root):
    # The root's tensor is only read: it may be expanded or in read-only memory.
    with contextlib.nullcontext(tensor.contiguous()) if is_root else as_contiguous(tensor) as data:
        call("broadcast", comm, data.data_ptr(), bytes_of(data), library.UINT8, root)
    return [tensor]


def all_gather_into(comm, output, tensor, ranks):
    expect_blocks(output, tensor, ranks)
    with as_contiguous(output) as all_data:
        data = without_overlap(tensor, all_data)
        call("all_gather", comm, data.data_ptr(), all_data.data_ptr(), bytes_of(data), library.UINT8)
    return [output]


def all_gather(comm, outputs, tensor, rank, ranks):
    """The ranks' tensors may have different sizes."""
    expect_one_of_each_rank(outputs, tensor, rank, ranks)
    if is_equally_long(outputs):
        flat = torch.empty(ranks, tensor.numel(), dtype=tensor.dtype)
        all_gather_into(comm, flat, tensor, ranks)
    else:
        data, all_data = tensor.contiguous(), torch.empty(sum(each.numel() for each in outputs), dtype=tensor.dtype)
        call("all_gather_v", comm, data.data_ptr(), all_data.data_ptr(), counts_of(map(bytes_of, outputs)), library.UINT8)
        flat = all_data.split([each.numel() for each in outputs])
    copy_rows(flat, outputs)
    return outputs


def reduce_scatter_from(comm, output, tensor, operation, ranks):
    expect_blocks(tensor, output, ranks)
    with as_contiguous(output) as block:
        data = without_overlap(tensor, block)
        call("reduce_scatter", comm, data.data_ptr(), block.data_ptr(), *reduction(block, operation))
    return [output]


def reduce_scatter(comm, output, inputs, operation, rank, ranks):
    """The blocks may have different sizes."""
    expect_one_of_each_rank(inputs, output, rank, ranks)
    data = torch.cat([each.reshape(-1) for each in inputs])
    if is_equally_long(inputs):
        return reduce_scatter_from(comm, output, data, operation, ranks)
    with as_contiguous(output) as block:
        counts = counts_of(reduction(each, operation)[0] for each in inputs)
        call("reduce_scatter_v", comm, data.data_ptr(), block.data_ptr(), counts, *reduction(block, operation)[1:])
    return [output]


def gather(comm, outputs, tensor, root, ranks):
    """outputs: None on ranks other than the root."""
    data = tensor.contiguous()
    flat = None
    if outputs is not None:
        expect_same_sizes(outputs, tensor, ranks)
        flat = torch.empty(ranks, tensor.numel(), dtype=tensor.dtype)
    call("gather", comm, data.data_ptr(), None if flat is None else flat.data_ptr(), bytes_of(data), library.UINT8, root)
    if flat is not None:
        copy_rows(flat, outputs)
    return outputs if outputs is not None else [tensor]


def scatter(comm, output, inputs, root, ranks):
    """inputs: None on ranks other than the root."""
    flat = None
    if inputs is not None:
        expect_same_sizes(inputs, output, ranks)
        flat = torch.stack([each.reshape(-1) for each in inputs])
    with as_contiguous(output) as block:
        call("scatter", comm, None if flat is None else flat.data_ptr(), block.data_ptr(), bytes_of(block), library.UINT8, root)
    return [output]


def all_to_all_single(comm, output, tensor, output_rows, input_rows):
    """output_rows, input_rows: the number of rows of each block of `output` and of `tensor`."""
    with as_contiguous(output) as result:
        data = without_overlap(tensor, result)
        call("all_to_all_v", comm, data.data_ptr(), result.data_ptr(), counts_of(sizes_of(tensor, input_rows)),
             counts_of(sizes_of(output, output_rows)), library.UINT8)
    return [output]


def sizes_of(tensor, rows):
    """Returns the sizes of blocks in bytes, from their numbers of rows."""
    bytes_of_row = bytes_of(tensor) // max(1, tensor.shape[0])
    return [each * bytes_of_row for each in rows]


def counts_of(numbers):
    """Returns the numbers as an array of C."""
    numbers = list(numbers)
    return (ctypes.c_size_t * len(numbers))(*numbers)


def all_to_all(comm, outputs, inputs, ranks):
    if len(outputs) != ranks or len(inputs) != ranks:
        raise ValueError(f"all_to_all needs {ranks} tensors to send and {ranks} to receive, one for each rank")
    sizes = [bytes_of(each) for each in outputs]
    data, result = as_bytes(inputs), torch.empty(sum(sizes), dtype=torch.uint8)
    call("all_to_all_v", comm, data.data_ptr(), result.data_ptr(), counts_of(map(bytes_of, inputs)), counts_of(sizes), library.UINT8)
    for tensor, block in zip(outputs, result.split(sizes)):
        if tensor.numel() > 0:
            tensor.copy_(block.clone().view(tensor.dtype).view(tensor.shape))
    return outputs


def as_bytes(tensors):
    """Returns the bytes of all tensors, side by side."""
    blocks = [each.contiguous().reshape(-1).view(torch.uint8) for each in tensors if each.numel() > 0]
    return torch.cat(blocks) if blocks else torch.empty(0, dtype=torch.uint8)


def barrier(comm):
    call("barrier", comm)
    return [torch.empty(0)]


def send(comm, tensor, to, tag):
    data = tensor.contiguous()
    call("send", comm, data.data_ptr(), bytes_of(data), to, tag)
    return [tensor]


def receive(comm, tensor, source, tag):
    with as_contiguous(tensor) as data:
        call("receive", comm, data.data_ptr(), bytes_of(data), source, tag)
    return [tensor]
