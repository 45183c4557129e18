"""Logit adjustment: the loss sees logits on the level of its labels (Menon et al., 2021, arXiv:2007.07314, section 4.2;
"prior correction" in King and Zeng, 2001).

Of labels drawn at random from a user's lists very few are correct, of those that the shipped cascade learnt from a
third. Trained on the former as it is, a cascade spends its few steps on making every candidate less likely, with all
its layers, and forgets their order. A constant within the loss says it beforehand. Off by default: where the field is
new, it takes away as much (docs/decisions/0040).

Where we differ: the constant is not the log odds of the labels, since a base's logits may have any level. It is fitted,
for each exit, so that the mean probability on what is trained is the share of correct labels there.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit


def fit_offset(logits: np.ndarray, share: float) -> float:
    """The number to add to logits `(n,)` so that their mean probability is the share of correct labels; 0 where all
    labels are alike."""
    if not 0 < share < 1:
        return 0.0
    reach = abs(float(logit(share))) + float(np.abs(logits).max()) + 1
    return float(brentq(lambda offset: expit(logits.astype(float) + offset).mean() - share, -reach, reach))
