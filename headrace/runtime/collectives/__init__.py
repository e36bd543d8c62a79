"""Operations in which a group of devices takes part: sums, gathers, broadcasts, on one task or many."""
