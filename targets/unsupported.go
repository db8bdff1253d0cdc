package targets

import (
	"maps"
	"slices"
)

// Unsupported lists the keys that a target uses and no part of the harness
// carries out yet, in the manifest's order. A target that has any is refused
// rather than judged by half of what it says.
func Unsupported(t Target) []string {
	var list []string
	note := func(used bool, key string) {
		if used {
			list = append(list, key)
		}
	}
	note(len(t.Build) > 0, "build")
	note(len(t.Schema.Run) > 0, "schema.run")
	note(t.Schema.ByApp, "schema: by app")
	note(len(t.App.Place) > 0, "app.place")
	note(len(t.App.AbortBy) > 0, "app.abort by HTTP")
	eachRole(t, func(role string, p Process) {
		note(len(p.Files) > 0, role+".files")
		note(p.Ready != (Ready{}), role+".ready")
		note(p.ReadyWithin != 0, role+".ready-within")
		note(usesPort(p), "{{.Port}} in "+role)
	})
	note(t.Event.Each != "", "event.each")
	note(t.Event.Sequence != "", "event.sequence")
	note(t.Limits.ExitsOnError, "limits.exits-on-error")
	return list
}

func usesPort(p Process) bool {
	texts := slices.Concat(p.Start, slices.Collect(maps.Values(p.Env)), slices.Collect(maps.Values(p.Files)))
	return slices.ContainsFunc(texts, func(text string) bool {
		return depends(text, nil, func(a *Addresses, word string) { a.Port = word })
	})
}
