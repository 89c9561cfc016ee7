package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
)

// Filters are saved in two files. config/consumerFilter.json is RocketMQ's and holds what its brokers compile to the same:
// they refuse to start filters by anything else. It must not change.
//
//	{
//		"filterDataByTopic":{
//			"OrderTopic":{
//				"groupFilterData":{
//					"CID_pay":{
//						"bloomFilterData":{
//							"bitNum":112,
//							"bitPos":[9,16,8]
//						},
//						"bornTime":1700000000000,
//						...
//
// weir/filters.json holds the rest:
//
//	{"version":1,"filters":[{"group":"CID_pay","topic":"OrderTopic","type":"SQL92","expression":"...","dialect":"strict",
//	"client_version":1,"born":1700000000000,"died":0,"generation":{...}}]}

type filtersFile struct {
	Topics map[string]filtersOfTopic `json:"filterDataByTopic"`
}

type filtersOfTopic struct {
	Groups map[string]fileFilter `json:"groupFilterData"`
	Topic  string                `json:"topic"`
}

type fileFilter struct {
	Bloom      *fileBloom `json:"bloomFilterData"`
	Born       int64      `json:"bornTime"`
	Version    int64      `json:"clientVersion"`
	Group      string     `json:"consumerGroup"`
	Dead       bool       `json:"dead"`
	Died       int64      `json:"deadTime"`
	Expression string     `json:"expression"`
	Type       string     `json:"expressionType"`
	Topic      string     `json:"topic"`
}

type fileBloom struct {
	Bits   int     `json:"bitNum"`
	Probes []int32 `json:"bitPos"`
}

type ownFile struct {
	Version int         `json:"version"`
	Filters []ownFilter `json:"filters"`
}

type ownFilter struct {
	Group      string `json:"group"`
	Topic      string `json:"topic"`
	Type       string `json:"type"`
	Expression string `json:"expression"`
	Dialect    string `json:"dialect,omitempty"`
	Version    int64  `json:"client_version"`
	Born       int64  `json:"born"`
	Died       int64  `json:"died"`
	// Generation is there when the expression runs modules.
	Generation *generation `json:"generation,omitempty"`
}

// ownVersion is that of weir/filters.json. A file with a higher one isn't read, nor written over.
const ownVersion = 1

// bloomMax bounds what a file may say about the Bloom bitmap: Java's extension units have at most 32767 bytes.
const bloomMax = 8 * 32767

// Load reads both files into the empty register and compiles what they hold. A filter that makes no sense or doesn't
// compile is a warning, and never costs the others. No file is no filters.
func (fs *Filters) Load(ctx context.Context) error {
	var errs []error
	changed := false
	for _, f := range []struct {
		path   string
		decode func(context.Context, []byte) ([]*registered, error)
	}{{fs.set.Path, fs.decode}, {fs.set.OwnPath, fs.decodeOwn}} {
		var list []*registered
		source, err := vfs.ReadFileOrBak(fs.set.FS, f.path, func(data []byte) (err error) {
			list, err = f.decode(ctx, data)
			return err
		})
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("load filters: %w", err))
		case source == vfs.SourceBackup:
			fs.set.Logger.Warn("filters come from the backup: the file itself can't be used", "file", f.path)
		}
		for _, r := range list {
			changed = fs.restore(ctx, r) || changed
		}
	}
	fs.mu.Lock()
	fs.dirty, fs.complete = changed, true
	fs.mu.Unlock()
	return errors.Join(errs...)
}

// restore compiles a saved filter and registers it, dead: its group has no members yet. It says whether what the file says of
// the filter isn't true any more.
func (fs *Filters) restore(ctx context.Context, f *registered) (changed bool) {
	f.prog, f.fault = fs.set.Programs.get(ctx, f.expr)
	if f.fault == nil && f.prog == nil {
		return false // a tag subscription, which no file should have
	}
	log := fs.set.Logger.With("group", f.group, "topic", f.topic, "expression", f.expr.Text)
	if f.fault != nil {
		log.Warn("a saved filter doesn't compile; it is kept, and its group is refused until it subscribes anew", "error", f.fault)
	} else if now := dialectOf(f.prog); f.dialect != "" && f.dialect != now {
		log.Warn("a saved filter was written in another dialect than the one that is configured", "was", f.dialect, "is", now)
		f.dialect = now
	} else {
		f.dialect = now
	}
	if f.fault == nil {
		fs.begin(f, f)
	}
	changed = fs.rebear(f)
	if f.died == 0 {
		// Nobody knows when its members left. Java says half a minute ago.
		f.died = max(f.born, fs.now()-30_000)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if old := fs.groups[f.group][f.topic]; old != nil || !fs.roomLocked() {
		f.prog.release()
		return true // a Java broker that finds it would miss its bits in what arrives now
	}
	fs.putLocked(f)
	return changed
}

// rebear gives a saved filter a new time of birth when it is not sure that it has judged what came after the old one: it
// wasn't one that made bitmaps then, or the files may be older than what it was replaced by.
func (fs *Filters) rebear(f *registered) bool {
	if !f.portable() || f.foreign && !f.moved && !fs.set.Unclean {
		return false
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.born = fs.bornLocked(); f.died != 0 {
		f.died = max(f.died, f.born)
	}
	return true
}

func (fs *Filters) decode(_ context.Context, data []byte) (list []*registered, err error) {
	var f filtersFile
	if err := fastjson.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	shapes := map[bloomShape]int{}
	for topic, t := range f.Topics {
		for group, x := range t.Groups {
			if topic == "" || group == "" || x.Expression == "" || isTag(x.Type) {
				fs.set.Logger.Warn("skip a saved filter that has no topic, group or expression", "file", fs.set.Path, "group", group, "topic", topic)
				continue
			}
			r := &registered{filterKey: filterKey{topic, group}, expr: filter.Expression{Type: x.Type, Text: x.Expression},
				version: x.Version, born: x.Born, died: x.Died, foreign: true}
			if b := x.Bloom; b != nil && b.Bits > 0 && b.Bits <= bloomMax && b.Bits%8 == 0 && len(b.Probes) > 0 && len(b.Probes) <= 64 &&
				!slices.ContainsFunc(b.Probes, func(p int32) bool { return p < 0 || int(p) >= b.Bits }) {
				r.bits, r.probes = b.Bits, b.Probes
				shapes[bloomShape{b.Bits, len(b.Probes)}]++
			}
			list = append(list, r)
		}
	}
	fs.adopt(shapes, list)
	return list, nil
}

// adopt takes over the size of the Bloom bitmap that most filters of the file have, so that a Java broker that is
// configured for it can read the file again, and gives it to those with another one, which would make Java drop the file.
func (fs *Filters) adopt(shapes map[bloomShape]int, list []*registered) {
	most := 0
	for s, n := range shapes {
		if n > most || n == most && s.bits > fs.bloom.bits {
			most, fs.bloom = n, s
		}
	}
	for _, r := range list {
		if r.bits != fs.bloom.bits || len(r.probes) != fs.bloom.probes {
			r.bits, r.probes, r.moved = fs.bloom.bits, fs.bloom.positions(r.group, r.topic), true
		}
	}
}

func (fs *Filters) decodeOwn(_ context.Context, data []byte) (list []*registered, err error) {
	var f ownFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if f.Version > ownVersion {
		return nil, fmt.Errorf("%s has version %d, this broker knows up to %d: start the newer broker that wrote it, or remove the file and lose its filters",
			fs.set.OwnPath, f.Version, ownVersion)
	}
	for _, x := range f.Filters {
		if x.Topic == "" || x.Group == "" || x.Expression == "" || isTag(x.Type) {
			fs.set.Logger.Warn("skip a saved filter that has no topic, group or expression", "file", fs.set.OwnPath, "group", x.Group, "topic", x.Topic)
			continue
		}
		r := &registered{filterKey: filterKey{x.Topic, x.Group}, expr: filter.Expression{Type: x.Type, Text: x.Expression},
			dialect: x.Dialect, version: x.Version, born: x.Born, died: x.Died}
		r.bits, r.probes = fs.bloom.bits, fs.bloom.positions(x.Group, x.Topic)
		if x.Generation != nil {
			r.life = *x.Generation
		}
		list = append(list, r)
	}
	return list, nil
}

// Save writes the files if a filter has changed since they were last written.
func (fs *Filters) Save() error {
	fs.saving.Lock()
	defer fs.saving.Unlock()
	fs.mu.Lock()
	if !fs.dirty {
		fs.mu.Unlock()
		return nil
	}
	fs.dirty = false
	list := fs.listLocked()
	fs.mu.Unlock()
	err := fs.write(list)
	if err != nil {
		fs.mu.Lock()
		fs.dirty = true
		fs.mu.Unlock()
		return fmt.Errorf("save filters: %w", err)
	}
	return nil
}

func (fs *Filters) write(list []*registered) error {
	java, own := filtersFile{Topics: map[string]filtersOfTopic{}}, ownFile{Version: ownVersion, Filters: []ownFilter{}}
	for _, r := range list {
		if !r.portable() {
			x := ownFilter{Group: r.group, Topic: r.topic, Type: r.expr.Type, Expression: r.expr.Text,
				Dialect: r.dialect, Version: r.version, Born: r.born, Died: r.died}
			if r.life.Number > 0 {
				x.Generation = &r.life
			}
			own.Filters = append(own.Filters, x)
			continue
		}
		t, ok := java.Topics[r.topic]
		if !ok {
			t = filtersOfTopic{Groups: map[string]fileFilter{}, Topic: r.topic}
			java.Topics[r.topic] = t
		}
		t.Groups[r.group] = r.file()
	}
	data, err := fastjson.AppendFile(nil, java)
	if err != nil {
		return err
	}
	ownData, err := json.Marshal(own)
	if err != nil {
		return err
	}
	return errors.Join(fs.writeFile(fs.set.Path, data), fs.writeOwn(ownData, len(own.Filters)))
}

// file is f in RocketMQ's form.
func (f *registered) file() fileFilter {
	return fileFilter{Bloom: &fileBloom{f.bits, f.probes}, Born: f.born, Version: f.version, Group: f.group,
		Dead: f.dead(), Died: f.died, Expression: f.expr.Text, Type: f.expr.Type, Topic: f.topic}
}

// describe shows a group's filter to operators, as RocketMQ does: null when it has none.
func (fs *Filters) describe(topic, group string) string {
	f, ok := fs.get(topic, group)
	if !ok {
		return "null"
	}
	f.prog.release()
	b, err := fastjson.AppendFile(nil, f.file())
	if err != nil {
		return "null" // nothing in it can't be written
	}
	return string(b)
}

// portable says whether a Java broker may find the filter in its file.
func (f *registered) portable() bool {
	if f.prog == nil {
		return f.foreign
	}
	v, ok := f.prog.Program.(filter.Variant)
	return f.expr.Type == filter.TypeSQL92 && ok && v.RocketMQ()
}

// writeOwn doesn't make a file only to say that it is empty.
func (fs *Filters) writeOwn(data []byte, filters int) error {
	if filters == 0 {
		if there, err := vfs.Exists(fs.set.FS, fs.set.OwnPath); err != nil || !there {
			return err
		}
	}
	return fs.writeFile(fs.set.OwnPath, data)
}

func (fs *Filters) writeFile(path string, data []byte) error {
	if dir := filepath.Dir(path); !fs.made[dir] {
		if err := vfs.MkdirAllSync(fs.set.FS, dir); err != nil {
			return err
		}
		fs.made[dir] = true
	}
	return vfs.WriteFileAtomic(fs.set.FS, path, data)
}
