"""expr/jmespath/: JMESPath as Kyverno's users write it, without its surprises.

Text becomes an `Expression` once (`compile`, cached by text), which is then asked about many values (`search`). The grammar
is the `jmespath` package's; the interpreter is ours, because three things are different here: a missing key is an error
until `||` or another place that expects absence takes it, work and output are bounded, and time and chance come in
through the Context. Mistakes that no value can heal (syntax, unknown functions, wrong arguments) are found by `compile`.
"""

from __future__ import annotations

from skoupa.expr.jmespath.expression import Expression, compile  # noqa: A004 - as in re
from skoupa.expr.jmespath.running import Budget, Context, Limits

__all__ = ["Budget", "Context", "Expression", "Limits", "compile"]
