"""Optimizers, schedules, clipping."""

import dygraph
from dygraph import lr, nn
from dygraph.optimizer import SGD, Adam, Momentum
from mistakes.common import floats, leaf


def no_parameters():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]

    SGD(0.1, parameter_list=Net().parameters())


def forgotten_parameter_list():
    Adam(0.001)


def the_layer_itself():
    return f"a layer is taken for its parameters, {Adam(0.001, parameter_list=nn.Linear(2, 2))}"


def a_generator_used_twice():
    parameters = (p for p in nn.Linear(2, 2).parameters())
    Adam(0.001, parameter_list=parameters)
    Adam(0.001, parameter_list=parameters)


def layers_in_a_plain_list():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.blocks = [nn.Linear(2, 2) for _ in range(3)]
            self.head = nn.Linear(2, 1)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    return f"{len(Net().parameters())} parameters"


def parameters_in_a_plain_list():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.weights = [dygraph.Parameter([1.0]), dygraph.Parameter([2.0])]

    return f"{len(Net().parameters())} parameters"


def one_parameter_where_a_list_is_expected():
    SGD(0.1, parameter_list=nn.Linear(2, 2).weight)


def a_parameter_twice():
    fc = nn.Linear(2, 2)
    SGD(0.1, parameter_list=[*fc.parameters(), fc.weight])


def the_result_of_an_operator():
    SGD(0.1, parameter_list=[leaf(2) * 2])


def arrays_for_parameters():
    SGD(0.1, parameter_list=[p.numpy() for p in nn.Linear(2, 2).parameters()])


def swapped_arguments():
    rule = SGD(nn.Linear(2, 2).parameters(), 0.1)
    return f"the parameters may stand first, as in torch, {rule!r}"


def parameters_second():
    Adam(0.1, nn.Linear(2, 2).parameters())


def negative_learning_rate():
    SGD(-0.1, parameter_list=nn.Linear(2, 2).parameters())


def learning_rate_as_text():
    SGD("0.1", parameter_list=nn.Linear(2, 2).parameters())


def beta_of_one():
    Adam(0.001, beta1=1.0, parameter_list=nn.Linear(2, 2).parameters())


def keyword_of_another_library():
    rule = Adam(lr=0.001, parameter_list=nn.Linear(2, 2).parameters())
    return f"lr is the learning rate, {rule!r}"


def betas_of_another_library():
    Adam(0.001, betas=(0.9, 0.99), parameter_list=nn.Linear(2, 2).parameters())


def negative_momentum():
    Momentum(0.1, momentum=-0.9, parameter_list=nn.Linear(2, 2).parameters())


def step_without_backward():
    net = nn.Linear(2, 2)
    sgd = SGD(0.1, parameter_list=net.parameters())
    before = net.weight.numpy()
    sgd.step()
    changed = (before != net.weight.numpy()).any()
    return f"parameters without gradient are passed over, changed: {changed}"


def minimize_of_a_loss_that_is_independent():
    net = nn.Linear(2, 2)
    SGD(0.1, parameter_list=net.parameters()).minimize(dygraph.mean(leaf(2)))


def minimize_of_a_number():
    net = nn.Linear(2, 2)
    SGD(0.1, parameter_list=net.parameters()).minimize(float(dygraph.mean(net(floats(1, 2)))))


def state_of_another_model():
    def trained(size):
        net = nn.Linear(size, 2)
        adam = Adam(0.1, parameter_list=net)
        dygraph.mean(net(floats(1, size))).backward()
        adam.step()
        return adam

    trained(3).set_state_dict(trained(2).state_dict())


def clip_as_a_number():
    SGD(0.1, parameter_list=nn.Linear(2, 2).parameters(), grad_clip=1.0)


def clip_of_a_negative_norm():
    dygraph.nn.ClipGradByGlobalNorm(-1.0)


def regularization_as_a_number():
    SGD(0.1, parameter_list=nn.Linear(2, 2).parameters(), regularization=1e-4)


def set_lr_with_a_schedule():
    net = nn.Linear(2, 2)
    SGD(lr.NoamDecay(64, 100), parameter_list=net.parameters()).set_lr(0.1)


def piecewise_with_too_few_values():
    lr.PiecewiseDecay([10, 20], [0.1, 0.01])


def piecewise_with_falling_boundaries():
    lr.PiecewiseDecay([20, 10], [0.1, 0.01, 0.001])


def step_decay_that_grows():
    lr.StepDecay(0.1, step_size=10, decay_rate=1.5)


def plateau_without_a_loss():
    lr.ReduceLROnPlateau(0.1).step()


def unknown_key_of_a_group():
    SGD(0.1, parameter_list=[{"params": nn.Linear(2, 2).parameters(), "momentum": 0.9}])
