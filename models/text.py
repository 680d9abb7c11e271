"""Text for the language models to train on: this project's own documents, as bytes."""

from __future__ import annotations

from pathlib import Path

import headwater as hw


def characters() -> hw.Tensor:
    """All README and design pages one after the other, one id below 128 a character: (length,)."""
    root = Path(__file__).resolve().parents[1]
    pages = sorted([*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("src/**/README.md")])
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    return hw.tensor([min(ord(character), 127) for character in text], dtype=hw.int64)


def windows(text: hw.Tensor, count: int, length: int) -> hw.Tensor:
    """`count` random pieces of the text: (count, length)."""
    starts = hw.randint(0, len(text) - length, (count,))
    return text[starts.unsqueeze(1) + hw.arange(length)]
