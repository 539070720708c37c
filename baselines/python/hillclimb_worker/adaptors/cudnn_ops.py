"""cuDNN: norms and attention through its graph API (nvidia-cudnn-frontend), softmax through its C interface."""

import torch

from .. import cudnn_library
from . import Subject, Unsupported, choose

NAMES = {"cudnn": "cuDNN"}


def version():
    """Front end and library; softmax needs the library alone."""
    try:
        import cudnn
    except ImportError:
        return f"no frontend, cudnn {cudnn_library.load().cudnnGetVersion()}"
    return f"frontend {cudnn.__version__}, cudnn {cudnn.backend_version()}"


class Graph:
    """One operation graph with its tensors by name."""

    def __init__(self):
        import cudnn

        self.cudnn = cudnn
        f32 = cudnn.data_type.FLOAT
        self.types = {torch.bfloat16: cudnn.data_type.BFLOAT16, torch.float16: cudnn.data_type.HALF, torch.float32: f32}
        self.handle = cudnn.create_handle()
        cudnn.set_stream(handle=self.handle, stream=torch.cuda.current_stream().cuda_stream)
        self.graph = cudnn.pygraph(
            io_data_type=f32, intermediate_data_type=f32, compute_data_type=f32, handle=self.handle
        )
        self.pack = {}

    def rows(self, name, t):
        """A matrix [m, n]."""
        m, n = t.shape
        return self._add(name, t, [m, n, 1, 1], [n, 1, n, n])

    def one_row(self, name, t):
        """A vector over the columns."""
        n = t.numel()
        return self._add(name, t, [1, n, 1, 1], [n, 1, n, n])

    def per_row(self, name, t):
        """A number per row."""
        return self._add(name, t.reshape(-1, 1, 1, 1), [t.numel(), 1, 1, 1], [1, 1, 1, 1])

    def as_is(self, name, t):
        """A tensor of four dimensions with its own strides."""
        return self._add(name, t, list(t.shape), list(t.stride()))

    def scalar(self, name, value):
        """A number given by value."""
        t = torch.full((1, 1, 1, 1), value)
        node = self.graph.tensor(
            name=name, dim=[1] * 4, stride=[1] * 4, is_pass_by_value=True, data_type=self.cudnn.data_type.FLOAT
        )
        self.pack[node] = t
        return node

    def _add(self, name, t, dim, stride):
        node = self.graph.tensor(name=name, dim=dim, stride=stride, data_type=self.types[t.dtype])
        self.pack[node] = t
        return node

    def output(self, node, t):
        """Marks an output and gives it memory."""
        node.set_output(True).set_data_type(self.types[t.dtype])
        self.pack[node] = t
        return t

    def build(self):
        """A launch of the best plan by cuDNN's heuristics."""
        g, modes = self.graph, self.cudnn.heur_mode
        g.validate()
        g.build_operation_graph()
        g.create_execution_plans([modes.A, modes.FALLBACK])
        g.check_support()
        g.build_plans()
        workspace = torch.empty(max(1, g.get_workspace_size()), device="cuda", dtype=torch.uint8)
        return lambda: g.execute(self.pack, workspace, handle=self.handle)


def forward(x, w, b, eps, layer):
    """layer_norm or rms_norm, in the training phase (statistics are written too)."""
    g = Graph()
    phase = g.cudnn.norm_forward_phase.TRAINING
    rows, scale, epsilon = g.rows("x", x), g.one_row("w", w), g.scalar("eps", eps)
    y, inv = torch.empty_like(x), torch.empty(x.size(0), 1, 1, 1, device=x.device)
    outputs = [y, inv]
    if layer:
        bias = g.one_row("b", b)
        out, mean, rstd = g.graph.layernorm(
            name="norm", norm_forward_phase=phase, input=rows, scale=scale, bias=bias, epsilon=epsilon
        )
        outputs = [y, g.output(mean, torch.empty_like(inv)), inv]
    else:
        out, rstd = g.graph.rmsnorm(name="norm", norm_forward_phase=phase, input=rows, scale=scale, epsilon=epsilon)
    g.output(out, y)
    g.output(rstd, inv)
    return g.build(), lambda: [y, *(t.reshape(-1) for t in outputs[1:])]


def backward(dy, x, w, rstd, mean=None):
    """Gradients of x, weight and, for layer_norm, bias."""
    g = Graph()
    rows, scale, grad, inv = g.rows("x", x), g.one_row("w", w), g.rows("dy", dy), g.per_row("rstd", rstd.float())
    dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.empty_like(w)
    outputs = [dx, dw]
    if mean is not None:
        mu = g.per_row("mean", mean.float())
        nodes = g.graph.layernorm_backward(name="bwd", grad=grad, input=rows, scale=scale, mean=mu, inv_variance=inv)
        g.output(nodes[2], db)
        outputs.append(db)
    else:
        nodes = g.graph.rmsnorm_backward(
            name="bwd", grad=grad, input=rows, scale=scale, inv_variance=inv, has_dbias=False
        )
    g.output(nodes[0], dx)
    g.output(nodes[1], dw)
    return g.build(), lambda: outputs


def attention(q, k, v, causal=False):
    """The forward pass without statistics; groups of query heads share keys and values where there are fewer of those."""
    g, out = Graph(), torch.empty_like(q)
    node, _ = g.graph.sdpa(
        name="sdpa", q=g.as_is("q", q), k=g.as_is("k", k), v=g.as_is("v", v), attn_scale=q.size(-1) ** -0.5,
        use_causal_mask=bool(causal), generate_stats=False,
    )
    node.set_dim(list(out.shape)).set_stride(list(out.stride()))
    g.output(node, out)
    return g.build(), lambda: [out]


def softmaxes(like, launch):
    """Launches by layout, each with a descriptor and a handle of its own; `launch` makes one of them."""
    columns, dtype = like.size(-1), str(like.dtype).removeprefix("torch.")
    if dtype not in cudnn_library.TYPES or not like.is_contiguous():
        raise Unsupported(f"cuDNN's softmax is asked for contiguous rows of {', '.join(cudnn_library.TYPES)}, not {like.dtype}")
    stream = torch.cuda.current_stream().cuda_stream

    def way(layout):
        return launch(cudnn_library.Softmax(layout, like.numel() // columns, columns, dtype, stream))

    return {layout: way(layout) for layout in cudnn_library.LAYOUTS}


def softmax(x):
    """Launches by layout, and the outputs."""
    y = torch.empty_like(x)
    return softmaxes(x, lambda library: lambda: library.forward(x.data_ptr(), y.data_ptr())), lambda: [y]


def softmax_bwd(dy, y):
    """Launches by layout, and the outputs."""
    dx = torch.empty_like(y)
    return softmaxes(y, lambda library: lambda: library.backward(dy.data_ptr(), y.data_ptr(), dx.data_ptr())), lambda: [dx]


SEARCHED = {f.__name__: f for f in (softmax, softmax_bwd)}
TABLE = {
    **SEARCHED,
    "attention": attention,
    "rms_norm": lambda x, w, eps=1e-5: forward(x, w, None, eps, False),
    "layer_norm": lambda x, _shape, w, b, eps=1e-5: forward(x, w, b, eps, True),
    "rms_norm_bwd": lambda dy, x, w, rstd: backward(dy, x, w, rstd),
    "layer_norm_bwd": lambda dy, x, mean, rstd, w: backward(dy, x, w, rstd, mean),
}


def build(implementation, operation, args, options):
    """See the package."""
    if operation not in TABLE:
        raise Unsupported(f"this adaptor has no `{operation}` of cuDNN's; it has {', '.join(sorted(TABLE))}")
    made, outputs = TABLE[operation](*args)
    if operation not in SEARCHED:
        return Subject(made, outputs, version())
    best, search = choose(made, options.get("config"), True)
    return Subject(made[best], outputs, f"{version()} {best}", {"config": best}, search=search)
