#!/usr/bin/env python3
"""Capture the models that serving experiments ship: configs/serving/models/*.graph, forward pass alone, any batch.

usage: PYTHONPATH=python scripts/serving_models.py [NAME...]      needs torch 1.13 or later; nothing is allocated

The definitions follow the papers and, where their code decides (which convolutions carry a bias, what is batch-normalised), the
models of torchvision 0.15: VGG16 (Simonyan and Zisserman 2014), GoogLeNet (Szegedy et al. 2014, with batch normalisation, as of
torchvision), ResNet (He et al. 2015, v1.5), AlexNet (Krizhevsky 2014), BERT-base (Devlin et al. 2018), SSD300 with VGG16 (Liu et al. 2015), Transformer base (Vaswani
et al. 2017), DLRM (Naumov et al. 2019, Criteo Kaggle), a two-layer LSTM (Zaremba et al. 2014, "medium").
"""
import os
import sys

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
from distsim_capture.__main__ import write  # noqa: E402
from distsim_capture.capture import capture  # noqa: E402
from distsim_capture.inputs import parse_input  # noqa: E402

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "configs", "serving", "models")


# ---- images

VGG16 = (64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M")


def vgg_features(plan):
    layers, channels = [], 3
    for width in plan:
        if width == "M":
            layers.append(nn.MaxPool2d(2, 2))
        elif width == "C":  # SSD: 75 becomes 38
            layers.append(nn.MaxPool2d(2, 2, ceil_mode=True))
        else:
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width
    return layers


class Vgg16(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(*vgg_features(VGG16))
        self.pool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(nn.Linear(512 * 49, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True),
                                        nn.Dropout(), nn.Linear(4096, 1000))

    def forward(self, x):
        return self.classifier(torch.flatten(self.pool(self.features(x)), 1))


class AlexNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(True), nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(True),
            nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(True),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(3, 2))
        self.pool = nn.AdaptiveAvgPool2d(6)
        self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(256 * 36, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096),
                                        nn.ReLU(True), nn.Linear(4096, 1000))

    def forward(self, x):
        return self.classifier(torch.flatten(self.pool(self.features(x)), 1))


class ConvNormRelu(nn.Module):
    def __init__(self, inputs, outputs, size, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, size, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x):
        return nn.functional.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """The four branches; torchvision's second one of 3x3 stands for the paper's 5x5."""

    def __init__(self, inputs, one, reduce3, three, reduce5, five, pooled):
        super().__init__()
        self.branch1 = ConvNormRelu(inputs, one, 1)
        self.branch2 = nn.Sequential(ConvNormRelu(inputs, reduce3, 1), ConvNormRelu(reduce3, three, 3, padding=1))
        self.branch3 = nn.Sequential(ConvNormRelu(inputs, reduce5, 1), ConvNormRelu(reduce5, five, 3, padding=1))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, 1, ceil_mode=True), ConvNormRelu(inputs, pooled, 1))

    def forward(self, x):
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class GoogLeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = ConvNormRelu(3, 64, 7, 2, 3)
        self.pool1 = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.conv2 = ConvNormRelu(64, 64, 1)
        self.conv3 = ConvNormRelu(64, 192, 3, padding=1)
        self.pool2 = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.inception3 = nn.Sequential(Inception(192, 64, 96, 128, 16, 32, 32), Inception(256, 128, 128, 192, 32, 96, 64))
        self.pool3 = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.inception4 = nn.Sequential(
            Inception(480, 192, 96, 208, 16, 48, 64), Inception(512, 160, 112, 224, 24, 64, 64), Inception(512, 128, 128, 256, 24, 64, 64),
            Inception(512, 112, 144, 288, 32, 64, 64), Inception(528, 256, 160, 320, 32, 128, 128))
        self.pool4 = nn.MaxPool2d(2, 2, ceil_mode=True)
        self.inception5 = nn.Sequential(Inception(832, 256, 160, 320, 32, 128, 128), Inception(832, 384, 192, 384, 48, 128, 128))
        self.average = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(1024, 1000)

    def forward(self, x):
        x = self.pool2(self.conv3(self.conv2(self.pool1(self.conv1(x)))))
        x = self.inception5(self.pool4(self.inception4(self.pool3(self.inception3(x)))))
        return self.fc(self.dropout(torch.flatten(self.average(x), 1)))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class BasicBlock(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, blocks, kind=Bottleneck, growth=4):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        stages, inputs = [], 64
        for stage, count in enumerate(blocks):
            width = 64 << stage
            for block in range(count):
                stages.append(kind(inputs, width, 2 if stage > 0 and block == 0 else 1))
                inputs = growth * width
        self.blocks = nn.Sequential(*stages)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, 1000)

    def forward(self, x):
        x = self.blocks(self.maxpool(self.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(self.average(x), 1))


class Ssd300(nn.Module):
    """VGG16 to conv5, dilated conv6, extra feature layers; boxes and 21 classes at six scales."""

    def __init__(self):
        super().__init__()
        plan = (64, 64, "M", 128, 128, "M", 256, 256, 256, "C", 512, 512, 512, "M", 512, 512, 512)
        features = vgg_features(plan)
        self.front = nn.Sequential(*features[:23])  # to conv4_3
        self.rest = nn.Sequential(*features[23:], nn.MaxPool2d(3, 1, 1), nn.Conv2d(512, 1024, 3, padding=6, dilation=6), nn.ReLU(True),
                                  nn.Conv2d(1024, 1024, 1), nn.ReLU(True))
        self.extras = nn.ModuleList(
            nn.Sequential(nn.Conv2d(inputs, width, 1), nn.ReLU(True), nn.Conv2d(width, outputs, 3, stride, padding), nn.ReLU(True))
            for inputs, width, outputs, stride, padding in
            ((1024, 256, 512, 2, 1), (512, 128, 256, 2, 1), (256, 128, 256, 1, 0), (256, 128, 256, 1, 0)))
        scales = ((512, 4), (1024, 6), (512, 6), (256, 6), (256, 4), (256, 4))
        self.boxes = nn.ModuleList(nn.Conv2d(c, 4 * n, 3, padding=1) for c, n in scales)
        self.classes = nn.ModuleList(nn.Conv2d(c, 21 * n, 3, padding=1) for c, n in scales)

    def forward(self, x):
        maps = [self.front(x)]
        maps.append(self.rest(maps[0]))
        for extra in self.extras:
            maps.append(extra(maps[-1]))
        boxes = torch.cat([b(m).flatten(1) for b, m in zip(self.boxes, maps)], 1)
        classes = torch.cat([c(m).flatten(1) for c, m in zip(self.classes, maps)], 1)
        return torch.cat([boxes, classes], 1)


# ---- text

class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, memory, mask=None):
        batch, length, width = x.shape

        def split(t):
            return t.view(batch, -1, self.heads, width // self.heads).transpose(1, 2)

        scores = torch.matmul(split(self.query(x)), split(self.key(memory)).transpose(-1, -2)) / (width // self.heads) ** 0.5
        if mask is not None:
            scores = scores + mask
        context = torch.matmul(torch.softmax(scores, -1), split(self.value(memory)))
        return self.out(context.transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    def __init__(self, width, inner, activation):
        super().__init__()
        self.up, self.down, self.activation = nn.Linear(width, inner), nn.Linear(inner, width), activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


class Block(nn.Module):
    """Attention to itself, perhaps to an encoder, feed-forward; each with a residual and a normalisation after it."""

    def __init__(self, width, heads, inner, activation, crosses):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm1 = nn.LayerNorm(width)
        self.cross = Attention(width, heads) if crosses else None
        self.norm2 = nn.LayerNorm(width) if crosses else None
        self.feed_forward = FeedForward(width, inner, activation)
        self.norm3 = nn.LayerNorm(width)

    def forward(self, x, mask, memory=None):
        x = self.norm1(x + self.attention(x, x, mask))
        if self.cross is not None:
            x = self.norm2(x + self.cross(x, memory))
        return self.norm3(x + self.feed_forward(x))


class BertBase(nn.Module):
    """12 layers of 768, 12 heads, 30,522 tokens; pooled first token, two classes."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(30522, 768)
        self.positions = nn.Parameter(torch.zeros(1, 128, 768))
        self.norm = nn.LayerNorm(768)
        self.layers = nn.ModuleList(Block(768, 12, 3072, nn.GELU(), False) for _ in range(12))
        self.pooler = nn.Linear(768, 768)
        self.classifier = nn.Linear(768, 2)

    def forward(self, tokens):
        x = self.norm(self.tokens(tokens) + self.positions)
        for layer in self.layers:
            x = layer(x, None)
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


class TransformerBase(nn.Module):
    """6 + 6 layers of 512, 8 heads, a shared vocabulary of 37,000; one pass over 64 source and 64 target tokens."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(37000, 512)
        self.positions = nn.Parameter(torch.zeros(1, 64, 512))
        self.mask = nn.Parameter(torch.zeros(1, 1, 64, 64))
        self.encoder = nn.ModuleList(Block(512, 8, 2048, nn.ReLU(), False) for _ in range(6))
        self.decoder = nn.ModuleList(Block(512, 8, 2048, nn.ReLU(), True) for _ in range(6))
        self.out = nn.Linear(512, 37000, bias=False)

    def forward(self, source, target):
        memory = self.tokens(source) * 512 ** 0.5 + self.positions
        for layer in self.encoder:
            memory = layer(memory, None)
        x = self.tokens(target) * 512 ** 0.5 + self.positions
        for layer in self.decoder:
            x = layer(x, self.mask, memory)
        return self.out(x)


class Rnn(nn.Module):
    """Two LSTM layers of 650 over 35 words of 10,000."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10000, 650)
        self.lstm = nn.LSTM(650, 650, 2, batch_first=True)
        self.out = nn.Linear(650, 10000)

    def forward(self, words):
        return self.out(self.lstm(self.words(words))[0])


# ---- recommendation

CRITEO_KAGGLE = (1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992, 5461306, 10, 5652, 2173, 4,
                 7046547, 18, 15, 286181, 105, 142572)


def stack(widths, last=None):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(True)]
    return nn.Sequential(*layers[:-1], last or layers[-1])


class Dlrm(nn.Module):
    """Criteo Kaggle: 13 dense features, 26 tables of width 16, one id each; dot interaction."""

    def __init__(self):
        super().__init__()
        self.bottom = stack((13, 512, 256, 64, 16))
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, 16, mode="sum") for rows in CRITEO_KAGGLE)
        self.top = stack((16 + 27 * 26 // 2, 512, 256, 1), nn.Sigmoid())
        pairs = torch.tril_indices(27, 27, -1)
        self.register_buffer("rows", pairs[0])
        self.register_buffer("columns", pairs[1])

    def forward(self, dense, ids):
        x = self.bottom(dense)
        features = [x] + [table(ids[:, i:i + 1]) for i, table in enumerate(self.tables)]
        stacked = torch.stack(features, 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.rows, self.columns]], 1))


MODELS = {
    "vgg16": (Vgg16, ["4x3x224x224"]),
    "googlenet": (GoogLeNet, ["4x3x224x224"]),
    "resnet18": (lambda: ResNet((2, 2, 2, 2), BasicBlock, 1), ["4x3x224x224"]),
    "resnet50": (lambda: ResNet((3, 4, 6, 3)), ["4x3x224x224"]),
    "resnet101": (lambda: ResNet((3, 4, 23, 3)), ["4x3x224x224"]),
    "alexnet": (AlexNet, ["4x3x224x224"]),
    "ssd300": (Ssd300, ["4x3x300x300"]),
    "bert_base": (BertBase, ["4x128:int64"]),
    "transformer_base": (TransformerBase, ["4x64:int64", "4x64:int64"]),
    "dlrm_kaggle": (Dlrm, ["4x13", "4x26:int64"]),
    "lstm_medium": (Rnn, ["4x35:int64"]),
}


class Evaluated:
    """Dropout and batch statistics as in inference."""

    def __init__(self, build):
        self.build = build

    def __call__(self):
        return self.build().eval()


def main():
    names = sys.argv[1:] or list(MODELS)
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        print(f"serving_models: found {unknown[0]!r}, expected one of {', '.join(MODELS)}", file=sys.stderr)
        return 2
    os.makedirs(FOLDER, exist_ok=True)
    for name in names:
        build, inputs = MODELS[name]
        graph = capture(Evaluated(build), [parse_input(text) for text in inputs], "sum", True, False, True, name)
        path = os.path.join(FOLDER, name + ".graph")
        write(graph, path)
        print(f"{name}: {len(graph['nodes'])} calls, {os.path.getsize(path) // 1024} KiB, any batch: {graph['any_batch']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
