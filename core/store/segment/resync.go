package segment

// Resync is Datasync for bytes that an earlier process wrote and may not have synced before it died: the segments that
// overlap [from, to) are synced whoever wrote them, and with DeferNames their names too. The directories above are the
// owner's to sync.
func (f *Files) Resync(from, to int64) error {
	any := false
	for _, s := range f.List() {
		if s.start < to && s.end > from {
			s.dirty.Store(true)
			any = true
		}
	}
	if any && f.opts.DeferNames {
		f.mu.Lock()
		f.names = append(f.names, f.dir)
		f.unsaved.Store(true)
		f.mu.Unlock()
	}
	return f.Datasync(from, to)
}
