package targets

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// TestUUID pins the UUIDs: a scenario file that is replayed makes the same ones.
func TestUUID(t *testing.T) {
	if got := UUID("o1"); got != "41771cbc-a5d4-5278-8d5a-5f54620ac98f" {
		t.Errorf("got %s", got)
	}
	if a := (Addresses{Order: "o1", Customer: "c1"}); a.UUID() == a.CustomerUUID() {
		t.Error("an order and its customer have the same UUID")
	}
}

func TestFindOrders(t *testing.T) {
	uuid := UUID("o1")
	foreign := "o1234567-0000-4000-8000-00000000000a"
	finder := FindOrders([]string{"o1", "o2", "o12", "beef", "o1", ""})
	for value, want := range map[string]string{
		"o1":                                   "o1",
		"o12":                                  "o12",
		uuid:                                   "o1",
		strings.ToUpper(uuid):                  "o1",
		strings.ReplaceAll(uuid, "-", ""):      "o1",
		"{" + uuid + "}":                       "o1",
		"urn:uuid:" + uuid:                     "o1",
		"order-" + uuid:                        "o1",
		"web-o1":                               "o1",
		"web_o1 (o1)":                          "o1",
		`{"ref":"o2"}`:                         "o2",
		"o1 is " + uuid:                        "o1",
		"":                                     "",
		"o3":                                   "",
		"O1":                                   "",
		"xo1":                                  "",
		"o11":                                  "",
		"o1é":                                  "",
		"éo1":                                  "",
		UUID("o3"):                             "",
		uuid + "0":                             "",
		foreign:                                "",
		"00000000-beef-4000-8000-00000000000a": "",
		"xo1 o1":                               "o1",
		"o1o1 o1":                              "o1",
		"00000000-beef-4000-8000-00000000000a/" + uuid: "o1",
	} {
		if got, err := finder.Find(value); got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", value, got, err, want)
		}
	}
	for value, want := range map[string][]string{
		"o1,o2":                 {"o1", "o2"},
		"o2 " + uuid:            {"o1", "o2"},
		uuid + " " + UUID("o2"): {"o1", "o2"},
	} {
		got, err := finder.Find(value)
		var ambiguous *AmbiguousError
		if !errors.As(err, &ambiguous) || !reflect.DeepEqual(ambiguous.Tokens, want) || got != "" {
			t.Errorf("%q: got %q, %v", value, got, err)
		}
	}
	if _, err := finder.Find("o1 o2 " + strings.Repeat("x", 1<<20)); err == nil || len(err.Error()) > 1000 {
		t.Errorf("an error of %d bytes", len(errorText(err)))
	}
	if got, err := FindOrders([]string{"a o1", "o1"}).Find("a o1"); got != "a o1" || err != nil {
		t.Errorf("the token itself comes first: %q, %v", got, err)
	}
}

// FuzzFindOrders: an order is found wherever its token or its UUID stands alone,
// and nothing makes the finder panic.
func FuzzFindOrders(f *testing.F) {
	f.Add("o1", "web-", "")
	f.Add("a1", "{", "}")
	f.Add("beef", "00000000-", "-4000-8000-00000000000a")
	f.Fuzz(func(t *testing.T, token, before, after string) {
		finder := FindOrders([]string{token})
		if got, err := finder.Find(before + token + after); err != nil || got != "" && got != token {
			t.Errorf("got %q, %v", got, err)
		}
		if token == "" {
			return
		}
		for _, form := range []string{token, UUID(token), strings.ToUpper(UUID(token)), strings.ReplaceAll(UUID(token), "-", "")} {
			for _, value := range []string{form, "<" + form + ">"} {
				if got, err := finder.Find(value); err != nil || got != token && !aUUID.MatchString(token) {
					t.Errorf("%q: got %q, %v", value, got, err)
				}
			}
		}
	})
}
