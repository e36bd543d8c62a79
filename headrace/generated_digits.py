"""Ten digits drawn with strokes of our own, each time a little differently.  No file, no network.

In: how many, a seed.  Out: uint8 images [n, 28, 28, 1] and their labels; the same arguments give
the same digits.  A digit is a list of lines in a unit square, y downward."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Point = tuple[float, float]

SIDE = 28
MARGIN = 4  # the drawing keeps to the middle, as in MNIST
BATCH = 128  # images drawn at once: bounds the memory


def _arc(x: float, y: float, width: float, height: float, start: int, end: int) -> list[Point]:
    """Points of an ellipse's arc, in degrees: 0 is right, 90 is down."""
    angles = np.radians(np.linspace(start, end, 2 + abs(end - start) // 30))
    return [(x + width * float(np.cos(a)), y + height * float(np.sin(a))) for a in angles]


STROKES: tuple[list[list[Point]], ...] = (
    [_arc(0.5, 0.5, 0.28, 0.42, 0, 360)],
    [[(0.34, 0.26), (0.52, 0.1), (0.52, 0.9)]],
    [_arc(0.5, 0.32, 0.25, 0.22, 180, 390) + [(0.25, 0.9), (0.78, 0.9)]],
    [_arc(0.46, 0.29, 0.24, 0.2, -150, 90), _arc(0.46, 0.69, 0.28, 0.21, -90, 150)],
    [[(0.62, 0.92), (0.62, 0.08), (0.2, 0.62), (0.84, 0.62)]],
    [[(0.74, 0.1), (0.33, 0.1), (0.3, 0.46)] + _arc(0.48, 0.66, 0.27, 0.24, -120, 145)],
    [[(0.68, 0.08), (0.4, 0.32), (0.27, 0.66)], _arc(0.5, 0.69, 0.23, 0.21, 0, 360)],
    [[(0.22, 0.12), (0.78, 0.12), (0.42, 0.92)]],
    [_arc(0.5, 0.29, 0.2, 0.2, 0, 360), _arc(0.5, 0.71, 0.25, 0.21, 0, 360)],
    [_arc(0.5, 0.32, 0.23, 0.22, 0, 360), [(0.73, 0.32), (0.7, 0.6), (0.58, 0.92)]],
)


def generated_digits(n: int, seed: int = 0) -> tuple[Array, Array]:
    """n images and labels: turned, slanted, scaled, moved, bent and drawn with different pens."""
    random = np.random.RandomState(seed)
    labels = random.randint(0, len(STROKES), n).astype(np.uint8)
    images = np.zeros((n, SIDE, SIDE, 1), np.uint8)
    for digit, strokes in enumerate(STROKES):
        where = np.flatnonzero(labels == digit)
        for start in range(0, len(where), BATCH):
            some = where[start : start + BATCH]
            images[some] = _draw(strokes, len(some), random)
    return images, labels


def _draw(strokes: list[list[Point]], n: int, random: np.random.RandomState) -> Array:
    pen = random.uniform(0.5, 1.3, (n, 1))
    square = np.full((n, SIDE * SIDE), np.inf, np.float32)
    map_points = _distortion(n, random)
    for stroke in strokes:
        points = map_points(np.array(stroke))
        for k in range(len(stroke) - 1):
            np.minimum(square, _square_distance(points[:, k], points[:, k + 1]), out=square)
    ink = np.clip(pen + 0.5 - np.sqrt(square), 0, 1) * random.uniform(160, 255, (n, 1))
    ink += random.normal(0, 8, ink.shape) * (ink > 0)
    images: Array = np.clip(ink, 0, 255).astype(np.uint8).reshape(n, SIDE, SIDE, 1)
    return images


def _distortion(n: int, random: np.random.RandomState) -> Any:
    """A function from points [k, 2] of the unit square to n versions of them, in pixels."""
    turn = random.normal(0, 0.12, n)
    slant, x_scale, y_scale = (random.normal(mean, 0.1, n) for mean in (0.1, 1, 1))
    move = random.normal(0, 1, (n, 1, 2))
    straight = np.stack([x_scale, -slant, np.zeros(n), y_scale], -1).reshape(n, 2, 2)
    turned = np.stack([np.cos(turn), -np.sin(turn), np.sin(turn), np.cos(turn)], -1)
    matrix = turned.reshape(n, 2, 2) @ straight

    def map_points(points: Array) -> Array:
        bent = points - 0.5 + random.normal(0, 0.02, (n, *points.shape))
        pixels: Array = (bent @ matrix.transpose(0, 2, 1)) * (SIDE - 2 * MARGIN) + SIDE / 2 - 0.5
        return (pixels + move).astype(np.float32)

    return map_points


def _square_distance(a: Array, b: Array) -> Array:
    """From every pixel to the n segments a[i]..b[i], squared: [n, SIDE * SIDE]."""
    y, x = np.divmod(np.arange(SIDE * SIDE, dtype=np.float32), SIDE)
    along = b - a
    length = np.maximum((along * along).sum(-1, keepdims=True), 1e-9)
    from_x, from_y = x - a[:, :1], y - a[:, 1:]
    share = np.clip((from_x * along[:, :1] + from_y * along[:, 1:]) / length, 0, 1)
    from_x -= share * along[:, :1]
    from_y -= share * along[:, 1:]
    square: Array = from_x * from_x + from_y * from_y
    return square
