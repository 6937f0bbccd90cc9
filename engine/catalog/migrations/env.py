"""Runs the migrations inside the transaction that the caller opened."""

from alembic import context

from crossview.engine.catalog.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters a table by making it anew
    transactional_ddl=False,  # the caller's transaction is the one
)
context.run_migrations()
