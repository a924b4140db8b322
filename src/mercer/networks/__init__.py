"""Networks of torch that are learnt: training with early stopping, features for kernels, functions of sets.

torch is imported inside functions, so that this room costs nothing until a network is needed.
"""
