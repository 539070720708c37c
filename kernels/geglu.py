"""GEGLU: gelu(a) * b with the tanh form of gelu, forward and backward, over flattened tensors."""

import helion
import helion.language as hl
import torch


@helion.kernel()
def geglu(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a and b of one shape."""
    assert a.shape == b.shape, f"shapes differ: {a.shape} and {b.shape}"
    out = torch.empty_like(a, dtype=torch.promote_types(a.dtype, b.dtype))
    a_flat, b_flat, out_flat = a.view(-1), b.view(-1), out.view(-1)
    for tile in hl.tile(a.numel()):
        gate = a_flat[tile].to(torch.float32)
        value = b_flat[tile]
        inner = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
        gelu = 0.5 * gate * (1.0 + torch.tanh(inner))
        out_flat[tile] = gelu.to(value.dtype) * value
    return out


@helion.kernel()
def geglu_bwd(
    grad_out: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of a and b."""
    grad_a = torch.empty_like(a)
    grad_b = torch.empty_like(b)
    grad_flat, a_flat, b_flat = grad_out.view(-1), a.view(-1), b.view(-1)
    grad_a_flat, grad_b_flat = grad_a.view(-1), grad_b.view(-1)
    for tile in hl.tile(a.numel()):
        gate = a_flat[tile].to(torch.float32)
        value = b_flat[tile].to(torch.float32)
        grad = grad_flat[tile].to(torch.float32)
        t = torch.tanh(0.7978845608028654 * (gate + 0.044715 * gate * gate * gate))
        half = 0.5 * (1.0 + t)
        slope = 0.7978845608028654 * (1.0 + 0.134145 * gate * gate)
        grad_b_flat[tile] = (grad * gate * half).to(b.dtype)
        grad_a_flat[tile] = (grad * value * (half + 0.5 * gate * (1.0 - t * t) * slope)).to(a.dtype)
    return grad_a, grad_b
