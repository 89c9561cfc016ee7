package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/weirmq/weir/core/plugin"
)

// Value is one effective setting, for people.
type Value struct {
	// Path is the dotted key; Keys are its parts, since names of plugin instances may have dots in them.
	Path string   `json:"path"`
	Keys []string `json:"-"`
	// Value is what is in force: a string, bool, number, list or map. Secrets are masked, and values that were given by
	// reference show the reference.
	Value any `json:"value"`
	// Origin says where it comes from: default, FILE:LINE, environment NAME, or flag --NAME.
	Origin string `json:"origin"`
	Doc    string `json:"doc,omitempty"`
	// Choices are the only values allowed, if there are such.
	Choices []string `json:"choices,omitempty"`

	reference bool // Value holds a reference as it was written
}

// Values lists every effective setting in the order of the sections.
func (c *Config) Values() []Value { return c.values }

// masked stands for secrets.
const masked = "(secret)"

// collect lists the settings after decoding.
func (l *loading) collect() []Value {
	w := &walker{dec: l.dec}
	for _, t := range l.top {
		if t.kind == nil {
			w.walk(t.value, []string{t.name}, field{doc: t.doc})
			continue
		}
		for _, id := range t.kind.order(l.service) {
			v := reflect.ValueOf(t.kind.configs[id])
			if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct && len(fieldsOf(v.Elem().Type())) > 0 {
				w.walk(v.Elem(), []string{t.name, id}, field{})
				continue
			}
			w.out = append(w.out, Value{Path: t.name + "." + id, Keys: []string{t.name, id}, Value: map[string]any{}, Origin: w.origin(t.name + "." + id)})
		}
	}
	return w.out
}

// order lists the instances that run, then those that are only written.
func (k *pluginKind) order(s service) []string {
	var ids []string
	add := func(list ...string) {
		for _, id := range list {
			if _, ok := k.configs[id]; ok && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	switch k.kind {
	case plugin.KindFilter:
		add(s.Filters...)
	case plugin.KindAuth:
		add(s.Auth)
	case plugin.KindTransport:
		add(s.Transports...)
	}
	add(k.written...)
	return ids
}

// walker goes through decoded structs by their tags.
type walker struct {
	dec *decoder
	out []Value
}

func (w *walker) walk(v reflect.Value, keys []string, f field) {
	if shapeOf(v.Type()) == shapeStruct {
		for _, inner := range fieldsOf(v.Type()) {
			w.walk(v.FieldByIndex(inner.index), append(keys[:len(keys):len(keys)], inner.key), inner)
		}
		return
	}
	path := keys[0]
	for _, k := range keys[1:] {
		path = join(path, k)
	}
	one := Value{Path: path, Keys: keys, Doc: f.doc, Choices: f.choices, Origin: w.origin(path), Value: plain(v)}
	switch raw := w.dec.raws[path]; {
	case raw != "":
		one.Value, one.reference = raw, true
	case f.secret && !v.IsZero():
		one.Value = masked
	}
	w.out = append(w.out, one)
}

// origin formats where the value of path came from.
func (w *walker) origin(path string) string {
	at, ok := w.dec.places[path]
	switch {
	case !ok:
		return "default"
	case at.line > 0:
		return at.source + ":" + strconv.Itoa(at.line)
	}
	return at.source
}

// plain turns a decoded value into what YAML and JSON have: strings, booleans, numbers, lists and maps.
func plain(v reflect.Value) any {
	switch s := shapeOf(v.Type()); s {
	case shapeDuration:
		return formatDuration(v.Interface().(time.Duration))
	case shapeSize:
		return v.Interface().(plugin.Size).String()
	case shapeCustom:
		return customText(v)
	case shapeText:
		return v.String()
	case shapeBool:
		return v.Bool()
	case shapeInt:
		return v.Int()
	case shapeUint:
		return v.Uint()
	case shapeFloat:
		return v.Float()
	case shapeList:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i))
		}
		return out
	case shapeMap:
		out := map[string]any{}
		for it := v.MapRange(); it.Next(); {
			out[it.Key().String()] = plain(it.Value())
		}
		return out
	case shapeStruct:
		out := map[string]any{}
		for _, f := range fieldsOf(v.Type()) {
			one := v.FieldByIndex(f.index)
			if f.secret && !one.IsZero() {
				out[f.key] = masked
				continue
			}
			out[f.key] = plain(one)
		}
		return out
	}
	return fmt.Sprint(v.Interface())
}

// customText writes a value whose type reads text.
func customText(v reflect.Value) string {
	switch t := v.Interface().(type) {
	case encoding.TextMarshaler:
		if b, err := t.MarshalText(); err == nil {
			return string(b)
		}
	case fmt.Stringer:
		return t.String()
	}
	if v.CanAddr() {
		if t, ok := v.Addr().Interface().(encoding.TextMarshaler); ok {
			if b, err := t.MarshalText(); err == nil {
				return string(b)
			}
		}
	}
	b, _ := json.Marshal(v.Interface())
	return string(b)
}
