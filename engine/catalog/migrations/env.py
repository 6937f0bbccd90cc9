"""Runs the migrations inside the transaction that the caller opened."""

from alembic import context

from crossview.engine.catalog.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters many things only by making the table again
    transactional_ddl=False,  # the caller's transaction covers all migrations
)
context.run_migrations()
