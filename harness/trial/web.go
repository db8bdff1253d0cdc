package trial

import (
	"fmt"
	"maps"
	"net/http"
	"sync"

	"github.com/outboxtest/outboxtest/targets"
)

// web is how the app of a trial is asked for orders by HTTP, and what its
// customers have been given.
type web struct {
	app          targets.App
	place, abort []webRequest
	introduces   bool // some request is for a customer's first order only

	mu        sync.Mutex
	customers map[string]map[string]string // what those requests saved
}

// webRequest is a request with the reader of what it saves.
type webRequest struct {
	targets.Request
	read *targets.AnswerReader
	// accepts tells whether a status says that it worked.
	accepts func(status int) bool
}

// newWeb is nil for an app that is not asked by HTTP.
func newWeb(app targets.App) (*web, error) {
	if len(app.Place) == 0 {
		return nil, nil
	}
	w := &web{app: app, customers: map[string]map[string]string{}}
	compile := func(key string, list []targets.Request, accepts func(i, status int) bool) (out []webRequest, err error) {
		for i, r := range list {
			read, err := r.CompileSave()
			if err != nil {
				return nil, &TargetError{Stage: StageManifest, What: fmt.Sprintf("%s[%d].%v", key, i, err)}
			}
			out = append(out, webRequest{Request: r, read: read, accepts: func(status int) bool { return accepts(i, status) }})
			w.introduces = w.introduces || r.ForCustomer()
		}
		return out, nil
	}
	var err error
	if w.place, err = compile("app.place", app.Place, func(i, status int) bool { return app.Place[i].Accepts(status) }); err != nil {
		return nil, err
	}
	if w.abort, err = compile("app.abort", app.AbortBy, app.AbortAccepts); err != nil {
		return nil, err
	}
	return w, nil
}

// requests are those of an operation, in their order.
func (w *web) requests(op string) []webRequest {
	list := w.place
	if op == opAbort {
		list = w.abort
	}
	var out []webRequest
	for _, r := range list {
		if r.ForCustomer() == (op == opIntroduce) {
			out = append(out, r)
		}
	}
	return out
}

// stranger reports whether the app has to be told of the customer first.
func (w *web) stranger(customer string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.introduces && w.customers[customer] == nil
}

// saved is what the customer was given, in a map of the caller's own.
func (w *web) saved(customer string) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	saved := map[string]string{}
	maps.Copy(saved, w.customers[customer])
	return saved
}

func (w *web) keep(customer string, saved map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.customers[customer] = saved
}

// refused takes note of a status: where the app does not know a customer any
// more, the next order begins with the introduction again.
func (w *web) refused(customer string, status int) {
	if status != http.StatusUnauthorized && status != http.StatusForbidden {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.customers, customer)
}
