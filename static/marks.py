"""Attributes that Fluid adds to an operator's own: hints for libraries, without effect.

Programs have them so that their messages equal Fluid's.
"""

_FALSE = ("BOOLEAN", False)
_ELEMENTWISE = {
    "use_mkldnn": _FALSE, "x_data_format": ("STRING", ""), "y_data_format": ("STRING", "")
}  # fmt: skip
_ACTIVATION = {"use_cudnn": _FALSE, "use_mkldnn": _FALSE}

_ELEMENTWISE_TYPES = [f"elementwise_{what}" for what in "add sub mul div max min pow mod".split()]
_ACTIVATION_TYPES = (
    "relu tanh sigmoid sqrt abs square exp log ceil floor round cos sin reciprocal rsqrt "
    "logsigmoid softsign softplus"
).split()
HINTS = {
    **dict.fromkeys(_ELEMENTWISE_TYPES, _ELEMENTWISE),
    **dict.fromkeys(_ACTIVATION_TYPES, _ACTIVATION),
}
HINTS["sum"] = HINTS["gaussian_random"] = {"use_mkldnn": _FALSE}
HINTS["softmax"] = {"is_test": _FALSE, "use_cudnn": _FALSE, "use_mkldnn": _FALSE}
HINTS["adam"] = {"min_row_size_to_use_multithread": ("LONG", 1000)}
HINTS["conv2d"] = {
    "Scale_in": ("FLOAT", 1.0), "Scale_in_eltwise": ("FLOAT", 1.0), "Scale_out": ("FLOAT", 1.0),
    "Scale_weights": ("FLOATS", [1.0]), "exhaustive_search": _FALSE, "force_fp32_output": _FALSE,
    "fuse_activation": ("STRING", ""), "fuse_alpha": ("FLOAT", 0.0), "fuse_beta": ("FLOAT", 0.0),
    "fuse_brelu": _FALSE, "fuse_brelu_threshold": ("FLOAT", 6.0), "fuse_relu": _FALSE,
    "fuse_relu_before_depthwise_conv": _FALSE, "fuse_residual_connection": _FALSE,
    "is_test": _FALSE, "use_cudnn": ("BOOLEAN", True), "use_mkldnn": _FALSE,
    "use_quantizer": _FALSE, "workspace_size_MB": ("INT", 512),
}  # fmt: skip
HINTS.update({f"{type}_grad": marks for type, marks in HINTS.items()})


def of(type):
    """Names of the marks of an operator, with those of every operator."""
    return {"op_role", "op_role_var", "op_namescope", "op_device", "op_callstack"} | set(
        HINTS.get(type, ())
    )
