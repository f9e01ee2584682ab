"""Models to compare graphs with distsim's own families: ResNet-50 v1.5, BERT-large, GPT-2 small, DLRM. Written for this
purpose after their papers, without data; `python3 -m distsim_capture models:bert_large --input 8x128:int64 ...`."""
import torch
from torch import nn
from torch.nn import functional


class Bottleneck(nn.Module):
    """He et al. 2015; the stride at the 3x3 convolution is v1.5."""

    def __init__(self, channels, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.short = None
        if stride != 1 or channels != out:
            self.short = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.short is None else self.short(x)
        return self.relu(y)


def resnet50():
    layers, channels = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
    for i, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, 2 if i > 0 and block == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Attention(nn.Module):
    def __init__(self, width, heads, dropout=0.1):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out, self.dropout = nn.Linear(width, width), nn.Dropout(dropout)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-1, -2) / (q.shape[-1] ** 0.5)
        weights = self.dropout(functional.softmax(scores + mask, -1))
        y = (weights @ v).transpose(1, 2).contiguous()
        return self.out(y.view(x.shape))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2, self.dropout = nn.LayerNorm(width), nn.LayerNorm(width), nn.Dropout(0.1)

    def feed_forward(self, x):
        return self.dropout(self.down(functional.gelu(self.up(x))))

    def forward(self, x, mask):
        x = self.norm1(x + self.dropout(self.attention(x, mask)))
        return self.norm2(x + self.feed_forward(x))


class Bert(nn.Module):
    """Devlin et al. 2018, with the heads of pre-training; `masked` are the places of the words that are predicted."""

    def __init__(self, layers=24, width=1024, heads=16, words=30522, positions=512):
        super().__init__()
        self.words, self.positions, self.types = nn.Embedding(words, width), nn.Embedding(positions, width), nn.Embedding(2, width)
        self.norm, self.dropout = nn.LayerNorm(width), nn.Dropout(0.1)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)
        self.transform, self.transform_norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.empty(words))
        self.next_sentence = nn.Linear(width, 2)

    def forward(self, tokens, types, mask, masked):
        positions = torch.arange(tokens.shape[1])
        x = self.dropout(self.norm(self.words(tokens) + self.positions(positions) + self.types(types)))
        mask = ((1.0 - mask) * -1e4)[:, None, None, :]
        for block in self.blocks:
            x = block(x, mask)
        y = x.gather(1, masked[:, :, None].expand(-1, -1, x.shape[-1]))
        y = self.transform_norm(functional.gelu(self.transform(y)))
        return functional.linear(y, self.words.weight, self.bias), self.next_sentence(torch.tanh(self.pooler(x[:, 0])))


def bert_large():
    def loss(outputs):
        scores, following = outputs
        labels = torch.empty(scores.shape[:2], dtype=torch.int64)
        follows = torch.empty(following.shape[:1], dtype=torch.int64)
        return functional.cross_entropy(scores.view(-1, scores.shape[-1]), labels.view(-1)) + functional.cross_entropy(following, follows)
    return Bert(), loss


class GptAttention(nn.Module):
    """One product for queries, keys and values; scores are divided and masked by kernels of their own."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.width = heads, width
        self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.weights_dropout, self.dropout = nn.Dropout(0.1), nn.Dropout(0.1)
        self.register_buffer("least", torch.tensor(-1e4))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        query, key, value = (self.split(part) for part in self.joint(x).split(self.width, 2))
        scores = torch.matmul(query, key.transpose(-1, -2))
        scores = torch.where(mask, scores / value.shape[-1] ** 0.5, self.least)
        weights = self.weights_dropout(functional.softmax(scores, -1))
        y = torch.matmul(weights, value).permute(0, 2, 1, 3).contiguous()
        return self.dropout(self.out(y.view(x.shape)))


def gelu_new(x):
    """The approximation by tanh, as Hugging Face's GPT-2 writes it out: eight kernels."""
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0))))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), GptAttention(width, heads), nn.LayerNorm(width)
        self.up, self.down, self.dropout = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Dropout(0.1)

    def forward(self, x, mask):
        x = self.attention(self.norm1(x), mask) + x
        return x + self.dropout(self.down(gelu_new(self.up(self.norm2(x)))))


class Gpt(nn.Module):
    """Radford et al. 2019, with the calls of Hugging Face's class, which computes its loss from logits of all tokens."""

    def __init__(self, layers=12, width=768, heads=12, words=50257, positions=1024):
        super().__init__()
        self.words, self.positions, self.dropout = nn.Embedding(words, width), nn.Embedding(positions, width), nn.Dropout(0.1)
        self.blocks, self.norm = nn.ModuleList(GptBlock(width, heads) for _ in range(layers)), nn.LayerNorm(width)
        self.register_buffer("mask", torch.ones(1, 1, positions, positions, dtype=torch.bool))

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.dropout(self.words(tokens) + self.positions(torch.arange(length)))
        mask = self.mask[:, :, :length, :length]
        for block in self.blocks:
            x = block(x, mask)
        return functional.linear(self.norm(x), self.words.weight)


def gpt2():
    return Gpt()


MLPERF_TABLES = (39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10, 2208, 11938,
                 155, 4, 976, 14, 39979771, 25641295, 39664984, 585935, 12972, 108, 36)


class Dlrm(nn.Module):
    """Naumov et al. 2019 with the sizes of MLPerf; one id for each table, in a tensor of its own. `bags`: nn.EmbeddingBag, else
    nn.Embedding, which is the same for single ids and which PyTorch 1.13 exports to ONNX."""

    def __init__(self, tables=MLPERF_TABLES, width=128, bags=True):
        super().__init__()
        self.bags = bags
        make = (lambda rows: nn.EmbeddingBag(rows, width, mode="sum")) if bags else (lambda rows: nn.Embedding(rows, width))
        self.tables = nn.ModuleList(make(rows) for rows in tables)
        self.bottom = self.stack([13, 512, 256, 128], False)
        pairs = (len(tables) + 1) * len(tables) // 2
        self.top = self.stack([width + pairs, 1024, 1024, 512, 256, 1], True)
        places = [(i, j) for i in range(len(tables) + 1) for j in range(i)]
        self.register_buffer("rows", torch.tensor([i for i, _ in places]))
        self.register_buffer("columns", torch.tensor([j for _, j in places]))

    @staticmethod
    def stack(sizes, last_is_linear):
        layers = []
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            layers.append(nn.Linear(a, b))
            if not (last_is_linear and i + 2 == len(sizes)):
                layers.append(nn.ReLU())
        return nn.Sequential(*layers)

    def forward(self, dense, *ids):
        x = self.bottom(dense)
        offsets = torch.arange(dense.shape[0]) if self.bags else None
        vectors = [table(i, offsets) if self.bags else table(i) for table, i in zip(self.tables, ids)]
        vectors = torch.cat([x] + vectors, 1).view(x.shape[0], len(vectors) + 1, -1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.rows, self.columns]], 1))


def click_loss(output):
    return functional.binary_cross_entropy_with_logits(output[:, 0], torch.empty(output.shape[0]))


def dlrm():
    return Dlrm(), click_loss


def dlrm_small():
    """DLRM with at most 100,000 rows in a table, so that one GPU holds it."""
    return Dlrm(tuple(min(100_000, rows) for rows in MLPERF_TABLES)), click_loss


def dlrm_small_single():
    """The same with nn.Embedding, whose lookups are Gather in ONNX."""
    return Dlrm(tuple(min(100_000, rows) for rows in MLPERF_TABLES), bags=False), click_loss
