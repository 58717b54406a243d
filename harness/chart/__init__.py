"""What in chart/skoupa is written from the code: `python -m harness.chart`.

The chart gives what `skoupa install` gives. What is long there and does not depend on what Helm alone knows (definitions, roles,
admission policies, the schema of the settings) is taken from `skoupa install` itself and laid down as files that the templates
choose from; only the workload is a template by hand. A test compares the files with what would be written.
"""

from harness.chart.files import CHART, FILES

__all__ = ["CHART", "FILES"]
