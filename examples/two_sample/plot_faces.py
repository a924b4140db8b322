"""
Where smiles differ from frowns
===============================

A test that learns its location says not only that two samples of pictures differ, but where: the location is a picture
itself. Averaged over several splits of the data it shows what all of them have found.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import ExpressiveFaces
from mercer.htest import ME

# %%
# Drawn faces of 48 x 34 pixels stand in for photographs of actors: the first sample smiles, the second frowns; shapes of
# heads, places of eyes and the light vary.

positive, negative = ExpressiveFaces().sample(300, rng=0)

# %%
# Half of each sample chooses one location and the bandwidth, by the power on that half, and the other half tests. This is
# repeated on ten random splits; the learnt locations are averaged.

rng = np.random.default_rng(0)
locations, pvalues = [], []
for split in range(10):
    x, y = rng.permutation(positive), rng.permutation(negative)
    test = ME.optimized(x[:150], y[:150], locations=1, rng=split)
    locations.append(np.asarray(test.locations)[0])
    pvalues.append(test.test(x[150:], y[150:], rng=split).pvalue)
print(f"rejected at level 0.01 in {np.sum(np.array(pvalues) <= 0.01)} of 10 splits")

# %%
# The average location is a face. What tells the samples apart is the difference of their means around it: mouth and brows.

pictures = {
    "a smile": positive[0],
    "a frown": negative[0],
    "average location": np.mean(locations, axis=0),
    "difference of means": positive.mean(axis=0) - negative.mean(axis=0),
}
fig, axes = plt.subplots(1, 4, figsize=(9, 3.2), layout="constrained")
for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture.reshape(48, 34), cmap="gray")
    axis.set(title=title, xticks=[], yticks=[])
plt.show()
