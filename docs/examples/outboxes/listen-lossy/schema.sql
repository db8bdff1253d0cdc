CREATE TABLE orders (id bigserial PRIMARY KEY, ref text NOT NULL UNIQUE, customer text);
CREATE TABLE outbox (id bigserial PRIMARY KEY, event_id uuid NOT NULL, payload jsonb NOT NULL, status text NOT NULL DEFAULT 'new',
  published_at timestamptz, locked_until timestamptz, locked_by text, created_at timestamptz DEFAULT now());
CREATE TABLE seen (event_id uuid, consumer text, PRIMARY KEY (event_id, consumer));
CREATE TABLE effects (id bigserial PRIMARY KEY, event_id uuid NOT NULL, consumer text NOT NULL);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('outbox', NEW.id::text); RETURN NULL; END $$;
CREATE TRIGGER tell AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION tell();
