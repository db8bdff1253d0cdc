-- The row is the event: what changes later is none.
CREATE PUBLICATION events FOR TABLE orders WITH (publish = 'insert');
