"""Smaller programs for inference: normalisation folded into weights, dropout removed."""

import numpy as np

from dygraph import _core
from dygraph.errors import PreconditionNotMetError
from dygraph.static import passes
from dygraph.static.variable_files import require_program, require_scope

__all__ = ["fold_inference"]

_CONVOLUTIONS = ("conv2d", "depthwise_conv2d", "conv3d")
_TRANSPOSED = ("conv2d_transpose", "depthwise_conv2d_transpose", "conv3d_transpose")
_PRODUCTS = ("mul", "matmul", "matmul_v2")
_NORMS = ("batch_norm", "fused_batch_norm_act", "fused_bn_add_activation")


def fold_inference(program, scope=None):
    """A program for inference with batch_norm folded into the weights before it, without dropout.

    ``batch_norm`` after a convolution, a transposed one or a product with a weight, with or without
    a bias between them, becomes a factor on the weights and a bias:
    ``a = Scale / sqrt(Variance + epsilon)``, ``W' = a W``, ``b' = Bias + a (b - Mean)``.
    ``dropout`` is removed, or replaced by ``scale`` if its implementation scales in inference. A
    ``batch_norm`` stays if another operator reads the value between, or if the channels are on
    other axes. In inner blocks only dropout is removed.

    Parameters
    ----------
    program : Program
        Not changed. A training program is reduced as by ``clone(for_test=True)``.
    scope : Scope, optional
        Holds the weights, which are not changed; new ones are added, named ``NAME.folded``.
        Default: ``global_scope()``.

    Returns
    -------
    Program

    Raises
    ------
    PreconditionNotMetError
        A weight holds no value.

    Notes
    -----
    Rounding differs: results agree with the unfolded program to about 1e-5 of the largest value of
    an output in float32, not bit for bit. Therefore folding is done only on request. Later changes
    of the weights do not reach the folded ones.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph import static
    >>> net = dygraph.nn.Sequential(
    ...     dygraph.nn.Conv2D(3, 4, 3), dygraph.nn.BatchNorm(4), dygraph.nn.Dropout(0.5))
    >>> image = dygraph.ones([2, 3, 8, 8])
    >>> _, traced = dygraph.jit.trace(net, [image])
    >>> folded = static.fold_inference(traced.program, traced.scope)
    >>> [op.type for op in folded.global_block().ops]
    ['feed', 'conv2d', 'elementwise_add', 'scale', 'fetch']
    """
    program = require_program(program, "fold_inference")
    scope = require_scope(scope, "fold_inference")
    copy = program.clone(for_test=True)
    passes.run("fold_inference", copy, scope)
    return copy


def _fold(program, scope):
    scope = require_scope(scope, "fold_inference")
    for block in program.blocks:
        for op in list(block.ops):
            if op.type == "dropout":
                _drop(block, op)
    block = program.global_block()
    for op in list(block.ops):
        if op.type in _NORMS:
            _Fold(block, op, scope).run()
    program.forget_unused(weights=True)


passes.add(
    "fold_inference", _fold,
    "Fold normalisation by running statistics into the weights before it, which the scope holds; "
    "remove dropout. For programs in test mode.",
)  # fmt: skip


def _drop(block, op):
    """Dropout in inference: removed, or one factor."""
    (x,), (out,) = op.input("X"), op.output("Out")
    keep = op.attr("dropout_implementation") == "upscale_in_train"
    if not keep and "dropout_prob" in op.input_names:  # a variable gives it
        return
    uses, index = block.program.core.uses(), op.idx
    shown = any(reader.type == "fetch" for reader in uses.readers(out))
    own = out in block.vars and len(uses.writers(out)) == 1
    stays = all(writer.block is block and writer.idx < index for writer in uses.writers(x))
    block.remove_op(index)
    if keep and not shown and own and stays:
        for b in block.program.blocks:
            for other in b.ops:
                other.rename_input(out, x)
        return
    factor = 1.0 if keep else 1.0 - op.attr("dropout_prob")
    block.insert_op(index, "scale", {"X": x}, {"Out": out}, {"scale": factor})


class _Fold:
    """One normalisation and the operators before it."""

    def __init__(self, block, norm, scope):
        self.block, self.norm, self.scope = block, norm, scope
        self.uses = block.program.core.uses()
        (self.x,), (self.y,) = norm.input("X"), norm.output("Y")
        rank = len(block.var_recursive(self.x).shape)
        last = norm.attr("data_layout") in ("NHWC", "NDHWC") if norm.has_attr("data_layout") else 0
        self.axis = rank - 1 if last else 1
        self.rank = rank

    def run(self):
        """Fold it if possible."""
        before = self._chain()
        if before is None or self.norm.attr("trainable_statistics"):
            return
        op, bias = before
        slot = self._weights(op)
        if slot is None:
            return
        weight = self._value(op.input(slot)[0])
        scale, shift, mean, variance = (
            self._value(self.norm.input(s)[0]).astype("float64")
            for s in ("Scale", "Bias", "Mean", "Variance")
        )
        factor = scale / np.sqrt(variance + self.norm.attr("epsilon"))
        shaped = self._factor(op, weight, factor)
        if shaped is None:
            return
        old = 0.0
        if bias is not None:
            old = self._value(bias).astype("float64").reshape(-1)
            if old.size not in (1, factor.size):
                return
        own = op.input("Bias") if "Bias" in op.input_names else []
        if own:
            old = old + self._value(own[0]).astype("float64").reshape(-1)
        new = (weight.astype("float64") * shaped).astype(weight.dtype)
        shift = (shift + factor * (old - mean)).astype(weight.dtype)
        shift = np.broadcast_to(shift, factor.shape)
        self._rewrite(op, slot, own, new, shift)

    def _chain(self):
        """(operator with weights, name of the bias added after it or None), or None."""
        op = self._sole(self.x)
        if op is None:
            return None
        if op.type != "elementwise_add":
            return op, None
        (x,), (bias,) = op.input("X"), op.input("Y")
        variable = self.block.var_recursive(bias)
        axis = op.attr("axis")
        flat = len(variable.shape) == 1 and (axis if axis >= 0 else self.rank - 1) == self.axis
        # a bias of shape [C, 1, 1], or [1, C, 1, 1], from the right
        sizes = [1] * (self.rank - len(variable.shape)) + list(variable.shape)
        spread = axis in (-1, self.rank - len(variable.shape)) and all(
            size == 1 for i, size in enumerate(sizes) if i != self.axis
        )
        if not self._constant(bias) or not (flat or spread):
            return None
        before = self._sole(x)
        return None if before is None else (before, bias)

    def _sole(self, name):
        """The operator that makes a value with this one reader."""
        variable = self.block.vars.get(name)
        writers = self.uses.writers(name)
        alone = len(writers) == 1 and len(self.uses.readers(name)) == 1
        if variable is None or variable.persistable or not alone:
            return None
        return writers[0]

    def _constant(self, name):
        """A weight that the program does not write."""
        variable = self.block.find_var_recursive(name)
        return variable is not None and variable.persistable and not self.uses.writers(name)

    def _weights(self, op):
        """The slot that holds the weights, if this operator can be folded into."""
        if op.type in _CONVOLUTIONS or op.type in _TRANSPOSED:
            slot = "Filter"
            form = op.attr("data_format") if op.has_attr("data_format") else "NCHW"
            channels = self.rank - 1 if form in ("NHWC", "NDHWC") else 1
            if "ResidualData" in op.input_names and op.input("ResidualData"):
                return None
        elif op.type in _PRODUCTS:
            slot, channels = "Y", self.rank - 1
            turned = any(
                op.has_attr(a) and op.attr(a) for a in ("transpose_Y", "trans_y", "transpose_X")
            )
            wide = op.type == "mul" and op.attr("y_num_col_dims") != 1
            odd = op.has_attr("alpha") and op.attr("alpha") != 1.0
            weight = self.block.find_var_recursive(op.input("Y")[0])
            if turned or wide or odd or weight is None or len(weight.shape) != 2:
                return None
        else:
            return None
        constants = [op.input(slot)[0], *(self.norm.input(s)[0] for s in ("Scale", "Bias"))]
        if channels != self.axis or not all(self._constant(name) for name in constants):
            return None
        return slot

    @staticmethod
    def _factor(op, weight, factor):
        """The factor in a shape that multiplies the weights; None where it does not fit."""
        if op.type in _PRODUCTS:
            return factor if weight.shape[-1] == factor.size else None
        rest = (1,) * (weight.ndim - 2)
        if op.type in _CONVOLUTIONS:
            fits = weight.shape[0] == factor.size
            return factor.reshape(-1, 1, *rest) if fits else None
        groups = op.attr("groups") or 1
        if weight.shape[1] * groups != factor.size or weight.shape[0] % groups:
            return None
        # [C, M/groups, ...]: rows of a group have the factors of its own outputs
        table = factor.reshape(groups, 1, -1).repeat(weight.shape[0] // groups, axis=1)
        return table.reshape(weight.shape[0], weight.shape[1], *rest)

    def _rewrite(self, op, slot, own, weight, shift):
        block, norm = self.block, self.norm
        op.set_input(slot, [self._new(op.input(slot)[0], weight)])
        bias = self._new(norm.input("Bias")[0], shift)
        if own:
            op.set_input("Bias", [])
        (made,) = op.output("Output" if "Output" in op.output_names else "Out")
        if self.x != made:  # its own bias, which is part of the new one
            block.remove_op(self.uses.writers(self.x)[0].idx)
        index = norm.idx
        block.remove_op(index)
        act = "" if norm.type == "batch_norm" else norm.attr("act_type")
        summand = norm.input("Z") if norm.type == "fused_bn_add_activation" else []
        steps = [("elementwise_add", {"Y": bias}, {"axis": self.axis})]
        if summand:
            steps.append(("elementwise_add", {"Y": summand[0]}, {}))
        if act:
            steps.append((act, {}, {}))
        x = made
        for i, (type, inputs, attrs) in enumerate(steps):
            out = self.y
            if i + 1 < len(steps):
                like = block.var_recursive(self.y)
                out = block.create_var(
                    _free(f"{self.y}.folded", block, None), like.shape, like.dtype, like.lod_level
                ).name
            block.insert_op(index + i, type, {"X": x, **inputs}, {"Out": out}, attrs)
            x = out

    def _value(self, name):
        held = self.scope.find_var(name)
        if held is None or held.is_empty():
            variable = self.block.program.held.get(name)
            if variable is None:
                raise PreconditionNotMetError(
                    f"fold_inference: the variable '{name}' must hold a value in the scope, got "
                    "nothing. Run the startup program first, or pass scope="
                )
            return variable.numpy()
        return held.get().numpy()

    def _new(self, name, array):
        new = _free(f"{name}.folded", self.block, self.scope)
        self.block.create_var(new, array.shape, array.dtype.name, persistable=True)
        self.scope.var(new).set(_core.to_variable(np.ascontiguousarray(array)))
        return new


def _free(name, block, scope):
    number, free = 0, name
    while block.has_var(free) or (scope is not None and scope.find_var(free) is not None):
        number += 1
        free = f"{name}_{number}"
    return free
