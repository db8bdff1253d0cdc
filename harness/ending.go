package harness

// confirmed reports whether a violation of a claimed property failed again in
// every replay, and is written down as well as it can be.
func (f *findings) confirmed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ends != nil && f.ends.refined
}

// ended reports whether there is a violation that a run ends at which stops at
// the first, though it may still be shrunk, and is another than x.
func (f *findings) ended(x *finding) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ends != nil && f.ends != x
}

// note looks whether a finding is the first that comes back in every replay. The
// caller holds the lock.
func (f *findings) note(x *finding) {
	if f.ends == nil && f.claimed[x.property] && x.always() {
		f.ends = x
	}
}
