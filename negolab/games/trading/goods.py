"""The five goods and arithmetic on goods vectors: five integers, Wheat first, Ore last."""

from __future__ import annotations

GOODS = ("Wheat", "Wood", "Sheep", "Brick", "Ore")
Goods = tuple[int, int, int, int, int]
Deal = tuple[Goods, Goods]
"""What the speaker gives and what it wants."""

NOTHING: Goods = (0, 0, 0, 0, 0)


def plus(x: Goods, y: Goods) -> Goods:
    """x + y."""
    a, b, c, d, e = x
    f, g, h, i, j = y
    return a + f, b + g, c + h, d + i, e + j


def minus(x: Goods, y: Goods) -> Goods:
    """x - y."""
    a, b, c, d, e = x
    f, g, h, i, j = y
    return a - f, b - g, c - h, d - i, e - j


def worth(goods: Goods, values: Goods) -> int:
    """Goods at these values: the dot product."""
    a, b, c, d, e = goods
    f, g, h, i, j = values
    return a * f + b * g + c * h + d * i + e * j


def covers(holdings: Goods, wanted: Goods) -> bool:
    """Whether the holdings contain at least what is wanted of every good."""
    a, b, c, d, e = holdings
    f, g, h, i, j = wanted
    return a >= f and b >= g and c >= h and d >= i and e >= j


def swap(holdings: Goods, out: Goods, into: Goods) -> Goods:
    """Holdings after giving `out` and receiving `into`."""
    return plus(minus(holdings, out), into)


def listed(goods: Goods) -> str:
    """`2 Wheat, 1 Ore`: what is not zero, in vector order."""
    return ", ".join(f"{n} {name}" for n, name in zip(goods, GOODS, strict=True) if n)


def one(good: int, amount: int) -> Goods:
    """So much of a single good, by its index."""
    row = [0, 0, 0, 0, 0]
    row[good] = amount
    return row[0], row[1], row[2], row[3], row[4]
