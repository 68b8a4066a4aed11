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

else:

    def _vector_at(context, builder, array_type, array, at):
        """Give the type of a vector of the array's numbers, where one begins, and how it is aligned."""
        vector = ir.VectorType(context.get_data_type(array_type.dtype), WIDTH)
        view = context.make_array(array_type)(context, builder, array)
        place = builder.bitcast(builder.gep(view.data, [at]), vector.as_pointer())
        return vector, place, array_type.dtype.bitwidth // 8

    @intrinsic
    def add_vector(typing_context, to, a, x, values, d):
        """Add x times values[d : d + WIDTH] to to[a : a + WIDTH]; both arrays are of one type."""
        if to.dtype != values.dtype:
            return None

        def generate(context, builder, signature, arguments):
            vector, there, align = _vector_at(context, builder, to, *arguments[:2])
            _, here, _ = _vector_at(context, builder, values, *arguments[3:])
            number = ir.IntType(32)
            factor = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[2], ir.Constant(number, 0))
            factor = builder.shuffle_vector(factor, factor, ir.Constant(ir.VectorType(number, WIDTH), [0] * WIDTH))
            added = builder.fmul(factor, builder.load(here, align=align))
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
