package segment

import "path/filepath"

// Resync is Datasync for bytes that an earlier process wrote and may not have synced before it died: the segments that
// overlap [from, to) are synced whoever wrote them, and with DeferNames the names up to two directories above them too.
func (f *Files) Resync(from, to int64) error {
	any := false
	for _, s := range f.List() {
		if s.start < to && s.end > from {
			s.dirty.Store(true)
			any = true
		}
	}
	if any && f.opts.DeferNames {
		parent := filepath.Dir(f.dir)
		f.mu.Lock()
		f.names = append(f.names, f.dir, parent, filepath.Dir(parent))
		f.unsaved.Store(true)
		f.mu.Unlock()
	}
	return f.Datasync(from, to)
}
