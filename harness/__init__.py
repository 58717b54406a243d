"""Test tooling: what the tests, the benchmarks and a developer's playground run Skoupa against."""
