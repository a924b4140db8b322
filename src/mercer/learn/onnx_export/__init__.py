"""ONNX graphs of fitted learners: their formulas are called once with symbolic arrays, which write down what is done.

Public names are exported by `mercer.learn`. onnx is imported by `onnx_document` only, when a graph is finished.
"""
