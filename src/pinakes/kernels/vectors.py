"""Short vectors: LLVM does not make them of loops over arrays that might overlap."""

from __future__ import annotations

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

WIDTH = 8  # numbers in a vector: a register of float32

if config.DISABLE_JIT:

    def add_vector(to, a, x, values, d):
        """Add x times values[d : d + WIDTH] to to[a : a + WIDTH]."""
        to[a : a + WIDTH] += to.dtype.type(x) * values[d : d + WIDTH]

    def copy_vector(to, a, values, d):
        """Copy values[d : d + WIDTH] to to[a : a + WIDTH]."""
        to[a : a + WIDTH] = values[d : d + WIDTH]

    def any_above(values, a, added, factors, limit):
        """Say whether any of factors (values + added) at a, ..., a + WIDTH - 1 is above `limit`; None counts as 1."""
        sums = values[a : a + WIDTH] + added
        return bool((sums > limit if factors is None else sums * factors[a : a + WIDTH] > limit).any())

else:

    def _vector_at(context, builder, array_type, array, at):
        """Give the type of a vector of the array's numbers, where one begins, and how it is aligned."""
        vector = ir.VectorType(context.get_data_type(array_type.dtype), WIDTH)
        view = context.make_array(array_type)(context, builder, array)
        place = builder.bitcast(builder.gep(view.data, [at]), vector.as_pointer())
        return vector, place, array_type.dtype.bitwidth // 8

    def _repeat(builder, vector, x):
        """Give a vector of x and nothing else."""
        number = ir.IntType(32)
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), x, ir.Constant(number, 0))
        return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(number, WIDTH), [0] * WIDTH))

    @intrinsic
    def add_vector(typing_context, to, a, x, values, d):
        """Add x times values[d : d + WIDTH] to to[a : a + WIDTH]; both arrays are of one type."""
        if to.dtype != values.dtype:
            return None

        def generate(context, builder, signature, arguments):
            vector, there, align = _vector_at(context, builder, to, *arguments[:2])
            _, here, _ = _vector_at(context, builder, values, *arguments[3:])
            added = builder.fmul(_repeat(builder, vector, arguments[2]), builder.load(here, align=align))
            builder.store(builder.fadd(builder.load(there, align=align), added), there, align=align)
            return context.get_dummy_value()

        return types.void(to, types.int64, to.dtype, values, types.int64), generate

    @intrinsic
    def copy_vector(typing_context, to, a, values, d):
        """Copy values[d : d + WIDTH] to to[a : a + WIDTH]; both arrays are of one type."""
        if to.dtype != values.dtype:
            return None

        def generate(context, builder, signature, arguments):
            _, there, align = _vector_at(context, builder, to, *arguments[:2])
            _, here, _ = _vector_at(context, builder, values, *arguments[2:])
            builder.store(builder.load(here, align=align), there, align=align)
            return context.get_dummy_value()

        return types.void(to, types.int64, values, types.int64), generate

    @intrinsic
    def any_above(typing_context, values, a, added, factors, limit):
        """Say whether any of factors (values + added) at a, ..., a + WIDTH - 1 is above `limit`; None counts as 1."""
        alone = isinstance(factors, types.NoneType)
        if not alone and values.dtype != factors.dtype:
            return None

        def generate(context, builder, signature, arguments):
            vector, here, align = _vector_at(context, builder, values, *arguments[:2])
            sums = builder.fadd(builder.load(here, align=align), _repeat(builder, vector, arguments[2]))
            if not alone:
                _, there, _ = _vector_at(context, builder, factors, arguments[3], arguments[1])
                sums = builder.fmul(sums, builder.load(there, align=align))
            above = builder.fcmp_ordered(">", sums, _repeat(builder, vector, arguments[4]))
            bits = builder.bitcast(above, ir.IntType(WIDTH))
            return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

        return types.boolean(values, types.int64, values.dtype, factors, values.dtype), generate
