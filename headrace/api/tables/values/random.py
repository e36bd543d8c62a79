"""Public names of the family: random numbers."""

NAMES: dict[str, str] = {
    "headrace.functions.random.random_seed": "{,random.}get_seed {,random.}set_random_seed",
    "headrace.functions.random.random": (
        "random_normal random.normal=random_normal {,random.}truncated_normal "
        "random_uniform random.uniform=random_uniform random_shuffle random.shuffle=random_shuffle "
        "{,image.}random_crop {,random.}multinomial random.categorical "
        "random_gamma random.gamma=random_gamma random_poisson random.poisson=random_poisson"
    ),
    "headrace.variables.generator": (
        "random.experimental.Generator random.experimental.create_rng_state "
        "random.experimental.get_global_generator random.experimental.set_global_generator"
    ),
    "headrace.functions.nn.candidates": (
        "{random.,nn.}uniform_candidate_sampler {random.,nn.}log_uniform_candidate_sampler "
        "{random.,nn.}learned_unigram_candidate_sampler "
        "{random.,nn.}fixed_unigram_candidate_sampler {random.,nn.}all_candidate_sampler "
        "nn.compute_accidental_hits"
    ),
    "headrace.functions.random.random_stateless": (
        "random.stateless_uniform=stateless_random_uniform "
        "random.stateless_normal=stateless_random_normal random.stateless_truncated_normal "
        "random.stateless_multinomial random.stateless_categorical"
    ),
}
