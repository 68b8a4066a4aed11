"""Growing rows of weights, one a feature: memory follows what is non-zero, and reading stays contiguous.

The weights of feature j over all attributes are cut into blocks of 8 (one vector register of float32). A row holds only
the blocks that were ever written; with p = start[j] + b, b < length[j],

    data[8 p : 8 p + 8] are the weights of attributes 8 tag[p] + (0..7)

in no order while the row is sparse, and in order of the blocks once it is full (length[j] == n_blocks), when no search
is needed. A short row is searched through; a longer one has a table that says where each block is. Rows live in one
pool and move to its free end when they grow. The free end is dealt out to shards, piece by piece: rows j with
j % n_shards == s take from shard s, so that each shard can be written by a thread of its own. What a row has outgrown
goes to the next row of that shard that wants as many blocks: freed[s, n] is the first of a chain of such places of n
blocks, each with the next one in its first tag. The solver gives more room when a shard has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from pinakes.kernels.compile import inner, kernel, summing
from pinakes.kernels.vectors import WIDTH, add_vector, copy_vector

BLOCK = WIDTH
FEW_BLOCKS = 8  # with so few, every row is full: looking a weight up would be dearer than reading all
SEARCHED = 64  # a row of so many blocks is still searched through
FREE_BYTES = 2**29  # least room that is made for blocks; what is not used costs nothing, as it is never touched
PIECE = 2**18  # blocks of the pool that a shard takes at once: it is touched from its beginning on, without gaps
GROWTH = 3  # a row takes less than so many times n_blocks blocks, from nothing to full
MOVES = 16  # pieces in which rows are moved
FREE_SHARE = 2  # where more is held, room for one over this of it: the more, the fewer moves, and the more left behind


class Rows(NamedTuple):
    """The arrays behind growing rows; see the head of this file."""

    start: np.ndarray  # int64 (n_features,): first block of the row in the pool
    length: np.ndarray  # int32 (n_features,): blocks in use
    capacity: np.ndarray  # int32 (n_features,): blocks reserved
    tag: np.ndarray  # int32 (pool,): which block of attributes
    data: np.ndarray  # float32 or float64 (pool * BLOCK,)
    free: np.ndarray  # int64 (n_shards, 4): first free block of a shard and the end of its blocks; the same of tables
    freed: np.ndarray  # int32 (n_shards, n_blocks + 1): first of the places of so many blocks that were outgrown, or -1
    table_of: np.ndarray  # int32 (n_features,): which table, -1 for none
    table: np.ndarray  # int16 or int32 (n_tables, n_blocks): place of a block in its row, -1 for none


def empty_rows(n_features: int, n_attributes: int, dtype=np.float32) -> Rows:
    """Make rows that hold nothing; where attributes are few every row is full from the start."""
    n_blocks = -(-n_attributes // BLOCK)
    few = n_blocks <= FEW_BLOCKS
    n_pool = n_features * n_blocks if few else 0
    per_row = n_blocks if few else 0
    return Rows(
        start=np.arange(n_features, dtype=np.int64) * per_row,
        length=np.full(n_features, per_row, dtype=np.int32),
        capacity=np.full(n_features, per_row, dtype=np.int32),
        tag=np.tile(np.arange(per_row, dtype=np.int32), n_features),
        data=np.zeros(n_pool * BLOCK, dtype=dtype),
        free=np.array([[n_pool, n_pool, 0, 0]], dtype=np.int64),
        freed=np.full((1, n_blocks + 1), -1, dtype=np.int32),
        table_of=np.full(n_features, -1, dtype=np.int32),
        table=np.zeros((0, n_blocks), dtype=np.int16 if n_blocks < 2**15 else np.int32),
    )


def with_room(rows: Rows, room: int, n_shards: int = 1, map: Callable = map) -> Rows:
    """Give rows whose shards have room again, so many blocks or more where there was none.

    A shard takes the next piece of the pool. Where that is used up, or tables are, all rows move to a larger pool, and
    what they had outgrown is left behind. `map` is that of a pool of threads, or Python's own.
    """
    n_features, n_blocks = len(rows.start), rows.table.shape[1]
    ends = np.cumsum(rows.capacity, dtype=np.int64)
    held = int(ends[-1]) if len(ends) else 0
    # what is not touched costs nothing: much room, but no more than would ever be needed
    bytes_each = BLOCK * rows.data.itemsize + rows.tag.itemsize
    most = min(max(FREE_BYTES // bytes_each, held // FREE_SHARE), GROWTH * n_features * n_blocks)
    piece = max(room, min(PIECE, most // n_shards))
    if len(rows.free) == n_shards and (rows.free[:, 2] < rows.free[:, 3]).all():
        lacking = rows.free[:, 1] - rows.free[:, 0] < GROWTH * n_blocks
        first = rows.free[:, 1].max() + piece * (np.cumsum(lacking) - 1)
        if first[-1] + piece <= len(rows.tag):
            free = rows.free.copy()
            free[lacking, 0], free[lacking, 1] = first[lacking], first[lacking] + piece
            return rows._replace(free=free)
    room = max(piece, most // n_shards)
    has_table = (rows.length > SEARCHED) & (rows.length < n_blocks)  # a full row needs none
    n_tables = int(has_table.sum())
    tables = max(FREE_BYTES // max(1, n_blocks * rows.table.itemsize), n_tables // FREE_SHARE, n_shards)
    tables = -(-min(tables, n_features) // n_shards)
    shard = np.arange(n_shards)
    free = np.column_stack(
        [held + shard * piece, held + (shard + 1) * piece, n_tables + shard * tables, n_tables + (shard + 1) * tables]
    )
    moved = rows._replace(
        start=ends - rows.capacity,
        tag=np.zeros(held + n_shards * room, dtype=np.int32),
        data=np.zeros((held + n_shards * room) * BLOCK, dtype=rows.data.dtype),
        free=free.astype(np.int64),
        freed=np.full((n_shards, n_blocks + 1), -1, dtype=np.int32),
        table_of=np.where(has_table, np.cumsum(has_table) - 1, -1).astype(np.int32),
        table=np.empty((n_tables + n_shards * tables, n_blocks), dtype=rows.table.dtype),
    )
    bounds = np.searchsorted(ends, np.linspace(0, held, MOVES + 1)[1:-1]) if held > MOVES * BLOCK else []
    bounds = [0, *bounds, n_features]
    list(map(lambda first, last: _move(rows, moved, first, last), bounds[:-1], bounds[1:]))
    return moved


def compact(rows: Rows) -> Rows:
    """Give the rows without free room and tables; pushed together where they are, so that `rows` is lost."""
    n_blocks = rows.table.shape[1]
    held = int(rows.length.sum(dtype=np.int64))
    if len(rows.tag) == held:
        return rows
    _push_together(rows, np.argsort(rows.start, kind="stable"))
    for array, size in ((rows.tag, held), (rows.data, held * BLOCK)):
        array.resize(size, refcheck=False)  # gives the rest back without a copy
    return rows._replace(
        free=np.array([[held, held, 0, 0]], dtype=np.int64),
        freed=np.full((1, n_blocks + 1), -1, dtype=np.int32),
        table_of=np.full(len(rows.start), -1, dtype=np.int32),
        table=np.zeros((0, n_blocks), dtype=rows.table.dtype),
    )


def scaled(rows: Rows, factor: float) -> Rows:
    """Give rows of their own, `factor` times as large."""
    own = rows._replace(data=rows.data * rows.data.dtype.type(factor))
    return Rows(*(new if new is not old else old.copy() for new, old in zip(own, rows, strict=True)))


def rows_from_csr(u: sparse.csr_array, n_attributes: int) -> Rows:
    """Make rows from a matrix of features by attributes."""
    n_blocks = -(-n_attributes // BLOCK)
    rows = empty_rows(u.shape[0], n_attributes, u.dtype)
    if n_blocks > FEW_BLOCKS:
        most = np.minimum(np.diff(u.indptr), n_blocks).sum(dtype=np.int64)
        rows = with_room(rows, 4 * int(most) + n_blocks)
    _load(rows, u.indptr, u.indices, u.data, n_blocks)
    return compact(rows)


def rows_to_csr(rows: Rows, n_attributes: int) -> sparse.csr_array:
    """Give the non-zeros of the rows as a matrix of features by attributes, attributes ascending."""
    counts = np.zeros(len(rows.start), dtype=np.int64)
    _count(rows, counts)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1], dtype=rows.data.dtype)
    _fill(rows, indptr, indices, data)
    return sparse.csr_array((data, indices, indptr), shape=(len(counts), n_attributes))


@kernel
def _move(rows, moved, first, last):
    """Copy rows first, ..., last - 1 to their new places, and write their tables."""
    for j in range(first, last):
        old, new = rows.start[j], moved.start[j]
        for b in range(rows.length[j]):
            moved.tag[new + b] = rows.tag[old + b]
            copy_vector(moved.data, BLOCK * (new + b), rows.data, BLOCK * (old + b))
        if moved.table_of[j] >= 0:
            write_table(moved, j)


@kernel
def _push_together(rows, by_place):
    """Move the blocks in use to the front of the pool."""
    used = 0
    for j in by_place:
        start = rows.start[j]
        for b in range(rows.length[j]):  # never to a later place
            rows.tag[used + b] = rows.tag[start + b]
            copy_vector(rows.data, BLOCK * (used + b), rows.data, BLOCK * (start + b))
        rows.start[j] = used
        rows.capacity[j] = rows.length[j]
        used += rows.length[j]


@inner
def write_table(rows, j):
    """Write where the blocks of row j are into its table."""
    table = rows.table[rows.table_of[j]]
    table[:] = -1
    for b in range(rows.length[j]):
        table[rows.tag[rows.start[j] + b]] = b


@inner
def find_block(rows, j, block, n_blocks):
    """Give the position in the pool of a block of row j, or -1."""
    start = rows.start[j]
    length = rows.length[j]
    if length == n_blocks:
        return start + block
    if rows.table_of[j] >= 0:
        b = rows.table[rows.table_of[j], block]
        return start + b if b >= 0 else -1
    found = np.int32(-1)  # no way out of the loop: that keeps it one that vectors do
    for b in range(np.uint32(length)):
        if rows.tag[np.uint64(start) + b] == block:
            found = np.int32(b)
    return start + found if found >= 0 else -1


@inner
def has_room(rows, j, n_blocks):
    """Say whether row j may grow to any length."""
    shard = rows.free[j % len(rows.free)]
    return rows.length[j] == n_blocks or (shard[1] - shard[0] >= GROWTH * n_blocks and shard[3] > shard[2])


@inner
def make_block(rows, j, block, n_blocks):
    """Append a block of zeros to row j and give its position; changes all arrays of `rows`, which must have room."""
    length = rows.length[j]
    shard, freed = rows.free[j % len(rows.free)], rows.freed[j % len(rows.free)]
    if length == rows.capacity[j]:
        wanted = length + max(1, length // 2)
        full = 2 * wanted > n_blocks
        if full:
            wanted = n_blocks
        old, start = rows.start[j], np.int64(freed[wanted])
        if start >= 0:
            freed[wanted] = rows.tag[start]
        else:
            start = shard[0]
            shard[0] += wanted
        rows.start[j] = start
        rows.capacity[j] = wanted
        if full:  # from now on: blocks in order
            for b in range(n_blocks):
                rows.tag[start + b] = b
            rows.data[start * BLOCK : (start + n_blocks) * BLOCK] = 0
        for b in range(length):
            to = start + rows.tag[old + b] if full else start + b
            rows.tag[to] = rows.tag[old + b]
            copy_vector(rows.data, BLOCK * to, rows.data, BLOCK * (old + b))
        if length > 0:
            rows.tag[old] = freed[length]
            freed[length] = old
        if full:
            rows.length[j] = n_blocks
            return start + block
    p = rows.start[j] + length
    rows.tag[p] = block
    for t in range(BLOCK):
        rows.data[p * BLOCK + t] = 0
    rows.length[j] = length + 1
    if rows.table_of[j] >= 0:
        rows.table[rows.table_of[j], block] = length
    elif length + 1 > SEARCHED:
        rows.table_of[j] = shard[2]
        shard[2] += 1
        write_table(rows, j)
    return p


@inner
def add_row(rows, j, x, scores, n_blocks):
    """Add x times row j to `scores` (which has n_blocks * BLOCK entries)."""
    start = rows.start[j]
    length = rows.length[j]
    # unsigned positions: a signed one might count from the end, and that question keeps loops from being vectorised
    if length == n_blocks:
        # scores += x * row
        first = np.uint64(start * BLOCK)
        for a in range(np.uint64(n_blocks * BLOCK)):
            scores[a] += x * rows.data[first + a]
        return
    for p in range(start, start + length):
        add_vector(scores, BLOCK * rows.tag[np.uint64(p)], x, rows.data, BLOCK * p)


@inner
def add_two_rows(rows, j, x, k, z, scores):
    """Add x times row j, and then z times row k, to `scores`; both are full."""
    first, second = np.uint64(rows.start[j] * BLOCK), np.uint64(rows.start[k] * BLOCK)
    for a in range(np.uint64(len(scores))):
        scores[a] = (scores[a] + x * rows.data[first + a]) + z * rows.data[second + a]


@inner
def gather_row(rows, j, x, blocks, n_few, scores, n_blocks):
    """Add x times blocks[:n_few] of row j to `scores` at the same blocks."""
    start, length, table = rows.start[j], rows.length[j], rows.table_of[j]
    for k in range(n_few):
        block = blocks[k]
        if length == n_blocks:
            p = start + block
        elif table >= 0:
            b = np.int64(rows.table[table, block])
            p = start + b if b >= 0 else -1
        else:
            p = find_block(rows, j, block, n_blocks)
        if p >= 0:
            add_vector(scores, BLOCK * block, x, rows.data, BLOCK * p)


@inner
def scatter_row(rows, j, x, blocks, changes, n_few, n_blocks):
    """Add x times changes[8 k : 8 k + 8] to blocks[k] of row j for k < n_few; the row grows where it must."""
    for k in range(n_few):
        p = find_block(rows, j, blocks[k], n_blocks)
        if p < 0:
            p = make_block(rows, j, blocks[k], n_blocks)
        add_vector(rows.data, BLOCK * p, x, changes, BLOCK * k)


def squared_norm(rows: Rows, v2: np.ndarray) -> float:
    """Give |w|^2 = sum over attributes of |v w|^2 / v^2 in float64."""
    return _squared_norm(rows, np.divide(1.0, v2, out=np.zeros_like(v2), where=v2 > 0))


@kernel
def _squared_norm(rows, factor):
    total = 0.0
    for j in range(len(rows.start)):
        total += _row_norm(rows, rows.start[j], rows.length[j], factor)
    return total


@summing
def _row_norm(rows, start, length, factor):
    total = 0.0
    for p in range(np.uint64(start), np.uint64(start + length)):
        base = np.uint64(BLOCK) * np.uint64(rows.tag[p])
        for t in range(np.uint64(BLOCK)):
            u = np.float64(rows.data[p * np.uint64(BLOCK) + t])
            total += u * u * factor[base + t]
    return total


@kernel
def _count(rows, counts):
    """Write the non-zeros of each row into `counts`."""
    for j in range(len(rows.start)):
        n = 0
        for p in range(rows.start[j], rows.start[j] + rows.length[j]):
            for t in range(BLOCK):
                n += rows.data[p * BLOCK + t] != 0
        counts[j] = n


@kernel
def _fill(rows, indptr, indices, data):
    """Write the non-zeros of all rows into CSR arrays, attributes ascending."""
    for j in range(len(rows.start)):
        start, length = rows.start[j], rows.length[j]
        order = np.argsort(rows.tag[start : start + length])
        k = indptr[j]
        for b in order:
            p = start + b
            base = BLOCK * rows.tag[p]
            for t in range(BLOCK):
                if rows.data[p * BLOCK + t] != 0:
                    indices[k] = base + t
                    data[k] = rows.data[p * BLOCK + t]
                    k += 1


@kernel
def _load(rows, indptr, indices, data, n_blocks):
    """Add the entries of CSR arrays to the rows; the pool must have room for all their blocks."""
    for j in range(len(indptr) - 1):
        for k in range(indptr[j], indptr[j + 1]):
            block = indices[k] // BLOCK
            p = find_block(rows, j, block, n_blocks)
            if p < 0:
                p = make_block(rows, j, block, n_blocks)
            rows.data[p * BLOCK + indices[k] % BLOCK] += data[k]
