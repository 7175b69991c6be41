"""PostgreSQL: the schema, the statements, and thin functions that call them."""
