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

else:

    @intrinsic
    def add_vector(typing_context, to, a, x, values, d):
        """Add x times values[d : d + WIDTH] to to[a : a + WIDTH]; both arrays are of one type."""
        if to.dtype != values.dtype:
            return None

        def generate(context, builder, signature, arguments):
            places = []
            for array, at in ((0, 1), (3, 4)):
                view = context.make_array(signature.args[array])(context, builder, arguments[array])
                places.append(builder.gep(view.data, [arguments[at]]))
            vector = ir.VectorType(context.get_data_type(to.dtype), WIDTH)
            places = [builder.bitcast(place, vector.as_pointer()) for place in places]
            old, added = (builder.load(place, align=to.dtype.bitwidth // 8) for place in places)
            number = ir.IntType(32)
            factor = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[2], ir.Constant(number, 0))
            factor = builder.shuffle_vector(factor, factor, ir.Constant(ir.VectorType(number, WIDTH), [0] * WIDTH))
            new = builder.fadd(old, builder.fmul(factor, added))
            builder.store(new, places[0], align=to.dtype.bitwidth // 8)
            return context.get_dummy_value()

        return types.void(to, types.int64, to.dtype, values, types.int64), generate
