package naming

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"sync"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// kvSizeMax is the longest namespace, key or value in bytes.
const kvSizeMax = 64 << 10

// kvTable holds the KV table and its file, which looks like RocketMQ's kvConfig.json:
//
//	{
//		"configTable":{
//			"ORDER_TOPIC_CONFIG":{
//				"T":"broker-a:4"
//			}
//		}
//	}
type kvTable struct {
	fs   vfs.FS
	file string // empty: memory only
	max  int

	mu    sync.RWMutex                 // guards table, and the file with it
	table map[string]map[string]string // inner maps are replaced, never changed
}

type kvFile struct {
	Table map[string]map[string]string `json:"configTable"`
}

func openKV(set Settings, limit int) (*kvTable, error) {
	t := &kvTable{fs: set.FS, file: set.KVFile, max: limit, table: map[string]map[string]string{}}
	if t.file == "" {
		return t, nil
	}
	source, err := vfs.ReadFileOrBak(t.fs, t.file, func(data []byte) error {
		var f kvFile
		if err := fastjson.Unmarshal(data, &f); err != nil {
			return err
		}
		if f.Table != nil {
			t.table = f.Table
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", t.file, err)
	}
	if source == vfs.SourceBackup {
		set.Logger.Warn("file is missing or damaged, its backup is used; the last change before may be lost", "file", t.file)
	}
	return t, nil
}

func (t *kvTable) get(namespace, key string) (string, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	v, ok := t.table[namespace][key]
	return v, ok
}

// list returns a namespace, shared and not to be changed; nil when there is none, which differs from an empty one.
func (t *kvTable) list(namespace string) map[string]string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.table[namespace]
}

func (t *kvTable) put(namespace, key, value string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	values := maps.Clone(t.table[namespace])
	if values == nil {
		values = map[string]string{}
	}
	if _, known := values[key]; !known && t.sizeLocked() >= t.max {
		return refuse(message.SystemError, "key %q is not set: the KV table has %d keys, and no more are allowed here", key, t.sizeLocked())
	}
	values[key] = value
	return t.replaceLocked(namespace, values)
}

func (t *kvTable) delete(namespace, key string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.table[namespace][key]; !ok {
		return nil
	}
	values := maps.Clone(t.table[namespace])
	delete(values, key)
	return t.replaceLocked(namespace, values)
}

// sizeLocked counts keys; an empty namespace counts as one.
func (t *kvTable) sizeLocked() int {
	n := 0
	for _, values := range t.table {
		n += max(1, len(values))
	}
	return n
}

// replaceLocked saves the table with a changed namespace, and then takes it.
func (t *kvTable) replaceLocked(namespace string, values map[string]string) error {
	next := maps.Clone(t.table)
	next[namespace] = values
	if err := t.save(next); err != nil {
		return refuse(message.SystemError, "the KV table was not changed: save %s: %v", t.file, err)
	}
	t.table = next
	return nil
}

func (t *kvTable) save(table map[string]map[string]string) error {
	if t.file == "" {
		return nil
	}
	data, err := fastjson.AppendFile(nil, &kvFile{Table: table})
	if err != nil {
		return err
	}
	if len(data) > fastjson.MaxSize {
		return fmt.Errorf("it would have %d bytes and couldn't be read back, the limit is %d", len(data), fastjson.MaxSize)
	}
	if err := vfs.MkdirAllSync(t.fs, filepath.Dir(t.file)); err != nil {
		return err
	}
	return vfs.WriteFileAtomic(t.fs, t.file, data)
}

// KV returns a value.
func (s *Server) KV(ctx context.Context, c *transport.Caller, namespace, key string) (string, error) {
	if err := s.allow.Allow(ctx, c, auth.Describe, cluster); err != nil {
		return "", err
	}
	v, ok := s.kv.get(namespace, key)
	if !ok {
		return "", refuse(message.QueryNotFound, "No config item, Namespace: %s Key: %s", namespace, key)
	}
	return v, nil
}

// PutKV sets a value.
func (s *Server) PutKV(ctx context.Context, c *transport.Caller, namespace, key, value string) error {
	if err := s.allow.Allow(ctx, c, auth.Alter, cluster); err != nil {
		return err
	}
	if namespace == "" || key == "" {
		return refuse(message.SystemError, "namespace or key is null")
	}
	for _, text := range []string{namespace, key, value} {
		if len(text) > kvSizeMax {
			return refuse(message.SystemError, "namespace, key or value has %d bytes, at most %d are allowed", len(text), kvSizeMax)
		}
	}
	return s.kv.put(namespace, key, value)
}

// DeleteKV removes a value. Its namespace stays, empty, as in RocketMQ: a broker that asks for ordered topics must see
// that there are none any more.
func (s *Server) DeleteKV(ctx context.Context, c *transport.Caller, namespace, key string) error {
	if err := s.allow.Allow(ctx, c, auth.Alter, cluster); err != nil {
		return err
	}
	return s.kv.delete(namespace, key)
}

// KVList returns a namespace. The map is shared and must not be changed.
func (s *Server) KVList(ctx context.Context, c *transport.Caller, namespace string) (map[string]string, error) {
	if err := s.allow.Allow(ctx, c, auth.Describe, cluster); err != nil {
		return nil, err
	}
	values := s.kv.list(namespace)
	if values == nil {
		return nil, refuse(message.QueryNotFound, "No config item, Namespace: %s", namespace)
	}
	return values, nil
}
