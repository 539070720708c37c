"""Cross entropy of logits against class numbers."""

import helion
import helion.language as hl
import torch


@helion.kernel()
def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """logits: [n, classes], labels: [n] integers below classes. Returns the mean loss."""
    n, _ = logits.shape
    losses = torch.empty([n], dtype=torch.float32, device=logits.device)
    for tile_n in hl.tile(n):
        target = logits[tile_n, labels[tile_n]].to(torch.float32)
        row = logits[tile_n, :].to(torch.float32)
        top = row.amax(dim=-1)
        log_sum = top + torch.log(torch.exp(row - top[:, None]).sum(dim=-1))
        losses[tile_n] = log_sum - target
    return losses.mean()


@helion.kernel()
def cross_entropy_flat(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The same with the target read from the flattened logits by a computed offset."""
    n, classes = logits.shape
    losses = torch.zeros([n], dtype=logits.dtype, device=logits.device)
    flat = logits.view(-1)
    for tile_n in hl.tile(n):
        target = hl.load(flat, [tile_n.index * classes + labels[tile_n]])
        row = logits[tile_n, :]
        top = torch.amax(row, dim=-1, keepdim=True)
        powers = torch.exp(row - top)
        losses[tile_n] = top.squeeze(-1) + torch.log(powers.sum(dim=-1)) - target
    return losses.mean()
