package queue

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/loop"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// FilterSettings is what Filters needs. All fields are set, but for those that may be nil.
type FilterSettings struct {
	Config   Config
	Clock    clock.Clock
	Logger   *slog.Logger
	FS       vfs.FS
	Programs *Programs
	// Path is RocketMQ's config/consumerFilter.json, and OwnPath our file for what RocketMQ can't compile.
	Path, OwnPath string
	// End returns where the commit log ends. It may be nil.
	End func() message.Position
	// Bitmaps says that Pulls.Bitmaps is called for every message that arrives.
	Bitmaps bool
	// Newest is when the newest message was stored, in ms, and Unclean that the store was not closed before: then the files
	// need not be those of the last filters that judged it.
	Newest  int64
	Unclean bool
}

// Filters is the register of the expressions by which groups filter topics, tags aside. It follows RocketMQ's rules:
//
// There is one filter for a group and topic, whoever of the group's members brought it. It is replaced by a text with a
// higher version, the client's clock; one that is no higher is ignored. If the new text doesn't compile, the old filter is
// removed, and the group's pulls are refused. When a group's last member leaves, or it no longer subscribes the topic, the
// filter is dead, but kept for a day. It is revived by a member that brings its version, and then it has never been away.
//
// It is safe for concurrent use. Finding a filter takes no lock.
type Filters struct {
	set  FilterSettings
	loop loop.Group
	find sync.Map // filterKey -> *registered

	mu     sync.Mutex                        // guards all below, and the writing of find
	groups map[string]map[string]*registered // by group and topic
	count  int
	bloom  bloomShape
	dirty  bool
	made   map[string]bool // directories that are there
	// topics are the filters that make bitmaps, when these are made. complete says that none is missing: the files have
	// been loaded. newest is when the newest message was stored that may have got a bitmap, in ms.
	topics   map[string]*bitmapFilters
	complete bool
	newest   int64

	saving sync.Mutex // held while files are written, before mu
}

type filterKey struct{ topic, group string }

// registered is a filter. It is immutable, and replaced when it changes.
type registered struct {
	filterKey
	expr    filter.Expression
	dialect string // of the language that it was compiled in; empty when the language has none
	version int64  // the client's
	born    int64  // ms
	died    int64  // ms; 0 or before born while a member is there
	probes  []int32
	bits    int
	foreign bool // it came from RocketMQ's file
	moved   bool // and had other bits there
	life    generation
	// pre is nil when RocketMQ's bitmaps say nothing of the filter. It is set when the filter is put into the register.
	pre *prefilter
	// prog is counted in by the register. It is nil, and fault says why, when the expression of a file doesn't compile.
	prog  *program
	fault error
}

func (f *registered) dead() bool { return f.died >= f.born }

// NewFilters returns an empty register.
func NewFilters(set FilterSettings) *Filters {
	return &Filters{set: set, groups: map[string]map[string]*registered{}, bloom: defaultBloom, made: map[string]bool{},
		topics: map[string]*bitmapFilters{}, newest: set.Newest}
}

// get returns a filter with its program counted in.
func (fs *Filters) get(topic, group string) (*registered, bool) {
	for {
		v, ok := fs.find.Load(filterKey{topic, group})
		if !ok {
			return nil, false
		}
		f := v.(*registered)
		if f.fault != nil {
			return f, true
		}
		if f.prog.retain() {
			return f, true
		}
		// It was replaced and closed between the two; the next look finds another one.
	}
}

// why says why a subscription has no filter.
func (fs *Filters) why(s *subscription) string {
	prog, err := fs.set.Programs.get(context.Background(), s.Expression)
	if err != nil {
		return remarkOf(err)
	}
	prog.release()
	return "the filter isn't registered: queues.filters_max filters are, or the group's next heartbeat will bring it"
}

// remarkOf returns an error's text for a client, which gets the code by itself.
func remarkOf(err error) string {
	if e, ok := errors.AsType[*message.Error](err); ok {
		return e.Remark
	}
	return err.Error()
}

// Register takes over a heartbeat's subscriptions of a group. Those by tag, and those whose type nobody compiles, are none
// of its business. Filters of topics that the group doesn't subscribe any more die.
func (fs *Filters) Register(ctx context.Context, group string, subs []transport.Subscription) {
	for i := range subs {
		if s := &subs[i]; !isTag(s.Expression.Type) && s.Expression.Text != "" && !s.ClassFilter {
			fs.register(ctx, filterKey{s.Topic, group}, s.Expression, s.Version)
		}
	}
	fs.renewGroup(ctx, group)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for topic, f := range fs.groups[group] {
		if !f.dead() && !slices.ContainsFunc(subs, func(s transport.Subscription) bool { return s.Topic == topic }) {
			fs.buryLocked(f)
		}
	}
}

// Unregister hears that a group's last member has left.
func (fs *Filters) Unregister(group string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.groups[group] {
		if !f.dead() {
			fs.buryLocked(f)
		}
	}
}

func (fs *Filters) buryLocked(f *registered) {
	dead := *f
	dead.died = max(fs.now(), f.born)
	fs.putLocked(&dead)
}

func (fs *Filters) now() int64 { return fs.set.Clock.Now().UnixMilli() }

// register takes over one subscription.
func (fs *Filters) register(ctx context.Context, k filterKey, e filter.Expression, version int64) {
	if fs.keep(k, e, version) {
		return
	}
	prog, err := fs.set.Programs.get(ctx, e)
	if errors.Is(err, errNoCompiler) {
		return
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	old := fs.groups[k.group][k.topic]
	switch {
	case old != nil && version <= old.version:
		prog.release() // somebody was faster
	case err != nil:
		fs.set.Logger.Warn("a subscription's expression is wrong, the group's pulls are refused",
			"group", k.group, "topic", k.topic, "type", e.Type, "expression", e.Text, "error", err)
		if old != nil {
			fs.removeLocked(old)
		}
	case old == nil && !fs.roomLocked():
		prog.release()
		fs.set.Logger.Error("no more filters are kept, the group's pulls are refused; raise queues.filters_max",
			"group", k.group, "topic", k.topic, "filters_max", fs.set.Config.FiltersMax)
	default:
		f := &registered{filterKey: k, expr: e, version: version, born: fs.bornLocked(), prog: prog, dialect: dialectOf(prog)}
		f.bits, f.probes = fs.bloom.bits, fs.bloom.positions(k.group, k.topic)
		fs.begin(f, old)
		fs.putLocked(f)
		if old != nil {
			old.prog.release()
		}
		fs.announce(f)
	}
}

// bornLocked returns the time of birth of a filter that is registered now, in ms: later than, or as late as, that of any
// message which it has not judged.
func (fs *Filters) bornLocked() int64 { return max(fs.now(), fs.newest) }

// keep does what can be done without compiling, and says whether that was all.
func (fs *Filters) keep(k filterKey, e filter.Expression, version int64) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	old := fs.groups[k.group][k.topic]
	switch {
	case old == nil:
		return false
	case version < old.version, version == old.version && !old.dead():
		if e != old.expr {
			fs.set.Logger.Info("a member's expression is ignored, because its version isn't above the registered one's",
				"group", k.group, "topic", k.topic, "version", version, "registered", old.version)
		}
		return true
	case version > old.version && (e != old.expr || old.fault != nil):
		return false
	}
	alive := *old
	alive.version, alive.died = version, 0
	fs.putLocked(&alive)
	return true
}

// announce points out an expression that hardly means what its author thinks.
func (fs *Filters) announce(f *registered) {
	for _, w := range f.prog.Warnings() {
		fs.set.Logger.Warn("a subscription's expression may not mean what it seems to",
			"group", f.group, "topic", f.topic, "type", f.expr.Type, "expression", f.expr.Text, "warning", w)
	}
}

func dialectOf(p *program) string {
	if v, ok := p.Program.(filter.Variant); ok {
		return v.Dialect()
	}
	return ""
}

// putLocked puts f in the place of the filter of its key. The count of a program that both share stays.
func (fs *Filters) putLocked(f *registered) {
	byTopic := fs.groups[f.group]
	if byTopic == nil {
		byTopic = map[string]*registered{}
		fs.groups[f.group] = byTopic
	}
	if _, ok := byTopic[f.topic]; !ok {
		fs.count++
	}
	byTopic[f.topic] = f
	f.pre = f.prefilter()
	fs.find.Store(f.filterKey, f)
	fs.dirty = true
	fs.setTopicLocked(f, false)
}

// setTopicLocked keeps the list of the topic's filters that make bitmaps.
func (fs *Filters) setTopicLocked(f *registered, removed bool) {
	if !fs.set.Bitmaps {
		return
	}
	if t := fs.topics[f.topic].with(f, removed); t != nil {
		fs.topics[f.topic] = t
	} else {
		delete(fs.topics, f.topic)
	}
}

// bitmapSize returns the size of a bitmap in bytes; 0 when none are to be made.
func (fs *Filters) bitmapSize() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if !fs.set.Bitmaps || !fs.complete || len(fs.topics) == 0 {
		return 0
	}
	return fs.bloom.bits / 8
}

func (fs *Filters) removeLocked(f *registered) {
	delete(fs.groups[f.group], f.topic)
	if len(fs.groups[f.group]) == 0 {
		delete(fs.groups, f.group)
	}
	fs.find.Delete(f.filterKey)
	fs.count--
	fs.dirty = true
	fs.setTopicLocked(f, true)
	f.prog.release()
}

// roomLocked makes room for one more filter, at the cost of the one that has been dead for longest.
func (fs *Filters) roomLocked() bool {
	if fs.count < fs.set.Config.FiltersMax {
		return true
	}
	var oldest *registered
	for _, byTopic := range fs.groups {
		for _, f := range byTopic {
			if f.dead() && (oldest == nil || f.died < oldest.died) {
				oldest = f
			}
		}
	}
	if oldest == nil {
		return false
	}
	fs.removeLocked(oldest)
	return true
}

// Clean removes the filters that have been dead for too long. Start makes it run by itself.
func (fs *Filters) Clean() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	limit := fs.now() - fs.set.Config.FilterRetention.Milliseconds()
	for _, byTopic := range fs.groups {
		for _, f := range byTopic {
			if f.dead() && f.died <= limit {
				fs.set.Logger.Info("filter removed: nobody has used it for filter_retention", "group", f.group, "topic", f.topic)
				fs.removeLocked(f)
			}
		}
	}
}

// filtersSaveInterval is Java's.
const filtersSaveInterval = 10 * time.Second

// Start begins to clean and save every ten seconds.
func (fs *Filters) Start() {
	fs.loop.Every(fs.set.Clock, filtersSaveInterval, func() {
		fs.Clean()
		fs.renewAll(context.Background(), (*registered).stale)
		if err := fs.Save(); err != nil {
			fs.set.Logger.Error("filters stay in memory until they can be saved", "error", err)
		}
	})
}

// Stop ends that, saves a last time and lets go of the programs.
func (fs *Filters) Stop(ctx context.Context) error {
	err := errors.Join(fs.loop.Stop(ctx), fs.Save())
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.complete = false // what still arrives gets no bitmap
	for _, f := range fs.listLocked() {
		fs.removeLocked(f)
	}
	fs.dirty = false
	return err
}

// listLocked returns all filters, by group and topic.
func (fs *Filters) listLocked() (list []*registered) {
	for _, group := range slices.Sorted(maps.Keys(fs.groups)) {
		for _, topic := range slices.Sorted(maps.Keys(fs.groups[group])) {
			list = append(list, fs.groups[group][topic])
		}
	}
	return list
}

// Len returns the number of registered filters, dead ones included.
func (fs *Filters) Len() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.count
}
