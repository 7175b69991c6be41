"""The dags that the benchmark runs. The files are copied into a folder of dags, not imported."""
