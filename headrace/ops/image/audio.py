"""Sound: WAV files, spectrograms, and the mel-frequency coefficients of speech recognition."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import SCALAR, make_shape
from headrace.formats.images import wav
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Int
from headrace.ops.declaration.traits import HOST
from headrace.ops.linalg.matrix_shape import exactly


# -- WAV ----------------------------------------------------------------------------------------
def decode_wav_shape(contents, *, desired_channels, desired_samples):
    exactly(contents, 0)
    for name, wanted in (("channels", desired_channels), ("samples", desired_samples)):
        require(wanted >= -1, f"{name} must be non-negative, got {wanted}")
    sizes = (None if n == -1 else n for n in (desired_samples, desired_channels))
    return [make_shape(sizes), SCALAR]


@op(
    "DecodeWav",
    "contents: string -> audio: float32, sample_rate: int32",
    desired_channels=-1,
    desired_samples=-1,
    shape=decode_wav_shape,
    traits={HOST},
)
def decode_wav(contents, *, desired_channels, desired_samples):
    """The samples [time, channels] of a 16-bit WAV file, in [-1, 1), and its sample rate.

    With `desired_samples` the end is cut or filled with silence; with `desired_channels` channels
    are left out, or the last one is repeated.
    """
    require(np.ndim(contents) == 0, f"contents must be scalar, got shape {list(np.shape(contents))}")
    audio, rate = wav.read(contents.item())
    if desired_samples != -1:
        missing = max(0, desired_samples - len(audio))
        audio = np.pad(audio[:desired_samples], ((0, missing), (0, 0)))
    if desired_channels != -1:
        audio = audio[:, np.minimum(np.arange(desired_channels), audio.shape[1] - 1)]
    return audio, np.array(rate).astype(np.int32)


@decode_wav.samples
def _(rng):
    file = np.array(wav.write(rng.uniform(-1, 1, size=(5, 2)), 8000), dtype=object)
    yield Sample(file)
    yield Sample(file, desired_samples=8, desired_channels=3)
    yield Sample(file, desired_samples=3, desired_channels=1)
    yield ErrorSample(np.array(b"RIFX" + bytes(60), dtype=object), raises="Header mismatch")
    yield ErrorSample(np.array(b"RIFF", dtype=object), raises="Data too short")


def encode_wav_shape(audio, sample_rate):
    exactly(audio, 2)
    exactly(sample_rate, 0)
    return SCALAR


@op(
    "EncodeWav",
    "audio: float32, sample_rate: int32 -> contents: string",
    shape=encode_wav_shape,
    traits={HOST},
)
def encode_wav(audio, sample_rate):
    """A 16-bit WAV file of the samples [time, channels]; values outside [-1, 1) are cut."""
    require(audio.ndim == 2, f"audio must be 2-dimensional{list(audio.shape)}")
    require(
        np.ndim(sample_rate) == 0,
        f"Input sample_rate should be a scalar tensor, got {list(np.shape(sample_rate))} instead.",
    )
    require(audio.size < 2**31 - 1, "Cannot encode audio with >= max int32 elements")
    return np.array(wav.write(audio, int(sample_rate)), dtype=object)


@encode_wav.samples
def _(rng):
    rate = np.int32(44100)
    yield Sample(np.float32(rng.uniform(-1.5, 1.5, size=(5, 2))), rate, dtypes=False)
    yield ErrorSample(np.zeros((0, 1), np.float32), rate, raises="num_frames must be positive")
    yield ErrorSample(np.zeros((2, 1), np.float32), np.int32(0), raises="sample_rate must be in")


# -- spectrogram --------------------------------------------------------------------------------
def _frames(length, window_size, stride):
    return 0 if length < window_size else 1 + (length - window_size) // stride


def _power_of_two(n):
    """The next power of two, n itself if it is one."""
    return 1 << max(0, n - 1).bit_length()


def spectrogram_shape(input, *, window_size, stride):
    exactly(input, 2)
    require(
        window_size >= 2 and stride >= 1,
        f"Spectrogram initialization failed for window size {window_size} and stride {stride}",
    )
    length = input.dim(0)
    frames = None if length is None else _frames(length, window_size, stride)
    return make_shape((input.dim(1), frames, 1 + _power_of_two(window_size) // 2))


@op(
    "AudioSpectrogram",
    "input: float32 -> spectrogram: float32",
    window_size=Int(),
    stride=Int(),
    magnitude_squared=False,
    shape=spectrogram_shape,
)
def audio_spectrogram(input, *, window_size, stride, magnitude_squared):
    """Magnitudes [channels, frames, frequencies] of windows of the signal [time, channels].

    Each window is shaped by Hann's function and filled with zeros up to a power of two.
    """
    require(input.ndim == 2, f"input must be 2-dimensional{list(input.shape)}")
    width = _power_of_two(window_size)
    frames = _frames(len(input), window_size, stride)
    if not frames:
        return np.zeros((input.shape[1], 0, 1 + width // 2), np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(input.T, window_size, axis=-1)
    windows = windows[:, ::stride].astype(np.float64)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window_size) / window_size)
    spectrum = np.fft.rfft(windows * hann, n=width)
    squared = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    return squared if magnitude_squared else np.sqrt(squared)


@audio_spectrogram.samples
def _(rng):
    signal = np.float32(rng.normal(size=(20, 2)))
    for squared in (False, True):
        yield Sample(signal, window_size=6, stride=3, magnitude_squared=squared, dtypes=False, grad=False)
    yield Sample(signal, window_size=32, stride=1, dtypes=False, note="too short", grad=False)
    yield ErrorSample(signal, window_size=1, stride=1, raises="initialization failed")


# -- mel-frequency cepstral coefficients --------------------------------------------------------
FLOOR = 1e-12  # of what a band holds, before its logarithm


def mfcc_shape(spectrogram, sample_rate, *, dct_coefficient_count):
    exactly(spectrogram, 3)
    exactly(sample_rate, 0)
    return make_shape((spectrogram.dim(0), spectrogram.dim(1), dct_coefficient_count))


@op(
    "Mfcc",
    "spectrogram: float32, sample_rate: int32 -> output: float32",
    upper_frequency_limit=4000.0,
    lower_frequency_limit=20.0,
    filterbank_channel_count=40,
    dct_coefficient_count=13,
    shape=mfcc_shape,
)
def mfcc(
    spectrogram,
    sample_rate,
    *,
    upper_frequency_limit,
    lower_frequency_limit,
    filterbank_channel_count,
    dct_coefficient_count,
):
    """The cosine transform of the logarithm of the energy in bands of equal width in mel."""
    require(spectrogram.ndim == 3, f"spectrogram must be 3-dimensional{list(spectrogram.shape)}")
    require(
        np.ndim(sample_rate) == 0,
        f"Input sample_rate should be a scalar tensor, got {list(np.shape(sample_rate))} instead.",
    )
    bins, rate = spectrogram.shape[-1], int(sample_rate)
    low, high, bands = lower_frequency_limit, upper_frequency_limit, filterbank_channel_count
    require(
        bands >= 1 and rate > 0 and bins >= 2 and 0 <= low < high and 1 <= dct_coefficient_count <= bands,
        f"Mfcc initialization failed for channel count {bins} and sample rate {rate}",
    )
    if bins <= int(high / (0.5 * rate / (bins - 1))):  # TF finds the spectrum too short, and says nothing
        return np.zeros((*spectrogram.shape[:2], dct_coefficient_count), np.float32)
    band, energy = mel_energy(spectrogram, rate, bands, low, high)
    # A band that no frequency lies in has the floor's logarithm; of what all bands have in common a
    # cosine transform keeps the first coefficient alone.
    above = np.log(np.maximum(energy, FLOOR)) - np.log(FLOOR)
    angle = np.outer(band + 0.5, np.arange(dct_coefficient_count)) * np.pi / bands
    result = above @ (np.sqrt(2 / bands) * np.cos(angle))
    result[..., 0] += np.log(FLOOR) * np.sqrt(2 * bands)
    return result


def mel_energy(spectrogram, rate, bands, low, high):
    """The bands that frequencies lie in, and the magnitudes in each of them: every frequency is shared
    between the two bands whose centers enclose it.  What lies outside of the limits does not count,
    whatever it is.  The bands may be many more than the frequencies."""

    def mel(hertz):
        return 1127 * np.log1p(hertz / 700)

    def center(band):  # band b rises from center(b) to center(b + 1) and falls to center(b + 2)
        return mel(low) + step * band

    bins, step = spectrogram.shape[-1], (mel(high) - mel(low)) / (bands + 1)
    width = 0.5 * rate / (bins - 1)
    i = np.arange(int(min(1.5 + low / width, bins)), int(min(high / width, bins - 1)) + 1)
    frequency = mel(i * width)
    left = np.clip(np.ceil((frequency - mel(low)) / step) - 1, 0, bands).astype(np.int64)
    left += (left < bands) & (center(left + 1) < frequency)  # where the quotient was rounded
    left -= (left > 0) & (center(left) >= frequency)
    falling = (center(left + 1) - frequency) / step
    with np.errstate(invalid="ignore"):
        seen = np.sqrt(spectrogram[..., i].astype(np.float64))
    found, place = np.unique(np.concatenate([left, left + 1]), return_inverse=True)
    energy = np.zeros((*spectrogram.shape[:-1], found.size))
    np.add.at(energy, (..., place), np.concatenate([seen * falling, seen * (1 - falling)], axis=-1))
    is_band = (found >= 1) & (found <= bands)
    return found[is_band] - 1, energy[..., is_band]


@mfcc.samples
def _(rng):
    spectrogram = np.float32(rng.uniform(0, 4, size=(2, 3, 257)))
    yield Sample(spectrogram, np.int32(16000), dtypes=False, grad=False)
    yield Sample(
        spectrogram,
        np.int32(8000),
        filterbank_channel_count=20,
        dct_coefficient_count=5,
        dtypes=False,
        grad=False,
    )
    outside = np.where(np.arange(257) > 200, np.float32(np.nan), spectrogram)
    yield Sample(outside, np.int32(16000), dtypes=False, grad=False, note="NaN outside")
    yield Sample(
        spectrogram[..., :4],
        np.int32(16),
        upper_frequency_limit=5.0,
        lower_frequency_limit=1.0,
        filterbank_channel_count=2**31 - 1,
        dct_coefficient_count=1,
        dtypes=False,
        grad=False,
        note="more bands than memory holds",
    )
    few = {"upper_frequency_limit": 5.0, "filterbank_channel_count": 2, "dct_coefficient_count": 2}
    few["lower_frequency_limit"] = 1.0
    yield Sample(spectrogram[..., :4], np.int32(2), **few, dtypes=False, grad=False, note="too short")
    yield ErrorSample(spectrogram, np.int32(-1), raises="Mfcc initialization failed")
