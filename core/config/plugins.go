package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/plugin"
)

// pluginKind is a section whose keys are plugin instances.
type pluginKind struct {
	kind    plugin.Kind
	section string
	doc     string
	types   []string
	find    func(plugin.Type) (plugin.Factory, bool)

	configs map[string]any // by id, decoded over the default
	written []string       // ids in the order of the file
}

func kindsOf(s Sets) []*pluginKind {
	return []*pluginKind{
		newKind(plugin.KindFilter, "filters", "Filter plugins: type or type/name, and the configuration of each.", s.Filters),
		newKind(plugin.KindAuth, "auth", "Auth plugins: type or type/name, and the configuration of each.", s.Auth),
		newKind(plugin.KindTransport, "transports", "Transport plugins: type or type/name, and the configuration of each.", s.Transports),
	}
}

func newKind[F plugin.Factory](kind plugin.Kind, section, doc string, set plugin.Set[F]) *pluginKind {
	return &pluginKind{kind: kind, section: section, doc: doc, types: set.Types(), configs: map[string]any{},
		find: func(t plugin.Type) (plugin.Factory, bool) {
			f, ok := set.Find(t)
			return f, ok
		}}
}

// defaultService runs the plugins of a plain RocketMQ broker, as far as they are compiled in.
func defaultService(kinds []*pluginKind) service {
	pick := func(k *pluginKind, types ...string) []string {
		out := []string{}
		for _, t := range types {
			if slices.Contains(k.types, t) {
				out = append(out, t)
			}
		}
		return out
	}
	s := service{Filters: pick(kinds[0], "tag", "sql92"), Transports: pick(kinds[2], "remoting")}
	if a := pick(kinds[1], "open"); len(a) > 0 {
		s.Auth = a[0]
	}
	return s
}

// decode reads a section of plugins.
func (k *pluginKind) decode(d *decoder, n *node) {
	d.places[k.section] = n.at
	switch n.kind {
	case null:
		return
	case mapping:
	default:
		d.fail(n.at, k.section, validChoices(k.types), "is a section, not %s", n.kind)
		return
	}
	for _, e := range n.entries {
		path := join(k.section, e.key)
		d.places[path] = e.at
		f, err := k.factory(e.key)
		if err != nil {
			d.fail(e.at, path, err.hint, "%s", err.text)
			continue
		}
		cfg := f.DefaultConfig()
		k.configs[e.key] = cfg
		k.written = append(k.written, e.key)
		v := reflect.ValueOf(cfg)
		if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
			if e.value.kind != null && (e.value.kind != mapping || len(e.value.entries) > 0) {
				d.fail(e.at, path, "", "the plugin has no settings")
			}
			continue
		}
		if e.value.kind == null {
			d.validate(v.Elem(), path)
			continue
		}
		d.value(e.value, v.Elem(), path, field{})
	}
}

// idError says why an id names no plugin.
type idError struct{ text, hint string }

// factory finds the factory of an id.
func (k *pluginKind) factory(id string) (plugin.Factory, *idError) {
	parsed, err := plugin.ParseID(id)
	if err != nil {
		return nil, &idError{text: err.Error()}
	}
	f, ok := k.find(parsed.Type)
	if !ok {
		return nil, &idError{text: fmt.Sprintf("there is no %s plugin of type %q", k.kind, parsed.Type),
			hint: didYouMean(string(parsed.Type), k.types)}
	}
	return f, nil
}

// instance returns the plugin named id, with its decoded or default configuration.
func (k *pluginKind) instance(d *decoder, id, path string) Instance {
	f, bad := k.factory(id)
	if bad != nil {
		d.failAt(path, bad.hint, "%s", bad.text)
		return Instance{}
	}
	parsed, _ := plugin.ParseID(id)
	cfg, ok := k.configs[id]
	if !ok {
		cfg = f.DefaultConfig()
		k.configs[id] = cfg
		if v := reflect.ValueOf(cfg); v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
			d.validate(v.Elem(), join(k.section, id))
		}
	}
	return Instance{ID: parsed, Config: cfg}
}

// instances returns the plugins of a list.
func (k *pluginKind) instances(d *decoder, ids []string) []Instance {
	var out []Instance
	for i, id := range ids {
		path := "service." + k.section + "[" + strconv.Itoa(i) + "]"
		if slices.Contains(ids[:i], id) {
			d.failAt(path, "keep one", "%s is listed twice", id)
			continue
		}
		out = append(out, k.instance(d, id, path))
	}
	return out
}

// assemble makes the lists of what runs, and warns of what is configured in vain.
func (l *loading) assemble() {
	filters, auth, transports := l.kinds[0], l.kinds[1], l.kinds[2]
	l.cfg.Filters = filters.instances(l.dec, l.service.Filters)
	l.cfg.Transports = transports.instances(l.dec, l.service.Transports)
	switch {
	case l.service.Auth != "":
		l.cfg.Auth = auth.instance(l.dec, l.service.Auth, "service.auth")
	case len(auth.types) > 0:
		l.dec.failAt("service.auth", validChoices(auth.types), "names no auth plugin; every request passes one")
	}
	runs := map[string][]string{"filters": l.service.Filters, "auth": {l.service.Auth}, "transports": l.service.Transports}
	for _, k := range l.kinds {
		for _, id := range k.written {
			if !slices.Contains(runs[k.section], id) {
				l.cfg.Warnings = append(l.cfg.Warnings, strings.Join([]string{k.section, id}, ".")+
					" is configured but doesn't run: it is not in service."+k.section)
			}
		}
	}
}
