"""Steps of training for traces, and a comparison with the same steps made eagerly.

`make(seed)` gives a model, its step and its inputs of any batch size; two of one seed are equal.
"""

import numpy as np

import dygraph
from dygraph import ops as F
from program.models import ConvNet, numbers


class Case:
    """A step with what it trains.

    Attributes
    ----------
    step : callable
    kept : list of Variable
        What the step changes: parameters, running means.
    """

    def __init__(self, step, kept, optimizers):
        self.step, self.kept, self.optimizers = step, kept, optimizers

    def inputs(self, n, seed):
        """A batch of n."""
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((n, 6)).astype("float32")
        y = rng.integers(0, 3, (n, 1)).astype("int64")
        return [dygraph.to_variable(x), dygraph.to_variable(y)]

    def states(self):
        """Every array that training has changed."""
        arrays = [v.numpy() for v in self.kept]
        for optimizer in self.optimizers:
            for value in optimizer.state_dict().values():
                if isinstance(value, dygraph.Variable):
                    arrays.append(value.numpy())
        return arrays


def weights(layer):
    return [*layer.parameters(), *layer.buffers()]


def mlp(dropout=0.0, norm=False):
    layers = [dygraph.nn.Linear(6, 8)]
    if norm:
        layers.append(dygraph.nn.BatchNorm(8))
    layers.append(dygraph.nn.ReLU())
    if dropout:
        layers.append(dygraph.nn.Dropout(dropout))
    return dygraph.nn.Sequential(*layers, dygraph.nn.Linear(8, 3))


def plain(make_optimizer, net=None, clear_first=False, minimize=False):
    """The usual step, with any optimizer."""

    def make():
        model = mlp() if net is None else net()
        optimizer = make_optimizer(model.parameters())

        def step(x, y):
            if clear_first:
                optimizer.clear_gradients()
            loss = dygraph.mean(F.softmax_with_cross_entropy(model(x), y))
            if minimize:
                optimizer.minimize(loss)
                return loss
            loss.backward()
            optimizer.step()
            if not clear_first:
                optimizer.clear_gradients()
            return loss

        return Case(step, weights(model), [optimizer])

    return make


def convnet():
    model = ConvNet()
    optimizer = dygraph.optimizer.Momentum(0.1, 0.9, parameter_list=model.parameters())

    def step(x, y):
        images = dygraph.reshape(dygraph.concat([x] * 22, axis=1)[:, :128], shape=[-1, 2, 8, 8])
        loss = dygraph.mean(F.softmax_with_cross_entropy(model(images), y))
        loss.backward()
        optimizer.step()
        optimizer.clear_gradients()
        return loss

    return Case(step, weights(model), [optimizer])


def adversarial():
    """A GAN: two networks, two optimizers, three backward passes through one of them."""
    maker, judge = mlp(), dygraph.nn.Sequential(dygraph.nn.Linear(3, 4), dygraph.nn.Linear(4, 1))
    first = dygraph.optimizer.Adam(0.01, parameter_list=maker.parameters())
    second = dygraph.optimizer.RMSProp(0.01, parameter_list=judge.parameters())

    def step(x, y):
        real = F.one_hot(y, depth=3)
        real = dygraph.reshape(real, shape=[-1, 3])
        made = maker(x)
        loss = dygraph.mean(F.softplus(judge(made.detach()))) + dygraph.mean(
            F.softplus(-judge(real))
        )
        loss.backward()
        second.step()
        second.clear_gradients()
        other = dygraph.mean(F.softplus(-judge(made)))
        other.backward()
        first.step()
        first.clear_gradients()
        second.clear_gradients()
        return loss, other

    return Case(step, weights(maker) + weights(judge), [first, second])


def stale():
    """The second loss was computed before the first update: backward reads the old weights."""
    model = mlp()
    optimizer = dygraph.optimizer.SGD(0.1, parameter_list=model.parameters())

    def step(x, y):
        out = model(x)
        first = dygraph.mean(F.softmax_with_cross_entropy(out, y))
        second = dygraph.mean(F.square(model(x * 0.5)))
        first.backward()
        optimizer.step()
        optimizer.clear_gradients()
        second.backward()
        optimizer.step()
        optimizer.clear_gradients()
        return first, second

    return Case(step, weights(model), [optimizer])


def penalty():
    """A penalty on the gradient with respect to the input: second order."""
    model = dygraph.nn.Sequential(
        dygraph.nn.Linear(6, 8), dygraph.nn.Tanh(), dygraph.nn.Linear(8, 1)
    )
    optimizer = dygraph.optimizer.Adam(0.01, parameter_list=model.parameters())

    def step(x, y):
        x = x * 1.0
        x.stop_gradient = False
        out = model(x)
        (slope,) = dygraph.grad(F.reduce_sum(out), x, create_graph=True)
        loss = dygraph.mean(F.square(slope)) + dygraph.mean(F.square(out))
        loss.backward()
        optimizer.step()
        optimizer.clear_gradients()
        return loss

    return Case(step, weights(model), [optimizer])


def sparse(make_optimizer):
    """An embedding with sparse gradients, rows repeated."""

    def make():
        table = dygraph.nn.Embedding([7, 4], is_sparse=True)
        head = dygraph.nn.Linear(4, 3)
        optimizer = make_optimizer([*table.parameters(), *head.parameters()])

        def step(x, y):
            ids = F.concat([y, y * 2, y], axis=1)
            out = head(F.reduce_sum(table(ids), dim=[1]))
            loss = dygraph.mean(F.softmax_with_cross_entropy(out, y))
            loss.backward()
            optimizer.step()
            optimizer.clear_gradients()
            return loss

        return Case(step, weights(table) + weights(head), [optimizer])

    return make


def accumulating():
    """Gradients of two micro-batches: the first call of each pair leaves them."""
    model = mlp()

    def step(x, y):
        loss = dygraph.mean(F.softmax_with_cross_entropy(model(x), y))
        loss.backward()
        return loss

    case = Case(step, weights(model), [])
    case.states = lambda: [p.grad.numpy() for p in model.parameters()]
    return case


def by_hand():
    """An update written with operators, and a running mean of the loss."""
    w = dygraph.Parameter(numbers(6, 3), name="w_by_hand")
    mean = dygraph.to_variable(np.zeros((), "float32"))

    def step(x, y):
        loss = dygraph.mean(F.softmax_with_cross_entropy(dygraph.matmul(x, w), y))
        (g,) = dygraph.grad(loss, w)
        with dygraph.no_grad():
            w.subtract_(g * 0.5)
            mean.multiply_(0.9)
            mean.add_(loss.detach() * 0.1)
        return loss, mean

    return Case(step, [w, mean], [])


class Cube(dygraph.PyLayer):
    """x^3 with a gradient of its own, which reads an output."""

    @staticmethod
    def forward(ctx, x):
        y = x * x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_variables
        return gradient * x * x * 3.0 + y * 0.0


def between(use):
    """A step whose logits go through `use` before the loss."""

    def make():
        model = mlp()
        adam = dygraph.optimizer.Adam(0.01, parameter_list=model.parameters())

        def step(x, y):
            loss = dygraph.mean(F.softmax_with_cross_entropy(use(model, x), y))
            loss.backward()
            adam.step()
            adam.clear_gradients()
            return loss

        return Case(step, weights(model), [adam])

    return make


def hooked(model, x):
    out = model(x)
    out.register_hook(dygraph.static.clip.ErrorClipByValue(max=0.05))
    return out


def written(model, x):
    out = model(x) * 1.0
    out[:, 0] = out[:, 1] * 2.0
    out.add_(1.0)
    return out


def frozen(model, x):
    with dygraph.no_grad():
        before = model(x)
    return model(x) - before * 0.5


def again(model, x):
    out = dygraph.recompute(lambda v: F.dropout(model(v), 0.3), x)
    return F.dropout(out, 0.2)


WAYS = {
    "hook": hooked,
    "function": lambda model, x: Cube.apply(model(x)),
    "written in place": written,
    "no_grad": frozen,
    "recompute": again,
}
