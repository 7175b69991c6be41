"""The dags of the demo; they are copied into its home, where they can be changed."""
