"""The other six models of `test_ten_models.py`: generators, agents, graphs, second derivatives."""

import collections
import math
import random

import numpy as np

import dygraph
import dygraph.nn.functional as F
from dygraph import io, nn, optimizer
from dygraph.distribution import Categorical, Normal, kl_divergence
from torch_weights import close, fill, var

# A variational autoencoder ------------------------------------------------------------------------


class VAE(nn.Layer):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(36, 32), nn.Softplus())
        self.mean, self.log_var = nn.Linear(32, 4), nn.Linear(32, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ELU(), nn.Linear(32, 36))

    def forward(self, x, noise):
        h = self.enc(x)
        mean, log_var = self.mean(h), self.log_var(h)
        return self.dec(mean + noise * dygraph.exp(0.5 * log_var)), mean, log_var


def test_vae():
    rng = np.random.RandomState(3)
    x = var(rng.rand(64, 1, 6, 6) > 0.5).view(-1, 36)
    model = fill(VAE())
    rule = optimizer.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    losses = []
    for epoch in range(6):
        logits, mean, log_var = model(x, var(rng.randn(64, 4)))
        kl = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum()
        cross = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
        loss = (cross + min(1.0, epoch / 3) * kl) / x.size(0)
        rule.zero_grad()
        loss.backward()
        rule.step()
        losses.append(loss.item())
    close(losses[1::2], [27.4119, 26.0569, 25.8219])
    q = Normal(mean, dygraph.exp(0.5 * log_var))
    same = kl_divergence(q, Normal(0.0, 1.0)).sum()
    np.testing.assert_allclose(same.item(), kl.item(), rtol=1e-5)
    assert q.rsample().requires_grad


# A generative adversarial network -----------------------------------------------------------------


def test_gan():
    no_bias = {"bias_attr": False}
    generator = nn.Sequential(
        nn.Conv2DTranspose(8, 16, 4, 1, 0, **no_bias), nn.BatchNorm2D(16), nn.ReLU(),
        nn.Conv2DTranspose(16, 8, 4, stride=2, padding=1, **no_bias), nn.BatchNorm2D(8),
        nn.ReLU(), nn.Conv2DTranspose(8, 1, 4, stride=2, padding=1, **no_bias), nn.Tanh(),
    )  # fmt: skip
    critic = nn.Sequential(
        nn.Conv2D(1, 8, 4, 2, 1, **no_bias), nn.LeakyReLU(0.2),
        nn.Conv2D(8, 16, 4, 2, 1, **no_bias), nn.BatchNorm2D(16), nn.LeakyReLU(0.2),
        nn.Conv2D(16, 1, 4, 1, 0, **no_bias), nn.Sigmoid(), nn.Flatten(0),
    )  # fmt: skip
    fill(generator, 1), fill(critic, 2)
    rules = [
        optimizer.Adam(net.parameters(), lr=2e-4, beta1=0.5, beta2=0.999)
        for net in (generator, critic)
    ]
    criterion, rng, seen = nn.BCELoss(), np.random.RandomState(5), []
    real, fake = dygraph.ones(8), dygraph.zeros(8)
    for _ in range(5):
        images = dygraph.tanh(var(rng.randn(8, 1, 16, 16)))
        critic.zero_grad()
        loss_real = criterion(critic(images), real)
        loss_real.backward()
        made = generator(var(rng.randn(8, 8, 1, 1)))
        loss_fake = criterion(critic(made.detach()), fake)
        loss_fake.backward()
        rules[1].step()
        generator.zero_grad()
        loss = criterion(critic(made), real)
        loss.backward()
        rules[0].step()
        seen.append([loss_real.item() + loss_fake.item(), loss.item()])
    expected = [[3.1274, 0.0963], [3.0320, 0.1298], [3.1142, 0.1562], [2.6195, 0.1438]]
    close(seen, [*expected, [2.9582, 0.1567]])
    with dygraph.no_grad():  # an average of the generator's weights
        average = [p.clone() for p in generator.parameters()]
        for a, p in zip(average, generator.parameters(), strict=True):
            a.mul_(0.99).add_(p, alpha=0.01)
            np.testing.assert_allclose(a.numpy(), p.numpy(), rtol=1e-5, atol=1e-7)


# Learning to act: a deep Q network, and a policy gradient -----------------------------------------


class Duel(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 32), nn.Linear(32, 32)
        self.value, self.adv = nn.Linear(32, 1), nn.Linear(32, 2)

    def forward(self, x):
        x = F.relu(self.fc2(F.relu(self.fc1(x))))
        a = self.adv(x)
        return self.value(x) + a - a.mean(dim=1, keepdim=True)


def test_dqn():
    rng, dice = np.random.RandomState(0), random.Random(0)
    policy, target = fill(Duel()), Duel()
    target.load_state_dict(policy.state_dict())
    rule = optimizer.AdamW(policy.parameters(), lr=1e-3)
    memory, losses = collections.deque(maxlen=1000), []

    def learn():
        states, actions, nexts, rewards = zip(*dice.sample(list(memory), 32), strict=True)
        alive = dygraph.to_variable([s is not None for s in nexts])
        q = dygraph.take_along_axis(policy(var(states)), dygraph.to_variable(actions), 1)
        wanted = dygraph.zeros(32)
        with dygraph.no_grad():
            after = var([s for s in nexts if s is not None])
            best = policy(after).argmax(1, keepdim=True)
            wanted[alive] = dygraph.take_along_axis(target(after), best, 1).squeeze(1)
        loss = nn.SmoothL1Loss()(q, (wanted * 0.99 + var(rewards)).unsqueeze(1))
        rule.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        rule.step()
        with dygraph.no_grad():
            for t, p in zip(target.parameters(), policy.parameters(), strict=True):
                t.lerp_(p, 0.005)
        return loss.item()

    loss = None
    for _ in range(8):
        state = rng.randn(4).astype("float32")
        for step in range(10):
            with dygraph.no_grad():
                greedy = dice.random() > 0.3
                best = policy(var(state[None])).argmax(1).item() if greedy else dice.randrange(2)
            after = (0.9 * state + 0.1 * (best - 0.5)).astype("float32")
            last = None if step == 9 else after
            memory.append((state, [best], last, -np.abs(after).sum()))
            state = after
            loss = learn() if len(memory) >= 32 else None
        losses.append(loss)
    close(losses[3:], [0.94105, 1.20865, 1.07777, 0.64309, 0.53984])


def test_policy_gradient():
    rng = np.random.RandomState(7)
    policy = fill(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2)), 3)
    states, rule = var(rng.randn(64, 4)), optimizer.Adam(policy.parameters(), lr=0.05)
    dygraph.seed(0)
    for _ in range(40):
        chosen = Categorical(logits=policy(states))
        actions = chosen.sample()
        reward = (actions == (states[:, 0] > 0).long()).float()  # act by the sign of the first
        loss = -(chosen.log_prob(actions) * (reward - reward.mean())).mean()
        loss = loss - 0.01 * chosen.entropy().mean()
        rule.zero_grad()
        loss.backward()
        rule.step()
    assert (policy(states).argmax(1) == (states[:, 0] > 0).long()).float().mean().item() > 0.9


# Messages between the nodes of a graph ------------------------------------------------------------


class Convolution(nn.Layer):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = self.create_parameter([inputs, outputs])
        self.bias = self.create_parameter([outputs], is_bias=True)

    def forward(self, x, edges):
        source, target = edges
        degree = dygraph.zeros(len(x)).index_add(0, target, dygraph.ones(len(target)))
        rate = dygraph.where(degree > 0, degree.clamp(min=1).rsqrt(), 0.0)
        h = x @ self.weight
        messages = h[source] * (rate[source] * rate[target])[:, None]
        return dygraph.zeros_like(h).index_add(0, target, messages) + self.bias


class Attention(nn.Layer):
    def __init__(self, inputs, outputs, heads=2):
        super().__init__()
        self.heads = heads
        self.lin = nn.Linear(inputs, heads * outputs, bias_attr=False)
        kinds = ("dst", "src")
        self.att = nn.ParameterDict(
            {kind: dygraph.Parameter(dygraph.zeros(1, heads, outputs)) for kind in kinds}
        )

    def forward(self, x, edges):
        source, target = edges
        h = self.lin(x).view(len(x), self.heads, -1)
        source_score, target_score = ((h * self.att[kind]).sum(-1) for kind in ("src", "dst"))
        score = F.leaky_relu(source_score[source] + target_score[target], 0.2)
        lowest = dygraph.full((len(x), self.heads), -math.inf)
        most = dygraph.ops.put_along_axis(lowest, target[:, None], score.detach(), 0, "amax")
        weight = (score - most[target]).exp()
        total = dygraph.zeros(len(x), self.heads).index_add(0, target, weight)
        weight = weight / (total[target] + 1e-16)
        return dygraph.zeros_like(h).index_add(0, target, h[source] * weight[..., None]).flatten(1)


class GraphNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self.convs = nn.LayerList([Convolution(8, 16), Attention(16, 8)])
        self.lin = nn.Linear(16, 3)
        self.alpha = nn.ParameterList([dygraph.Parameter(dygraph.zeros(1)) for _ in range(2)])

    def forward(self, x, edges):
        for alpha, conv in zip(self.alpha, self.convs, strict=True):
            x = F.elu(conv(x, edges)) * (1 + alpha)
        return F.log_softmax(self.lin(x), dim=1)


def test_graph_network():
    rng = np.random.RandomState(0)
    edges = dygraph.to_variable(rng.randint(0, 30, (2, 120)))
    x, y = var(rng.randn(30, 8)), dygraph.to_variable(rng.randint(0, 3, 30))
    model = fill(GraphNet())
    groups = [
        {"params": model.convs.parameters(), "weight_decay": 5e-4},
        {"params": [*model.lin.parameters(), *model.alpha.parameters()]},
    ]
    rule, losses = optimizer.Adam(groups, lr=0.01), []
    for _ in range(10):
        loss = F.nll_loss(model(x, edges)[:20], y[:20])
        rule.zero_grad()
        loss.backward()
        rule.step()
        losses.append(loss.item())
    close(losses[::3], [1.23625, 1.06118, 0.96900, 0.91154])


# Derivatives of derivatives: a gradient penalty, and learning to learn ----------------------------


def test_gradient_penalty():
    rng = np.random.RandomState(0)
    generator = fill(nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2)), 1)
    critic = nn.Sequential(
        nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16), nn.Softplus(), nn.Linear(16, 1)
    )
    fill(critic, 2)
    rates = {"lr": 1e-3, "beta1": 0.0, "beta2": 0.9}
    of_critic = optimizer.Adam(critic.parameters(), **rates)
    of_generator = optimizer.Adam(generator.parameters(), **rates)
    seen = []
    for _ in range(4):
        for _ in range(2):
            real, fake = var(rng.randn(16, 2)) * 0.5 + 2, generator(var(rng.randn(16, 2))).detach()
            share = var(rng.rand(16, 1))
            x = (share * real + (1 - share) * fake).requires_grad_()
            (slope,) = dygraph.autograd.grad(critic(x).sum(), x, create_graph=True)
            penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean() * 10
            loss = critic(fake).mean() - critic(real).mean() + penalty
            of_critic.zero_grad()
            loss.backward()
            of_critic.step()
        wanted = -critic(generator(var(rng.randn(16, 2)))).mean()
        of_generator.zero_grad()
        wanted.backward()
        of_generator.step()
        seen.append([loss.item(), penalty.item(), wanted.item()])
    expected = [[3.43769, 3.12301, -1.43691], [3.39866, 3.07572, -1.45538]]
    close(seen, [*expected, [3.07178, 2.70696, -1.43707], [2.94007, 2.51394, -1.49255]])


def test_learning_to_learn():
    rng = np.random.RandomState(1)

    def net(x, p):
        return F.linear(dygraph.tanh(F.linear(x, p[0].T, p[1])), p[2].T, p[3])

    weights = [
        var(rng.randn(16, 1)).requires_grad_(),
        dygraph.zeros(16, requires_grad=True),
        (var(rng.randn(1, 16)) * 0.2).requires_grad_(),
        dygraph.zeros(1, requires_grad=True),
    ]
    rule, seen = optimizer.SGD(weights, lr=1e-2), []
    for _ in range(4):
        total = 0.0
        for _ in range(3):
            size, phase = rng.rand(2).tolist()
            known, asked = var(rng.randn(10, 1)), var(rng.randn(10, 1))
            fast = weights
            for _ in range(2):
                loss = F.mse_loss(net(known, fast), 2 * size * dygraph.sin(known + phase))
                slopes = dygraph.grad(loss, fast, create_graph=True)
                fast = [w - 0.1 * g for w, g in zip(fast, slopes, strict=True)]
            loss = F.mse_loss(net(asked, fast), 2 * size * dygraph.sin(asked + phase))
            total = total + loss / 3
        rule.zero_grad()
        total.backward()
        rule.step()
        seen.append([total.item(), weights[0].grad.norm().item()])
    close(seen, [[0.0051, 0.00233], [0.28934, 0.05395], [0.23706, 0.27186], [0.06498, 0.01434]])


# Learning distances: a custom gradient, hooks, groups of parameters -------------------------------


class Reverse(dygraph.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -grad * ctx.factor, None


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
        self.proj, self.dom = nn.Linear(16, 8), nn.Linear(16, 2)

    def forward(self, x):
        h = self.body(x)
        return self.proj(h.clamp(-1, 1)), self.dom(Reverse.apply(h, 0.5))


class Contrast(nn.Layer):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.scale = dygraph.Parameter(np.float32(math.log(1 / temperature)))

    def forward(self, z, y):
        z = F.normalize(z, dim=1)
        likeness = dygraph.einsum("id,jd->ij", z, z) * self.scale.exp()
        likeness = likeness - likeness.max(axis=1, keepdim=True).detach()
        other = ~dygraph.eye(len(z)).bool()
        friends = (y[:, None] == y[None, :]) & other
        logs = likeness - ((likeness.exp() * other).sum(1, keepdim=True)).log()
        count = friends.sum(1)
        return -((logs * friends).sum(1)[count > 0] / count[count > 0]).mean()


def test_metric_learning():
    rng = np.random.RandomState(0)
    x = var(rng.randn(40, 10))
    y, domain = (dygraph.to_variable(rng.randint(0, n, 40)) for n in (4, 2))
    model, criterion = fill(Encoder()), Contrast()
    rule = optimizer.Adam(
        [
            {"params": model.body.parameters(), "lr": 1e-3},
            {"params": model.proj.parameters()},
            {"params": criterion.parameters(), "lr": 1e-4},
            {"params": model.dom.parameters(), "lr": 5e-3},
        ],
        lr=1e-2,
    )
    norms, losses = [], []
    model.body[0].weight.register_hook(lambda g: norms.append(g.norm().item()) or g * 0.5)
    for _ in range(3):
        for a, b, c in io.DataLoader(io.TensorDataset(x, y, domain), batch_size=20):
            z, guess = model(a)
            loss = criterion(z, b) + 0.1 * F.cross_entropy(guess, c)
            rule.zero_grad()
            loss.backward()
            rule.step()
        losses.append(loss.item())
    close(losses, [3.59775, 3.28769, 3.12344])
    assert len(norms) == 6
