"""The tiny model as training sees it: whole sequences, gradients, no cache.

Inference (`plait.runtime.models.tiny.layer`) computes the same function with the key and value
up-projections absorbed; a test holds the two against each other on the shipped checkpoint.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plait.runtime.models.rotary import rotate, rotation_table
from plait.runtime.models.tiny.shape import Shape
from plait.runtime.models.training.parts import Norm, matrix

BALANCE_STEP = 0.002
"""How far one step moves the routing bias of an expert that saw too few or too many tokens."""


class Attention(nn.Module):
    """Latent attention: query and key/value each go through a narrow branch of their own."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.norm = Norm(shape.hidden)
        self.query_down = matrix(shape.query_rank, shape.hidden)
        self.query_norm = Norm(shape.query_rank)
        self.query_up = matrix(shape.heads * shape.query_head, shape.query_rank)
        self.latent_down = matrix(shape.cached, shape.hidden)
        self.latent_norm = Norm(shape.latent)
        self.key_up = matrix(shape.heads * shape.nope, shape.latent)
        self.value_up = matrix(shape.heads * shape.value, shape.latent)
        self.out = matrix(shape.hidden, shape.heads * shape.value)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        s = self.shape
        batch, length, _ = x.shape
        x = self.norm(x)
        query = F.linear(self.query_norm(F.linear(x, self.query_down)), self.query_up)
        query = query.view(batch, length, s.heads, -1).transpose(1, 2)
        query = torch.cat([query[..., : s.nope], rotate(query[..., s.nope :], cos, sin)], -1)

        latent, shared_key = F.linear(x, self.latent_down).split([s.latent, s.rope], -1)
        latent = self.latent_norm(latent)
        shared_key = rotate(shared_key, cos, sin).unsqueeze(1).expand(-1, s.heads, -1, -1)
        key = F.linear(latent, self.key_up).view(batch, length, s.heads, -1).transpose(1, 2)
        value = F.linear(latent, self.value_up).view(batch, length, s.heads, -1).transpose(1, 2)

        key = torch.cat([key, shared_key], -1)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return F.linear(mixed.transpose(1, 2).reshape(batch, length, -1), self.out)


class Experts(nn.Module):
    """Routed experts by sigmoid score, balanced by a bias that only the choice sees, plus a shared one."""

    balance: Tensor

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.norm = Norm(shape.hidden)
        self.router = matrix(shape.routed_experts, shape.hidden)
        self.register_buffer("balance", torch.zeros(shape.routed_experts))
        # The last expert is the shared one.
        self.up = matrix(shape.routed_experts + 1, 2 * shape.expert_hidden, shape.hidden)
        self.down = matrix(shape.routed_experts + 1, shape.hidden, shape.expert_hidden)

    def expert(self, x: Tensor, index: int) -> Tensor:
        gate, up = F.linear(x, self.up[index]).chunk(2, -1)
        return F.linear(F.silu(gate) * up, self.down[index])

    def forward(self, x: Tensor) -> Tensor:
        s = self.shape
        sizes = x.shape
        x = self.norm(x).reshape(-1, s.hidden)
        score = torch.sigmoid(F.linear(x, self.router))
        chosen = (score + self.balance).topk(s.experts_per_token, -1).indices
        weight = score.gather(1, chosen)
        weight = weight / weight.sum(-1, keepdim=True)

        flat = chosen.reshape(-1)
        order = flat.argsort(stable=True)
        token = order // s.experts_per_token
        count = torch.bincount(flat, minlength=s.routed_experts)
        if self.training:
            self.balance += BALANCE_STEP * torch.sign(count.float().mean() - count)
        inputs = x.index_select(0, token).split(count.tolist())
        outputs = torch.cat([self.expert(part, index) for index, part in enumerate(inputs)])
        weighted = outputs * weight.reshape(-1)[order].unsqueeze(1)
        return self.expert(x, s.routed_experts).index_add(0, token, weighted).view(sizes)


class Layer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.attention = Attention(shape)
        self.experts = Experts(shape)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(x, cos, sin)
        return x + self.experts(x)


class NextN(nn.Module):
    """From the hidden state at a position and the token after it, the hidden state one further on."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.hidden_norm = Norm(shape.hidden)
        self.token_norm = Norm(shape.hidden)
        self.project = matrix(shape.hidden, 2 * shape.hidden)
        self.layer = Layer(shape)

    def forward(self, hidden: Tensor, token: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        both = torch.cat([self.hidden_norm(hidden), self.token_norm(token)], -1)
        return self.layer(F.linear(both, self.project), cos, sin)


class Network(nn.Module):
    """Parameter names are the checkpoint's names."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.embed = nn.Parameter(torch.randn(shape.vocab, shape.hidden) * 0.08)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.hidden)
        self.nextn = NextN(shape)
        cos, sin = rotation_table(shape.context, shape.rope)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        with torch.no_grad():  # so that a fresh layer adds little to the residual stream
            for layer in [*self.layers, self.nextn.layer]:
                layer.attention.out *= 0.4
                layer.experts.down *= 0.4

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(self.norm(hidden), self.embed)

    def hidden(self, tokens: Tensor) -> Tensor:
        """Tokens `i64[batch, length]` to hidden states `f32[batch, length, hidden]`."""
        length = tokens.shape[1]
        x = F.embedding(tokens, self.embed)
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        return x

    def step(self, hidden: Tensor, following: Tensor) -> Tensor:
        """Hidden states and the tokens that follow them to hidden states one step further."""
        length = following.shape[1]
        token = F.embedding(following, self.embed)
        return self.nextn(hidden, token, self.cos[:length], self.sin[:length])
