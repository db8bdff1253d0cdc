package trial

// nothingHeld: every consumer that the broker knows has been given and has
// acknowledged everything, and there is one.
func (l *ledgers) nothingHeld() bool {
	for _, b := range l.backlog {
		if b.Holds() {
			return false
		}
	}
	return len(l.backlog) > 0
}

// outstanding counts the committed orders without an event, and the effects
// that are missing.
func (l *ledgers) outstanding(consumers []string) (missing, unapplied int) {
	logged := map[string]bool{}
	for _, m := range l.log {
		logged[l.token(m.Order)] = true
	}
	for _, row := range l.committed {
		if !logged[row.Order] {
			missing++
		}
	}
	done := map[[2]string]bool{}
	for _, e := range l.applied {
		done[[2]string{e.EventID, e.Consumer}] = e.Count > 0
	}
	seen := map[string]bool{}
	for _, m := range l.log {
		if m.EventID == "" || seen[m.EventID] {
			continue
		}
		seen[m.EventID] = true
		for _, c := range consumers {
			if !done[[2]string{m.EventID, c}] {
				unapplied++
			}
		}
	}
	return missing, unapplied
}
