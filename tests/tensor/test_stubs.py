"""The type stubs are written from the declarations and hold every public operator."""
import ast

import headwater as hw
from headwater import stubs


def test_every_operator_has_a_typed_signature():
    tree = ast.parse(stubs.text())
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    methods = {n.name for c in tree.body if isinstance(c, ast.ClassDef) and c.name == "Tensor" for n in c.body
               if isinstance(n, ast.FunctionDef)}
    for name in hw.ops.names():
        facts = hw.ops.describe(name)
        if not name.endswith("_"):
            assert name in functions and ast.get_docstring(functions[name])
        if facts["method"]:
            assert name in methods, name
