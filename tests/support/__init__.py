"""What tests share: zoos of kernels, tests and learners, problems with known truth, peers, checks."""
