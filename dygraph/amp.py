"""Mixed precision: products in float16 or bfloat16, with the loss scaled so that gradients fit.

``with dygraph.amp.auto_cast():`` casts the inputs of operators as two lists say; parameters stay
float32. `GradScaler` multiplies the loss, divides the gradients, and skips steps whose gradients
are not finite. bfloat16 has the range of float32 and needs no scaler.

Examples
--------
>>> import dygraph
>>> net = dygraph.nn.Linear(4, 2)
>>> sgd = dygraph.optimizer.SGD(0.1, net.parameters())
>>> scaler = dygraph.amp.GradScaler(init_loss_scaling=1024.0)
>>> x = dygraph.ones([3, 4])
>>> with dygraph.amp.auto_cast():
...     loss = (net(x) ** 2).mean()
>>> scaler.scale(loss).backward()
>>> scaler.step(sgd)
>>> scaler.update()
>>> loss.dtype.name, net.weight.dtype.name
('float32', 'float32')
"""

import contextlib
from _thread import _local

from dygraph import _core
from dygraph.autograd.recording import modes, no_grad
from dygraph.core import check
from dygraph.core.sparse import selected_rows
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    UnimplementedError,
    kind_of,
)
from dygraph.inspect.shown import Shown

__all__ = ["GradScaler", "auto_cast", "black_list", "white_list"]

ops = _core.ops

_WHITE = (
    "bmm conv2d conv2d_transpose conv3d conv3d_transpose depthwise_conv2d "
    "depthwise_conv2d_transpose fc matmul matmul_v2 mul scaled_dot_product_attention"
).split()
_BLACK = (
    "bce_loss cross_entropy cross_entropy2 cumsum exp expm1 frobenius_norm group_norm "
    "huber_loss instance_norm kldiv_loss l1_norm layer_norm log log10 log1p log2 log_loss "
    "log_softmax logcumsumexp logsumexp mean nll_loss norm p_norm reduce_mean reduce_sum rms_norm "
    "rsqrt sigmoid_cross_entropy_with_logits smooth_l1_loss softmax softmax_with_cross_entropy "
    "square squared_l2_norm sum"
).split()


class _State(_local):
    def __init__(self):
        self.blocks = []  # that the thread is in


_state = _State()


def white_list():
    """The operators that `auto_cast` computes in the narrow type.

    Returns
    -------
    set of str

    Examples
    --------
    >>> import dygraph
    >>> "matmul_v2" in dygraph.amp.white_list()
    True
    """
    return set(_WHITE)


def black_list():
    """The operators that `auto_cast` computes in float32.

    Returns
    -------
    set of str

    Examples
    --------
    >>> import dygraph
    >>> "softmax" in dygraph.amp.black_list()
    True
    """
    return set(_BLACK)


class auto_cast(Shown, contextlib.ContextDecorator):  # noqa: N801 - Paddle's name
    """Compute products in a narrow type, for the calls of this thread in a block.

    Operators of the white list, products, convolutions and attention, get their float32 inputs as
    `dtype`; those of the black list, losses, norms of rows, sums and exponentials, get theirs as
    float32. Others compute in the type of their inputs, in float32 if these differ; batch_norm is
    one of them. Parameters and statistics of norms are float32 whatever is normalised. An operator
    that has no kernel for the narrow type on the device computes in float32, which `widened`
    counts. Casts are on the tape, so gradients have the types of their variables. float64 is left
    alone.

    Blocks nest; the inner one counts. Also a decorator of functions. Programs are not affected,
    except those recorded from calls in a block.

    Parameters
    ----------
    enable : bool, default True
        False: calls in the block compute as without.
    custom_white_list, custom_black_list : collection of str, optional
        Operators that are put on a list, and taken from the other one.
    level : {"O1", "O0"}
        O0 is ``enable=False``. There is no O2: parameters stay float32.
    dtype : {"float16", "bfloat16"}

    Raises
    ------
    InvalidArgumentError
        For an operator on both lists, an unknown level or type.
    NotFoundError
        For a name that is no operator.

    Examples
    --------
    >>> import dygraph
    >>> x, w = dygraph.ones([2, 3]), dygraph.ones([3, 4])
    >>> with dygraph.amp.auto_cast(dtype="bfloat16"):
    ...     y = x @ w
    >>> z = x @ w
    >>> y.tolist() == z.tolist()
    True
    """

    def __init__(
        self,
        enable=True,
        custom_white_list=None,
        custom_black_list=None,
        level="O1",
        dtype="float16",
    ):
        if level == "O2":
            raise UnimplementedError(
                "auto_cast: level must be O1, which keeps parameters in float32, got O2"
            )
        check.choice(level, ("O1", "O0"), "auto_cast: level")
        dtype = _core.dtype_of(dtype)
        check.choice(dtype.name, ("float16", "bfloat16"), "auto_cast: dtype")
        white = _names(custom_white_list, "custom_white_list")
        black = _names(custom_black_list, "custom_black_list")
        both = sorted(white & black)
        if both:
            raise InvalidArgumentError(
                f"auto_cast: an operator must be on one list only, got '{both[0]}' on both"
            )
        self.dtype = dtype
        self._layer = None
        if enable and level == "O1":
            self._layer = _core.AutoCast(
                dtype, sorted(white_list() - black | white), sorted(black_list() - white | black)
            )

    def widened(self):
        """Calls that computed in float32 because their place has no kernel of the narrow type.

        Returns
        -------
        dict of str to int
            By operator, since the block was made; empty on a device that had all kernels.

        Examples
        --------
        >>> import dygraph
        >>> x = dygraph.ones([2, 2])
        >>> with dygraph.amp.auto_cast() as block:
        ...     y = x @ x
        >>> block.widened()  # no product of the host is narrow
        {'matmul_v2': 1}
        """
        return {} if self._layer is None else self._layer.widened()

    def __enter__(self):
        if _state.blocks and _state.blocks[-1]._layer is not None:
            _state.blocks[-1]._layer.leave()
        _state.blocks.append(self)
        self._begin()
        return self

    def __exit__(self, *_):
        block = _state.blocks.pop()
        if block._layer is not None:
            block._layer.leave()
        modes.casts = None
        if _state.blocks:
            _state.blocks[-1]._begin()
        return False

    def _begin(self):
        if self._layer is not None:
            self._layer.enter()
        modes.casts = None if self._layer is None else self.dtype


def _names(given, what):
    if given is None:
        return set()
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise ArgumentTypeError(
            f"auto_cast: {what} must be a collection of names of operators, got {kind_of(given)}"
        )
    return set(given)


class GradScaler(Shown):
    """Scales losses, so that gradients of float16 do not vanish, and gradients back.

    Parameters
    ----------
    enable : bool, default True
        False: all methods do as if there were no scaler.
    init_loss_scaling : float
        The first factor.
    incr_ratio : float
        What the factor is multiplied with after `incr_every_n_steps` steps of finite gradients.
    decr_ratio : float
        And after `decr_every_n_nan_or_inf` others, whose updates are skipped.
    incr_every_n_steps, decr_every_n_nan_or_inf : int
        How many such steps in a row.
    use_dynamic_loss_scaling : bool, default True
        False: the factor stays.

    Notes
    -----
    `step` reads whether the gradients are finite. On a CUDA device this is the one wait of a step.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> w = dygraph.Parameter([1.0])
    >>> sgd = dygraph.optimizer.SGD(0.5, parameter_list=[w])
    >>> scaler = dygraph.amp.GradScaler(init_loss_scaling=8.0)
    >>> for factor in (np.inf, 1.0):
    ...     scaler.scale((w * factor).sum()).backward()
    ...     scaler.step(sgd)
    ...     scaler.update()
    ...     sgd.clear_grad()
    ...     print(w.item(), scaler.get_loss_scaling())
    1.0 4.0
    0.5 4.0
    """

    def __init__(
        self,
        enable=True,
        init_loss_scaling=65536.0,
        incr_ratio=2.0,
        decr_ratio=0.5,
        incr_every_n_steps=2000,
        decr_every_n_nan_or_inf=1,
        use_dynamic_loss_scaling=True,
    ):
        self._enable, self._dynamic = bool(enable), bool(use_dynamic_loss_scaling)
        owner = "GradScaler"
        self._incr_ratio = check.number(incr_ratio, f"{owner}: incr_ratio", 1)
        self._decr_ratio = check.number(decr_ratio, f"{owner}: decr_ratio", 0, 1)
        self._incr_every = check.integer(incr_every_n_steps, f"{owner}: incr_every_n_steps", 1)
        self._decr_every = check.integer(
            decr_every_n_nan_or_inf, f"{owner}: decr_every_n_nan_or_inf", 1
        )
        scaling = check.number(init_loss_scaling, f"{owner}: init_loss_scaling", 0)
        self._set(scaling, 0, 0)
        self._flags = [_core.to_variable([v]).to(_core.CPUPlace()) for v in (False, True)]
        self._found = {}  # by id of the optimizer, since the last update: whether a gradient is bad
        self._stepped = set()

    def _set(self, scaling, good, bad):
        host = _core.CPUPlace()
        self._scaling, self._good, self._bad = (
            _core.to_variable(v, None, dtype).to(host)
            for v, dtype in (([scaling], "float32"), ([good], "int32"), ([bad], "int32"))
        )

    def scale(self, loss):
        """A loss, or a list of them, times the factor.

        Parameters
        ----------
        loss : Variable, or list of Variable

        Returns
        -------
        Variable, or list of Variable
        """
        if isinstance(loss, (list, tuple)):
            return type(loss)(self.scale(each) for each in loss)
        check.variable(loss, "GradScaler.scale: loss")
        return loss * self.get_loss_scaling() if self._enable else loss

    @no_grad
    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer's parameters by the factor, before clipping them.

        `step` does so otherwise. Once for each optimizer between two `update`.

        Parameters
        ----------
        optimizer : Optimizer
        """
        if not self._enable:
            return
        if id(optimizer) in self._found:
            raise PreconditionNotMetError(
                "GradScaler.unscale_: update() must be called between two calls for an optimizer, "
                "got a second call"
            )
        groups = {}
        for p in optimizer._parameters:
            if p.grad is not None:
                groups.setdefault((p.grad.dtype, p.grad.place), []).append(p)
        found = [self._unscale_alike(group) for group in groups.values()]
        self._found[id(optimizer)] = any([flag.item() for flag in found])

    def _unscale_alike(self, parameters):
        grads = [p.grad for p in parameters]
        sparse = [_core.is_selected_rows(g) for g in grads]
        values = [_core.rows_value(g) if rows else g for g, rows in zip(grads, sparse, strict=True)]
        scaling = self._scaling.to(dtype=values[0].dtype)
        results, found = ops.check_finite_and_unscale(values, scaling)
        for p, g, rows, made in zip(parameters, grads, sparse, results, strict=True):
            p.grad = selected_rows(_core.rows(g), g.shape[0], made) if rows else made
        return found

    def step(self, optimizer):
        """``optimizer.step()`` with unscaled gradients, unless one of them is not finite.

        Parameters
        ----------
        optimizer : Optimizer
        """
        if not self._enable:
            return optimizer.step()
        if id(optimizer) in self._stepped:
            raise PreconditionNotMetError(
                "GradScaler.step: update() must be called between two steps of an optimizer, got a "
                "second step"
            )
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        if not self._found[id(optimizer)]:
            optimizer.step()

    @no_grad
    def update(self):
        """Adjust the factor to what the steps since the last call have found."""
        if not self._enable:
            return
        if not self._found:
            raise PreconditionNotMetError(
                "GradScaler.update: there must have been a step() or unscale_(), got none since "
                "the last update"
            )
        found = any(self._found.values())
        self._found.clear()
        self._stepped.clear()
        if not self._dynamic:
            return
        _, self._scaling, self._good, self._bad = ops.update_loss_scaling(
            [self._scaling],
            self._flags[found],
            self._scaling,
            self._good,
            self._bad,
            incr_every_n_steps=self._incr_every,
            decr_every_n_nan_or_inf=self._decr_every,
            incr_ratio=self._incr_ratio,
            decr_ratio=self._decr_ratio,
        )

    def minimize(self, optimizer, scaled_loss):
        """`step` and `update`; first ``scaled_loss.backward()`` if no parameter has a gradient.

        Parameters
        ----------
        optimizer : Optimizer
        scaled_loss : Variable
            What `scale` gave.
        """
        if all(p.grad is None for p in optimizer._parameters):
            scaled_loss.backward()
        self.step(optimizer)
        self.update()

    def is_enable(self):
        """Whether the scaler does anything.

        Returns
        -------
        bool
        """
        return self._enable

    def is_use_dynamic_loss_scaling(self):
        """Whether the factor changes.

        Returns
        -------
        bool
        """
        return self._dynamic

    def get_loss_scaling(self):
        """The factor; 1.0 if the scaler is disabled.

        Returns
        -------
        float
        """
        return self._scaling.item() if self._enable else 1.0

    get_scale = get_loss_scaling

    def state_dict(self):
        """The factor, the counts and the settings; empty if the scaler is disabled.

        Returns
        -------
        dict
        """
        if not self._enable:
            return {}
        return {
            "scale": self._scaling.item(),
            "incr_ratio": self._incr_ratio,
            "decr_ratio": self._decr_ratio,
            "incr_every_n_steps": self._incr_every,
            "decr_every_n_nan_or_inf": self._decr_every,
            "incr_count": self._good.item(),
            "decr_count": self._bad.item(),
            "use_dynamic_loss_scaling": self._dynamic,
        }

    def load_state_dict(self, state_dict):
        """Go on with what `state_dict` gave.

        Parameters
        ----------
        state_dict : dict
        """
        if not self._enable:
            return
        try:
            scaling, good, bad = (state_dict[k] for k in ("scale", "incr_count", "decr_count"))
            settings = [
                state_dict[k]
                for k in (
                    "incr_ratio",
                    "decr_ratio",
                    "incr_every_n_steps",
                    "decr_every_n_nan_or_inf",
                    "use_dynamic_loss_scaling",
                )
            ]
        except (KeyError, TypeError):
            raise InvalidArgumentError(
                "GradScaler.load_state_dict: the state must be that of an enabled scaler's "
                f"state_dict(), got {kind_of(state_dict)}"
            ) from None
        self._set(scaling, good, bad)
        self._incr_ratio, self._decr_ratio = settings[:2]
        self._incr_every, self._decr_every, self._dynamic = settings[2:]

    set_state_dict = load_state_dict
