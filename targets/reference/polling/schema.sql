CREATE TABLE orders (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ref      text   NOT NULL UNIQUE,
    customer text   NOT NULL
);

CREATE TABLE outbox (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id     text        NOT NULL UNIQUE,
    payload      json        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    published_at timestamptz
);

-- The relay looks for unpublished rows many times a second. The index holds
-- only those, so that the search stays as cheap as the backlog is short.
CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL;

-- The cleanup looks for old published rows.
CREATE INDEX outbox_published ON outbox (published_at) WHERE published_at IS NOT NULL;

CREATE TABLE deduplication (
    event_id text NOT NULL,
    consumer text NOT NULL,
    PRIMARY KEY (event_id, consumer)
);

CREATE TABLE effects (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id  text NOT NULL,
    consumer  text NOT NULL,
    order_ref text NOT NULL
);
