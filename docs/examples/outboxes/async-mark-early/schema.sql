CREATE TABLE orders (id bigserial PRIMARY KEY, ref text NOT NULL UNIQUE, customer text);
CREATE TABLE outbox (id bigserial PRIMARY KEY, event_id uuid NOT NULL, payload jsonb NOT NULL, status text NOT NULL DEFAULT 'new',
  published_at timestamptz, locked_until timestamptz, locked_by text, created_at timestamptz DEFAULT now());
CREATE TABLE seen (event_id uuid, consumer text, PRIMARY KEY (event_id, consumer));
CREATE TABLE effects (id bigserial PRIMARY KEY, event_id uuid NOT NULL, consumer text NOT NULL);
