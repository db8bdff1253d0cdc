package targets

import (
	"reflect"
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
		Topic: "t1.orders", Stream: "t1", Instance: "relay.0", Port: "4711",
	}
}

func TestExpand(t *testing.T) {
	a := sample()
	a.Order, a.Customer, a.Files = "o1", "c1", "/run/files"
	a.Saved = map[string]string{"token": "t/1", "quoted": `it's "x"`}
	for text, want := range map[string]string{
		"":                              "",
		"plain } {":                     "plain } {",
		"--db={{.Postgres.URL}}":        "--db=" + a.Postgres.URL,
		"{{ .Broker.Addr }}":            "127.0.0.1:4222",
		"{{.Topic}}/{{.Stream}}":        "t1.orders/t1",
		"{{.Instance}}":                 "relay.0",
		"{{.Port}} {{.Files}}":          "4711 /run/files",
		"{{.UUID}}":                     UUID("o1"),
		"{{.CustomerUUID}}":             UUID("c1"),
		"{{urlquery .Saved.token}}":     "t%2F1",
		"{{json .Saved.quoted}}":        `"it's \"x\""`,
		"('{{.Order}}', {{.Customer}})": "('o1', c1)",
	} {
		if got, err := Expand(text, a); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"{{.Nothing}}", "{{.Postgres.Nothing}}", "{{", "{{.Topic.Deeper}}", "{{nothing}}", "{{.Saved.other}}", "{{json .}}"} {
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
		"PORT=4711",
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
	if err != nil || !reflect.DeepEqual(back, sample()) {
		t.Errorf("back again: %+v, %v", back, err)
	}
	_, err = FromEnvironment(func(string) string { return "postgres://u:secret@[" })
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a bad URL: %v", err)
	}
}
