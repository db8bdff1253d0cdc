package targets

import (
	"slices"
	"strings"
	"testing"
)

func sample() Addresses {
	return Addresses{
		Postgres: PostgresAddress{
			URL: "postgres://u:p%40ss@127.0.0.1:5432/trial?sslmode=disable", Host: "127.0.0.1", Port: "5432",
			User: "u", Password: "p@ss", Database: "trial",
		},
		Broker: BrokerAddress{
			URL: "nats://n:secret@127.0.0.1:4222", Addr: "127.0.0.1:4222", Host: "127.0.0.1", Port: "4222",
			User: "n", Password: "secret",
		},
		Topic: "t1.orders", Stream: "t1", Instance: "relay.0",
	}
}

func TestExpand(t *testing.T) {
	a := sample()
	a.Order, a.Customer = "o1", "c1"
	for text, want := range map[string]string{
		"":                              "",
		"plain } {":                     "plain } {",
		"--db={{.Postgres.URL}}":        "--db=" + a.Postgres.URL,
		"{{ .Broker.Addr }}":            "127.0.0.1:4222",
		"{{.Topic}}/{{.Stream}}":        "t1.orders/t1",
		"{{.Instance}}":                 "relay.0",
		"('{{.Order}}', {{.Customer}})": "('o1', c1)",
	} {
		if got, err := Expand(text, a); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"{{.Nothing}}", "{{.Postgres.Nothing}}", "{{", "{{.Topic.Deeper}}", "{{nothing}}"} {
		if got, err := Expand(text, a); err == nil {
			t.Errorf("%q became %q", text, got)
		} else if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: the error does not name it in one line: %v", text, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	environment := Environment(sample())
	want := []string{
		"OUTBOXTEST_POSTGRES_URL=postgres://u:p%40ss@127.0.0.1:5432/trial?sslmode=disable",
		"OUTBOXTEST_BROKER_URL=nats://n:secret@127.0.0.1:4222",
		"OUTBOXTEST_TOPIC=t1.orders",
		"OUTBOXTEST_STREAM=t1",
		"OUTBOXTEST_INSTANCE=relay.0",
	}
	if !slices.Equal(environment, want) {
		t.Errorf("got %q", environment)
	}
	back, err := FromEnvironment(func(name string) string {
		for _, line := range environment {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	})
	if err != nil || back != sample() {
		t.Errorf("back again: %+v, %v", back, err)
	}
	_, err = FromEnvironment(func(string) string { return "postgres://u:secret@[" })
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a bad URL: %v", err)
	}
}
