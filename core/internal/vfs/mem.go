package vfs

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Mem is a file system in memory for tests. It behaves like OS for a well-behaved program, and remembers which writes
// and which directory changes were not synced yet, so that CrashClone can forget them.
//
// A mapping of a Mem file is the file's own buffer: writes show up in it at once, the race detector sees both sides,
// and growing or shrinking the file detaches it. Every unsynced write is kept twice (the new and the overwritten
// bytes) until it is synced, so memory is bounded by file sizes plus twice what is unsynced.
//
// Directory changes reach the disk with SyncDir of any directory they touch, or by luck at a crash; a rename is one
// change. All directories on the way to a file must be durable for the file to survive, as in POSIX.
type Mem struct {
	now func() time.Time

	mu      sync.RWMutex
	root    *memNode        // guarded by mu, as is everything reachable from it
	changes []nameChange    // directory changes since the last sync of their directories, oldest first; guarded by mu
	usage   DiskUsage       // guarded by mu
	locks   map[string]bool // held, by clean path; guarded by mu
}

var (
	_ FS   = (*Mem)(nil)
	_ File = (*memFile)(nil)
)

// NewMem returns an empty file system whose modification times come from now; nil means time.Now.
func NewMem(now func() time.Time) *Mem {
	if now == nil {
		now = time.Now
	}
	return &Mem{
		now:   now,
		root:  newMemDir(now()),
		locks: make(map[string]bool),
		usage: DiskUsage{Total: 1 << 40, Free: 1 << 40, Available: 1 << 40},
	}
}

// memNode is a file or a directory.
type memNode struct {
	modTime time.Time

	// Of a directory:
	entries map[string]*memNode // what programs see; nil for a file
	durable map[string]*memNode // what is on the disk for certain

	// Of a file:
	data    []byte
	pending []memWrite // since the last sync, oldest first
}

func newMemDir(now time.Time) *memNode {
	return &memNode{modTime: now, entries: make(map[string]*memNode), durable: make(map[string]*memNode)}
}

func (n *memNode) isDir() bool { return n.entries != nil }

// nameChange is one change of directories that reaches the disk as a whole: a creation, a removal (one binding) or a
// rename (two).
type nameChange []binding

// binding says that a name in a directory now leads to node, or to nothing.
type binding struct {
	dir  *memNode
	name string
	node *memNode
}

func (c nameChange) touches(dir *memNode) bool {
	return slices.ContainsFunc(c, func(b binding) bool { return b.dir == dir })
}

// bindLocked applies a change to what programs see and notes it as not synced.
func (m *Mem) bindLocked(c nameChange) {
	now := m.now()
	for _, b := range c {
		bind(b.dir.entries, b.name, b.node)
		b.dir.modTime = now
	}
	m.changes = append(m.changes, c)
}

func bind(entries map[string]*memNode, name string, node *memNode) {
	if node == nil {
		delete(entries, name)
		return
	}
	entries[name] = node
}

// splitPath returns the elements of a path; the root, "." and "/", has none.
func splitPath(path string) []string {
	path = strings.Trim(filepath.ToSlash(filepath.Clean(path)), "/")
	if path == "" || path == "." {
		return nil
	}
	return strings.Split(path, "/")
}

// findLocked returns the node at path.
func (m *Mem) findLocked(op, path string) (*memNode, error) {
	node := m.root
	for _, name := range splitPath(path) {
		if !node.isDir() {
			return nil, pathError(op, path, syscall.ENOTDIR)
		}
		next, ok := node.entries[name]
		if !ok {
			return nil, pathError(op, path, ErrNotExist)
		}
		node = next
	}
	return node, nil
}

// parentLocked returns the directory that holds, or would hold, the last element of path.
func (m *Mem) parentLocked(op, path string) (dir *memNode, name string, err error) {
	elements := splitPath(path)
	if len(elements) == 0 {
		return nil, "", pathError(op, path, fs.ErrInvalid)
	}
	dir, err = m.findLocked(op, filepath.Join(elements[:len(elements)-1]...))
	if err != nil {
		return nil, "", pathError(op, path, ErrNotExist)
	}
	if !dir.isDir() {
		return nil, "", pathError(op, path, syscall.ENOTDIR)
	}
	return dir, elements[len(elements)-1], nil
}

func pathError(op, path string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }

// Open implements FS.
func (m *Mem) Open(path string, flag Flag) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, name, err := m.parentLocked("open", path)
	if err != nil {
		return nil, err
	}
	node, ok := dir.entries[name]
	switch {
	case !ok && flag&Create == 0:
		return nil, pathError("open", path, ErrNotExist)
	case !ok:
		node = &memNode{modTime: m.now()}
		m.bindLocked(nameChange{{dir, name, node}})
	case flag&Exclusive != 0:
		return nil, pathError("open", path, ErrExist)
	case node.isDir():
		return nil, pathError("open", path, syscall.EISDIR)
	}
	f := &memFile{fs: m, node: node, path: path, writable: flag&(ReadWrite|Create|Truncate) != 0}
	if flag&Truncate != 0 && len(node.data) > 0 {
		f.truncateLocked(0)
	}
	return f, nil
}

// Remove implements FS.
func (m *Mem) Remove(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, name, err := m.parentLocked("remove", path)
	if err != nil {
		return err
	}
	node, ok := dir.entries[name]
	if !ok {
		return pathError("remove", path, ErrNotExist)
	}
	if len(node.entries) > 0 {
		return pathError("remove", path, syscall.ENOTEMPTY)
	}
	m.bindLocked(nameChange{{dir, name, nil}})
	return nil
}

// Rename implements FS.
func (m *Mem) Rename(oldPath, newPath string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldDir, oldName, err := m.parentLocked("rename", oldPath)
	if err != nil {
		return err
	}
	newDir, newName, err := m.parentLocked("rename", newPath)
	if err != nil {
		return err
	}
	node, ok := oldDir.entries[oldName]
	if !ok {
		return pathError("rename", oldPath, ErrNotExist)
	}
	if target, ok := newDir.entries[newName]; ok && (target.isDir() || node.isDir()) {
		return pathError("rename", newPath, ErrExist)
	}
	if oldDir == newDir && oldName == newName {
		return nil
	}
	m.bindLocked(nameChange{{oldDir, oldName, nil}, {newDir, newName, node}})
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir := m.root
	for _, name := range splitPath(path) {
		next, ok := dir.entries[name]
		if !ok {
			next = newMemDir(m.now())
			m.bindLocked(nameChange{{dir, name, next}})
		}
		if !next.isDir() {
			return pathError("mkdir", path, syscall.ENOTDIR)
		}
		dir = next
	}
	return nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(path string) ([]FileInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	dir, err := m.findLocked("open", path)
	if err != nil {
		return nil, err
	}
	if !dir.isDir() {
		return nil, pathError("readdir", path, syscall.ENOTDIR)
	}
	infos := make([]FileInfo, 0, len(dir.entries))
	for name, node := range dir.entries {
		infos = append(infos, node.info(name))
	}
	slices.SortFunc(infos, func(a, b FileInfo) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// Stat implements FS.
func (m *Mem) Stat(path string) (FileInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	node, err := m.findLocked("stat", path)
	if err != nil {
		return FileInfo{}, err
	}
	return node.info(filepath.Base(path)), nil
}

func (n *memNode) info(name string) FileInfo {
	return FileInfo{Name: name, Size: int64(len(n.data)), ModTime: n.modTime, IsDir: n.isDir()}
}

// SyncDir implements FS.
func (m *Mem) SyncDir(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.findLocked("open", path)
	if err != nil {
		return err
	}
	if !dir.isDir() {
		return pathError("sync", path, syscall.ENOTDIR)
	}
	m.changes = slices.DeleteFunc(m.changes, func(c nameChange) bool {
		if !c.touches(dir) {
			return false
		}
		for _, b := range c {
			bind(b.dir.durable, b.name, b.node)
		}
		return true
	})
	return nil
}

// Lock implements FS. Locks of one Mem do not show in its clones: another process has another life.
func (m *Mem) Lock(path string) (Lock, error) {
	path = filepath.Clean(path)
	m.mu.Lock()
	if m.locks[path] {
		m.mu.Unlock()
		return nil, &LockedError{Path: path, Self: true}
	}
	m.locks[path] = true
	m.mu.Unlock()
	l := &memLock{fs: m, path: path}
	if err := writeSynced(m, path, []byte(lockContent)); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

type memLock struct {
	once sync.Once
	fs   *Mem
	path string
}

func (l *memLock) Close() error {
	l.once.Do(func() {
		l.fs.mu.Lock()
		defer l.fs.mu.Unlock()
		delete(l.fs.locks, l.path)
	})
	return nil
}

// DiskUsage implements FS with the numbers of SetDiskUsage; at first a disk of 1 TiB, all free.
func (m *Mem) DiskUsage(path string) (DiskUsage, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if _, err := m.findLocked("statfs", path); err != nil {
		return DiskUsage{}, err
	}
	return m.usage, nil
}

// SetDiskUsage sets what DiskUsage answers. It does not limit writes; errorfs does.
func (m *Mem) SetDiskUsage(u DiskUsage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage = u
}

// SetModTime sets the modification time of a file or directory.
func (m *Mem) SetModTime(path string, t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.findLocked("chtimes", path)
	if err != nil {
		return err
	}
	node.modTime = t
	return nil
}

// String lists every file with its size and every directory, one a line, in order; for test failures.
func (m *Mem) String() string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var b strings.Builder
	m.root.list(&b, "/")
	return b.String()
}

func (n *memNode) list(b *strings.Builder, path string) {
	if !n.isDir() {
		fmt.Fprintf(b, "%s %d\n", path, len(n.data))
		return
	}
	fmt.Fprintf(b, "%s\n", path)
	for _, name := range sortedNames(n.entries) {
		n.entries[name].list(b, filepath.Join(path, name))
	}
}

func sortedNames(entries map[string]*memNode) []string { return slices.Sorted(maps.Keys(entries)) }
