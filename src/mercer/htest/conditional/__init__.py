"""Conditional independence tests: are x and y independent given z?"""
