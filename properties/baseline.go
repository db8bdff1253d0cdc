package properties

// Baseline is what a fault-free run of the same workload, which earned its
// pass, showed: that the manifest's queries and rules find what they should,
// and how many events each order has. A trial with faults is judged beside it.
type Baseline struct {
	// Events counts the event ids that the log held for each order.
	Events map[string]int `json:"events"`
	// OrderWrites: every order's row was written by a statement of the app on the
	// table of the orders, in a transaction that was seen to commit.
	OrderWrites bool `json:"order_writes,omitempty"`
}

// BaselineOf returns the baseline of a fault-free history, or nil when the
// history did not earn a pass.
func BaselineOf(h []Event) *Baseline {
	if len(h) == 0 || h[0].Trial == nil || len(h[0].Trial.Faults) > 0 || Judge(h).Verdict != Pass {
		return nil
	}
	ix := newIndex(h)
	return &Baseline{Events: ix.idsOfOrders(), OrderWrites: ix.orderWrites}
}

// idsOfOrders counts the event ids of each order in the log.
func (ix *index) idsOfOrders() map[string]int {
	ids := map[string]map[string]bool{}
	for _, l := range ix.log {
		if l.order == "" || l.EventID == "" {
			continue
		}
		if ids[l.order] == nil {
			ids[l.order] = map[string]bool{}
		}
		ids[l.order][l.EventID] = true
	}
	counts := map[string]int{}
	for order, of := range ids {
		counts[order] = len(of)
	}
	return counts
}
