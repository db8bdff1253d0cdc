package targets

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// httpMethods are those that a request can have.
func httpMethods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
}

var (
	// goodVariable is what can stand behind a dot in a template.
	goodVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// goodHeader is a token of RFC 9110, section 5.6.2.
	goodHeader = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
)

func checkPlace(a App, f *findings) {
	saved, kept := checkRequests("app.place", a.Place, nil, f)
	if last := len(a.Place) - 1; a.Place[last].ForCustomer() {
		f.add(f.elementKey("app.place", last)+".once", "the last request places the order, and every order has one; put this request before it")
	}
	demandOrder("app.place", a.Place, saved, f)
	if a.Abort {
		f.add("app.abort", "an app by HTTP needs the request that makes it roll back: {http: POST /orders, body: '...'}; leave it out if there is none")
	}
	if len(a.AbortBy) == 0 {
		return
	}
	saved, _ = checkRequests("app.abort", a.AbortBy, kept, f)
	for i, r := range a.AbortBy {
		if r.Once != "" {
			f.add(f.elementKey("app.abort", i)+".once", "the requests for a customer's first order are those of place, and come before an abort too; leave it out")
		}
	}
	demandOrder("app.abort", a.AbortBy, saved, f)
}

// demandOrder demands that the service learns of the order: by nothing else can
// its row be told from another's.
func demandOrder(key string, requests []Request, saved []string, f *findings) {
	if f.spoiled(key) {
		return
	}
	told := slices.ContainsFunc(requests, func(r Request) bool {
		texts := append(slices.Collect(maps.Values(r.Headers)), r.HTTP, r.Body)
		return !r.ForCustomer() && slices.ContainsFunc(texts, func(text string) bool {
			return depends(text, saved, func(a *Addresses, word string) { a.Order = word })
		})
	})
	if !told {
		f.add(key, "no request tells the service which order it is; put {{.Order}}, or {{.UUID}} if it wants a UUID, into a field that the row keeps")
	}
}

// checkRequests returns what the requests save, with what was saved before, and
// what they keep for a customer's later orders.
func checkRequests(list string, requests []Request, before []string, f *findings) (saved, kept []string) {
	saved = slices.Clone(before)
	for i, r := range requests {
		at := f.elementKey(list, i)
		known := requestNames(saved)
		if r.ForCustomer() {
			known = requestNames(kept)
		}
		checkRequest(at, r, known, f)
		for _, name := range slices.Sorted(maps.Keys(r.Save)) {
			key := join(at+".save", name)
			if !goodVariable.MatchString(name) {
				f.add(key, "%q cannot be named in a template; use letters, digits and underscores", name)
				continue
			}
			if text(f, key, r.Save[name], "where the answer has it, such as body:$.token") {
				if _, err := compileAnswerRule(r.Save[name]); err != nil {
					f.add(key, "%v", err)
				}
			}
			saved = append(saved, name)
			if r.ForCustomer() {
				kept = append(kept, name)
			}
		}
	}
	return saved, kept
}

func checkRequest(at string, r Request, known names, f *findings) {
	if text(f, at+".http", r.HTTP, "the method and the path: POST /orders") {
		checkLine(at+".http", r.HTTP, known, f)
	}
	checkTemplate(f, at+".body", r.Body, known)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		key := join(at+".headers", name)
		value := r.Headers[name]
		switch {
		case !goodHeader.MatchString(name):
			f.add(key, "%q cannot be a header's name", name)
		case strings.ContainsAny(value, "\r\n\x00"):
			f.add(key, "a header's value is one line; write it on one")
		}
		checkTemplate(f, key, value, known)
	}
	for i, status := range r.Accepted {
		if status < 200 || status > 599 {
			f.add(fmt.Sprintf("%s.accepted[%d]", at, i), "%d is the status of no answer; write 200 to 599", status)
		}
	}
	if r.Once != "" && r.Once != onceCustomer {
		f.add(at+".once", "%q is nothing to do a request once for; write %s if only the first order of each customer has it, or leave it out", r.Once, onceCustomer)
	}
}

// checkLine checks "POST /orders".
func checkLine(key, line string, known names, f *findings) {
	const form = "write the method and the path: POST /orders"
	method, path, two := strings.Cut(line, " ")
	switch {
	case !two && strings.HasPrefix(line, "/"):
		f.add(key, "%s has no method; %s", bounded(line), form)
		return
	case !two:
		f.add(key, "%s is no request; %s", bounded(line), form)
		return
	case !slices.Contains(httpMethods(), method):
		f.add(key, "there is no method %q; %s", method, meant(method, httpMethods()))
		return
	case strings.Contains(path, "://"):
		f.add(key, "the harness knows where the app listens; leave out the host: %s /orders", method)
		return
	}
	if !checkTemplate(f, key, path, known) {
		return
	}
	if out, err := expand(path, known.sample); err == nil && (!strings.HasPrefix(path, "{{") && !strings.HasPrefix(out, "/") || blankWithin(out)) {
		f.add(key, `%s is no path; begin it with "/", and write %%20 for a blank`, bounded(path))
	}
}
