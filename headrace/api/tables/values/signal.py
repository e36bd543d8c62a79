"""Public names of the family: signals and audio."""

NAMES: dict[str, str] = {
    "headrace.ops.linalg.fft": (
        "{,signal.,spectral.}fft {,signal.,spectral.}ifft {,signal.,spectral.}fft2d "
        "{,signal.,spectral.}ifft2d {,signal.,spectral.}fft3d {,signal.,spectral.}ifft3d"
    ),
    "headrace.functions.signal.fourier": (
        "{signal.,spectral.}rfft {signal.,spectral.}irfft {signal.,spectral.}rfft2d "
        "{signal.,spectral.}irfft2d {signal.,spectral.}rfft3d {signal.,spectral.}irfft3d "
        "signal.fftshift signal.ifftshift"
    ),
    "headrace.functions.signal.framing": (
        "signal.frame signal.overlap_and_add signal.hann_window signal.hamming_window"
    ),
    "headrace.functions.signal.stft": "signal.stft signal.inverse_stft signal.inverse_stft_window_fn",
    "headrace.functions.signal.cosine": "{signal.,spectral.}dct {signal.,spectral.}idct",
    "headrace.functions.signal.mel": (
        "signal.linear_to_mel_weight_matrix signal.mfccs_from_log_mel_spectrograms"
    ),
    "headrace.ops.image.audio": "audio.decode_wav audio.encode_wav",
}
