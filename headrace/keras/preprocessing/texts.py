"""Texts as sequences of numbers."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(
    input_text: str, filters: str = FILTERS, lower: bool = True, split: str = " "
) -> list[str]:
    """The words of a text.

    Args:
      input_text: the text.
      filters: characters that separate words.
      lower: in lower case?
      split: what else separates words.
    """
    text = input_text.lower() if lower else input_text
    separators: dict[str, Any] = dict.fromkeys(filters, split)
    text = text.translate(str.maketrans(separators))
    return [word for word in text.split(split) if word]


def one_hot(
    input_text: str, n: int, filters: str = FILTERS, lower: bool = True, split: str = " "
) -> list[int]:
    """A number below `n` for each word, by Python's hash."""
    return hashing_trick(input_text, n, hash, filters, lower, split)


def hashing_trick(
    text: str,
    n: int,
    hash_function: str | Callable[[str], int] | None = None,
    filters: str = FILTERS,
    lower: bool = True,
    split: str = " ",
) -> list[int]:
    """A number from 1 to n - 1 for each word, by a hash: "md5" is the same in every process."""
    if hash_function is None:
        hash_function = hash
    elif hash_function == "md5":
        hash_function = lambda word: int(hashlib.md5(word.encode()).hexdigest(), 16)
    assert callable(hash_function)
    return [hash_function(w) % (n - 1) + 1 for w in text_to_word_sequence(text, filters, lower, split)]


class Tokenizer:
    """Words to numbers, by how frequent they are.

    Args:
      num_words: only the most frequent ones, so many less one.
      filters: characters that separate words.
      lower: in lower case?
      split: what else separates words.
      char_level: characters in place of words?
      oov_token: stands for words that are not known.
      document_count: how many texts have been seen.
      **kwargs: accepted: `nb_words`, the old name of `num_words`.
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: Any = None,
        document_count: int = 0,
        **kwargs: Any,
    ) -> None:
        num_words = kwargs.pop("nb_words", num_words)
        if kwargs:
            raise TypeError("Unrecognized keyword arguments: " + str(kwargs))
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.document_count = char_level, oov_token, document_count
        self.word_counts: Any = OrderedDict()
        self.word_docs: Any = defaultdict(int)
        self.index_docs: Any = defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: Any) -> list[str]:
        if not self.char_level and not isinstance(text, list):
            return text_to_word_sequence(text, self.filters, self.lower, self.split)
        if self.lower:
            text = [word.lower() for word in text] if isinstance(text, list) else text.lower()
        return list(text)

    def fit_on_texts(self, texts: Any) -> None:
        """Learn the words of texts."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        ordered = sorted(self.word_counts.items(), key=lambda item: item[1], reverse=True)
        known = [word for word, _ in ordered]
        if self.oov_token is not None:
            known.insert(0, self.oov_token)
        self.word_index = {word: i + 1 for i, word in enumerate(known)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Any) -> None:
        """Learn from sequences of numbers."""
        self.document_count += len(sequences)
        for sequence in sequences:
            for i in set(sequence):
                self.index_docs[i] += 1

    def texts_to_sequences(self, texts: Any) -> list[list[int]]:
        """The numbers of the words of each text."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Any) -> Iterator[list[int]]:
        """The same, text by text."""
        other = self.word_index.get(self.oov_token)
        for text in texts:
            numbers = []
            for word in self._words(text):
                i = self.word_index.get(word)
                if i is not None and not (self.num_words and i >= self.num_words):
                    numbers.append(i)
                elif other is not None:
                    numbers.append(other)
            yield numbers

    def sequences_to_texts(self, sequences: Any) -> list[str]:
        """The words of numbers, as texts."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Any) -> Iterator[str]:
        """The same, text by text."""
        other = self.word_index.get(self.oov_token)
        for sequence in sequences:
            words = []
            for i in sequence:
                word = self.index_word.get(i)
                if word is not None and not (self.num_words and i >= self.num_words):
                    words.append(word)
                elif other is not None:
                    words.append(self.index_word[other])
            yield " ".join(words)

    def texts_to_matrix(self, texts: Any, mode: str = "binary") -> Any:
        """A row for each text, a column for each word."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> Any:
        """The same of numbers: binary, count, freq (count over length), or tfidf."""
        if not self.num_words and not self.word_index:
            raise ValueError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        width = self.num_words or len(self.word_index) + 1
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        found = np.zeros((len(sequences), width))
        for row, sequence in zip(found, sequences):
            for j, count in Counter(j for j in sequence if j < width).items():
                row[j] = self._cell(mode, j, count, len(sequence))
        return found

    def _cell(self, mode: str, j: int, count: int, length: int) -> float:
        if mode == "count":
            return count
        if mode == "freq":
            return count / length
        if mode == "binary":
            return 1
        if mode == "tfidf":
            rare = np.log(1 + self.document_count / (1 + self.index_docs.get(j, 0)))
            return float((1 + np.log(count)) * rare)
        raise ValueError("Unknown vectorization mode:", mode)

    def get_config(self) -> dict[str, Any]:
        """The arguments and what was learnt, tables as JSON."""
        names = ("num_words", "filters", "lower", "split", "char_level", "oov_token", "document_count")
        tables = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        kept = {name: json.dumps(getattr(self, name)) for name in tables}
        return {name: getattr(self, name) for name in names} | kept

    def to_json(self, **kwargs: Any) -> str:
        """Class and configuration as JSON."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)
