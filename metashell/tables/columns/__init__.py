"""Record batches as columns: from the bytes of a split to raw tables, and from those to typed ones.

`vectors` reads numbers at many positions at once, `record_walk` finds the records of many batches, `column_reader` compiles a schema to a
reader of columns, `record_tables` puts rows into the table of their type, and `reader` does all of it for a split."""
