"""Models as a user of torch writes them, a few steps each, beside torch's recorded losses.

Weights and data come from NumPy, so that torch 2.13 gives the same numbers: each expected list was
printed by the same model there. `test_ten_models_more.py` has the other six.
"""

import collections
import math

import numpy as np

import dygraph
import dygraph.nn.functional as F
from dygraph import io, nn, optimizer
from dygraph.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch_weights import close, draw, fill, var

# Digits: a schedule, clipping, evaluation, resuming -----------------------------------------------


class Digits(io.Dataset):
    def __init__(self):
        rng = np.random.RandomState(0)
        centers = rng.randn(10, 64) * 1.2
        self.y = rng.randint(0, 10, 600)
        self.x = (centers[self.y] + rng.randn(600, 64)).astype("float32")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return (self.x[i] - np.float32(0.1)) / np.float32(1.5), int(self.y[i])


class MLP(nn.Layer):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.GELU(),
            nn.LayerNorm(32),
        )  # fmt: skip
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.net(x))


def mlp_and_optimizer():
    model = MLP()
    rate = dygraph.lr.CosineAnnealingDecay(0.05, T_max=4)
    rule = optimizer.Momentum(
        rate, 0.9, model.named_parameters(), use_nesterov=True, weight_decay=1e-4
    )
    return model, rate, rule


def test_mlp(tmp_path):
    data = Digits()
    loader = io.DataLoader(io.Subset(data, range(500)), batch_size=32, drop_last=True)
    model, rate, rule = mlp_and_optimizer()
    fill(model)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def epoch(model, rate, rule):
        model.train()
        total = 0.0
        for x, y in loader:
            rule.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            rule.step()
            total += loss.item() / len(loader)
        rate.step()
        return total, norm.item()

    @dygraph.no_grad()
    def accuracy():
        model.eval()
        pairs = (data[i] for i in range(500, 600))
        return np.mean([model(var(x[None])).argmax(1).item() == y for x, y in pairs])

    seen = [(*epoch(model, rate, rule), accuracy(), rate.get_last_lr()[0]) for _ in range(2)]
    close(seen, [[2.01446, 0.78375, 0.83, 0.042678], [0.78251, 0.31051, 1.0, 0.025]])

    path = tmp_path / "checkpoint"
    dygraph.save({"model": model.state_dict(), "rule": rule.state_dict(), "epoch": 2}, path)
    third = epoch(model, rate, rule)
    close(third, [0.57079, 0.19280])
    kept = dygraph.load(path)
    model, rate, rule = mlp_and_optimizer()
    model.load_state_dict(kept["model"])
    rule.load_state_dict(kept["rule"])
    assert epoch(model, rate, rule) == third


# A residual network -------------------------------------------------------------------------------


class Block(nn.Layer):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2D(inputs, outputs, 3, stride, padding=1, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(outputs)
        self.conv2 = nn.Conv2D(outputs, outputs, 3, padding="same", bias_attr=False)
        self.bn2 = nn.BatchNorm2D(outputs)
        self.down = None
        if stride != 1 or inputs != outputs:
            self.down = nn.Sequential(
                nn.Conv2D(inputs, outputs, 1, stride, bias_attr=False), nn.BatchNorm2D(outputs)
            )

    def forward(self, x):
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(out + (x if self.down is None else self.down(x)))


class ResNet(nn.Layer):
    def __init__(self, classes=5):
        super().__init__()
        self.stem = nn.Sequential(
            collections.OrderedDict(
                conv=nn.Conv2D(3, 8, 3, padding="same"), bn=nn.BatchNorm2D(8),
                act=nn.LeakyReLU(0.1), pool=nn.MaxPool2D(2),
            )
        )  # fmt: skip
        self.layers = nn.LayerList([Block(8, 8), Block(8, 16, 2)])
        self.up = nn.Conv2DTranspose(16, 16, 2, stride=2)
        self.norm = nn.GroupNorm(16, 4)
        self.pool, self.drop = nn.AdaptiveAvgPool2D((1, 1)), nn.Dropout(0.0)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        x = F.interpolate(F.silu(self.norm(self.up(x))), scale_factor=2, mode="bilinear")
        x = F.avg_pool2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), 2)
        return self.fc(self.drop(self.pool(x).flatten(1)))


def test_cnn():
    rng = np.random.RandomState(1)
    x, y = var(rng.rand(48, 3, 16, 16)), dygraph.to_variable(rng.randint(0, 5, 48))
    over = {"dim": (0, 2, 3), "keepdim": True}
    x = (x - x.mean(**over)) / x.std(**over, correction=1)
    model = fill(ResNet())
    rate = dygraph.lr.StepDecay(1e-3, step_size=2, decay_rate=0.5)
    rule = optimizer.Adam(model.parameters(), lr=rate, beta2=0.99)
    losses = []
    for epoch in range(3):
        total = 0.0
        for i in range(0, 48, 16):
            batch = dygraph.flip(x[i : i + 16], dims=[3]) if epoch % 2 else x[i : i + 16]
            weights = var([1, 1, 2, 1, 1])
            loss = F.cross_entropy(model(batch), y[i : i + 16], weight=weights)
            rule.zero_grad(set_to_none=True)
            loss.backward()
            rule.step()
            total += loss.item() / 3
        rate.step()
        losses.append(total)
    close(losses, [1.94349, 1.92359, 1.90282])

    kept = {k: v for k, v in model.state_dict().items() if not k.startswith("fc.")}
    report = ResNet(7).load_state_dict(kept, strict=False)
    assert (report.missing_keys, report.unexpected_keys) == (["fc.weight", "fc.bias"], [])
    model.requires_grad_(False)
    model.fc = nn.Linear(16, 3)
    F.cross_entropy(model(x), y % 3).backward()
    rule.zero_grad()
    assert [n for n, p in model.named_parameters() if p.grad is not None] == [
        "fc.weight", "fc.bias",
    ]  # fmt: skip


# A language model of ragged sentences -------------------------------------------------------------

TEXT = (
    "the quick brown fox jumps over the lazy dog . a dog is a fox . the fox is quick . over the "
    "dog a fox jumps ."
)


class LanguageModel(nn.Layer):
    def __init__(self, words):
        super().__init__()
        self.emb = nn.Embedding([words, 16], padding_idx=0)
        self.rnn = nn.LSTM(16, 24, num_layers=2, batch_first=True)
        self.out = nn.Linear(24, words)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.emb(x), lengths, batch_first=True)
        outputs, states = self.rnn(packed)
        return self.out(pad_packed_sequence(outputs, batch_first=True)[0]), states


def test_lstm():
    sentences = [s.split() for s in TEXT.split(".") if s.strip()]
    words = {w: i + 1 for i, w in enumerate(sorted({w for s in sentences for w in s}))}
    data = [dygraph.to_variable([words[w] for w in s]) for s in sentences]

    def collate(batch):
        x = pad_sequence([s[:-1] for s in batch], batch_first=True)
        y = pad_sequence([s[1:] for s in batch], batch_first=True, padding_value=-100)
        return x, y, dygraph.to_variable([len(s) - 1 for s in batch])

    model = fill(LanguageModel(len(words) + 1))
    rate = dygraph.lr.ReduceLROnPlateau(0.01, decay_rate=0.5, patience=2)
    rule = optimizer.AdamW(model.parameters(), lr=rate, weight_decay=0.0)  # torch's Adam
    criterion = nn.CrossEntropyLoss(ignore_index=-100, reduction="sum")
    loader = io.DataLoader(data, batch_size=2, collate_fn=collate)
    perplexities = []
    for _ in range(8):
        total = count = 0
        for x, y, lengths in loader:
            logits, (h, _) = model(x, lengths)
            loss = criterion(logits.view(-1, logits.size(-1)), y.view(-1))
            rule.zero_grad()
            (loss / (y != -100).sum()).backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.5)
            rule.step()
            total, count = total + loss.item(), count + (y != -100).sum().item()
        rate.step(total / count)
        perplexities.append(math.exp(total / count))
    close(perplexities[1::2], [10.3520, 9.2691, 8.3435, 7.0676])
    assert h.shape == (2, 2, 24)

    model.eval()
    index, state = dygraph.to_variable([[words["the"]]]), None
    with dygraph.no_grad():
        for _ in range(3):
            outputs, state = model.rnn(model.emb(index), state)
            p = F.softmax(model.out(outputs[:, -1]) / 0.8, dim=-1)
            index = dygraph.multinomial(p, num_samples=1)
            assert index.shape == (1, 1) and 0 <= index.item() <= len(words)


# A transformer that starts from torch's weights ---------------------------------------------------


class Classifier(nn.Layer):
    def __init__(self, words, d=16, classes=3):
        super().__init__()
        self.cls = dygraph.Parameter(dygraph.zeros(1, 1, d))
        self.emb = nn.Embedding([words, d])
        layer = nn.TransformerEncoderLayer(
            d, 4, 32, dropout=0.0, activation="gelu", normalize_before=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, norm=nn.LayerNorm(d))
        self.head = nn.Linear(d, classes)
        position = dygraph.arange(50.0).unsqueeze(1)
        rates = dygraph.exp(dygraph.arange(0.0, d, 2) * (-math.log(10000.0) / d))
        waves = [dygraph.sin(position * rates), dygraph.cos(position * rates)]
        self.register_buffer("pe", dygraph.stack(waves, -1).view(1, 50, d), persistable=False)

    def forward(self, x, padding):
        h = self.emb(x) * math.sqrt(self.emb.weight.shape[1])
        h = dygraph.concat([self.cls.expand(x.size(0), -1, -1), h], dim=1)
        h = h + self.pe[:, : h.size(1)]
        padding = F.pad(padding, (1, 0), value=False)
        return self.head(self.encoder(h, ~padding[:, None, None, :])[:, 0])


def torch_state():
    """The state of the same model in torch, in its order and shapes."""
    shapes = {"cls": (1, 1, 16), "emb.weight": (20, 16)}
    for i in range(2):
        for name, shape in {
            "self_attn.in_proj_weight": (48, 16), "self_attn.in_proj_bias": (48,),
            "self_attn.out_proj.weight": (16, 16), "self_attn.out_proj.bias": (16,),
            "linear1.weight": (32, 16), "linear1.bias": (32,), "linear2.weight": (16, 32),
            "linear2.bias": (16,), "norm1.weight": (16,), "norm1.bias": (16,),
            "norm2.weight": (16,), "norm2.bias": (16,),
        }.items():  # fmt: skip
            shapes[f"encoder.layers.{i}.{name}"] = shape
    shapes |= {"encoder.norm.weight": (16,), "encoder.norm.bias": (16,)}
    shapes |= {"head.weight": (3, 16), "head.bias": (3,)}
    rng = np.random.RandomState(0)
    return {name: draw(rng, shape).astype("float32") for name, shape in shapes.items()}


def test_transformer():
    rng = np.random.RandomState(2)
    x = dygraph.to_variable(rng.randint(1, 20, (32, 12)))
    lengths = dygraph.to_variable(rng.randint(4, 13, 32))
    padding = dygraph.arange(12)[None, :] >= lengths[:, None]
    x = x.masked_fill(padding, 0)
    y = x.sum(1) % 3
    model = Classifier(20)
    model.load_state_dict(torch_state(), from_torch=True)
    named = list(model.named_parameters())
    groups = [
        {"params": [p for _, p in named if p.ndim > 1], "weight_decay": 0.01},
        {"params": [p for _, p in named if p.ndim == 1], "weight_decay": 0.0},
    ]
    rate = dygraph.lr.LambdaDecay(1e-3, lambda step: min((step + 1) / 5, 1.0))
    rule = optimizer.AdamW(groups, lr=rate, beta2=0.98)
    losses = []
    for _ in range(12):
        loss = F.cross_entropy(model(x, padding), y)
        rule.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        rule.step()
        rate.step()
        losses.append(loss.item())
    close(losses[3::4], [1.09801, 1.02918, 0.97495])
