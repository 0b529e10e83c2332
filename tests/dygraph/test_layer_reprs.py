"""The text of a layer is a line that makes one like it."""

import pytest

from dygraph import nn

LINES = """
AdaptiveAvgPool2D(3)
AvgPool2D([2, 2], pool_stride=[2, 2], pool_padding=[1, 1], exclusive=False)
BCELoss(reduction='sum')
BatchNorm(4, act='relu', momentum=0.5, epsilon=1e-05)
BatchNorm2D(4, momentum=0.9, epsilon=1e-05)
CTCLoss(reduction='mean', blank=2)
Conv1D(4, 3, filter_size=[3], bias_attr=False)
Conv2D(4, 6, filter_size=[3, 3], padding=[1, 1], groups=2, act='relu')
Conv2DTranspose(4, 3, filter_size=[3, 3], stride=[2, 2], output_padding=[1, 1])
CosineEmbeddingLoss(margin=0.1, reduction='mean')
CrossEntropyLoss(reduction='mean', ignore_index=0, axis=1, label_smoothing=0.1)
Dropout(p=0.4)
Dropout(p=0.4, dropout_implementation='downgrade_in_infer')
ELU(alpha=0.5)
Embedding([9, 4], is_sparse=True, padding_idx=-1)
Flatten(start_axis=1, stop_axis=-1)
GELU(approximate=True)
GaussianNLLLoss(reduction='mean', full=True)
GroupNorm(4, 2, epsilon=1e-05, act='relu')
HuberLoss(reduction='mean', delta=0.5)
InstanceNorm2D(4, epsilon=1e-05)
KLDivLoss(reduction='batchmean', log_target=True)
LSTM(6, 3, num_layers=2)
LayerNorm([6], shift=False, epsilon=1e-06, act='relu')
LeakyReLU(alpha=0.01)
Linear(6, 3, bias_attr=False, act='tanh')
LocalResponseNorm(5, alpha=0.0001, beta=0.75, k=1.0)
MaxPool2D([2, 2], pool_stride=[2, 2], pool_padding=[0, 0], ceil_mode=True)
NLLLoss(reduction='mean', ignore_index=3)
PRelu(mode='channel', channel=4)
PRelu(mode='element', input_shape=[1, 3, 2])
PReLU(4)
Pad2D([1, 2, 0, 0], mode='constant', value=2.0)
PoissonNLLLoss(reduction='mean', log_input=False)
RMSNorm([6], epsilon=1e-06)
SmoothL1Loss(reduction='mean', beta=0.5)
Softshrink(threshold=0.25)
TripletMarginLoss(margin=1.0, reduction='mean', p=3.0, swap=True)
Unfold([2, 2], stride=[2, 2])
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_the_text_makes_the_layer_again(line):
    layer = eval(line, {name: getattr(nn, name) for name in nn.__all__})
    assert repr(layer) == line
