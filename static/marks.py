"""What Fluid writes beside an operator's own attributes: hints for libraries, which change no value.

Programs carry them so that their messages are those Fluid gives.
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
_MARKS = {
    **dict.fromkeys(_ELEMENTWISE_TYPES, _ELEMENTWISE),
    **dict.fromkeys(_ACTIVATION_TYPES, _ACTIVATION),
}
_MARKS.update({f"{type}_grad": marks for type, marks in _MARKS.items()})


def write(desc):
    """Give an operator the marks of its type that it has not got."""
    for name, (type, value) in _MARKS.get(desc.type, {}).items():
        if not desc.has_attr(name):
            desc.set_attr(name, value, type)
