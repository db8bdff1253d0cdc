CREATE TABLE outbox (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id   text        NOT NULL UNIQUE,
    payload    json        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The relay reads the inserts alone: the cleanup's deletes are no events.
CREATE PUBLICATION events FOR TABLE outbox WITH (publish = 'insert');
