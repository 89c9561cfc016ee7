package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/weirmq/weir/core/plugin"
)

// decoder writes nodes into structs and remembers where every value came from.
type decoder struct {
	lines  map[string][]string // by source
	places map[string]place    // by path; of keys where there is one, of values in lists
	raws   map[string]string   // by path: text of values that came from references
	errs   Errors
}

// fail reports something wrong at a place.
func (d *decoder) fail(at place, path, hint, format string, args ...any) {
	d.errs = append(d.errs, &Error{Source: at.source, Line: at.line, Column: at.column, Path: path,
		Text: fmt.Sprintf(format, args...), Hint: hint, Excerpt: lineOf(d.lines[at.source], at.line)})
}

// failAt reports something wrong with the value of path, at the nearest place that is known: the value's own, or that of
// the section around it.
func (d *decoder) failAt(path, hint, format string, args ...any) {
	at, p := place{}, path
	for {
		if found, ok := d.places[p]; ok {
			at = found
			break
		}
		cut := strings.LastIndexAny(p, ".[")
		if cut < 0 {
			break
		}
		p = p[:cut]
	}
	d.fail(at, path, hint, format, args...)
}

// value decodes n into v. f carries the choices of the field that v is.
func (d *decoder) value(n *node, v reflect.Value, path string, f field) {
	if n.bad {
		return
	}
	d.places[path] = n.at
	if n.raw != "" {
		d.raws[path] = n.raw
	}
	s := shapeOf(v.Type())
	if n.kind == null {
		if p, ok := plainOf(v); ok {
			if err := p.UnmarshalText(nil); err != nil {
				d.fail(n.at, path, "", "%s", err)
			}
			return
		}
		if s < shapeStruct {
			d.fail(n.at, path, "give a value or remove the key", "has no value")
		}
		return
	}
	switch s {
	case shapeStruct:
		d.structure(n, v, path)
	case shapeMap:
		d.table(n, v, path, f)
	case shapeList:
		d.list(n, v, path, f)
	default:
		if n.kind != scalar {
			d.fail(n.at, path, "", "want %s, not %s", s.want(), n.kind)
			return
		}
		d.scalar(n, v, path, s, f)
	}
}

func plainOf(v reflect.Value) (Plain, bool) {
	if !v.CanAddr() {
		return nil, false
	}
	p, ok := v.Addr().Interface().(Plain)
	return p, ok
}

// structure decodes a section and calls its Validate. A value that could not be decoded has its default there.
func (d *decoder) structure(n *node, v reflect.Value, path string) {
	if n.kind != mapping {
		d.fail(n.at, path, validChoices(keysOf(fieldsOf(v.Type()))), "is a section, not %s", n.kind)
		return
	}
	fields := fieldsOf(v.Type())
	for _, e := range n.entries {
		f, ok := findField(fields, e.key)
		if !ok {
			d.unknown(e, path, keysOf(fields))
			continue
		}
		p := join(path, e.key)
		d.value(e.value, v.FieldByIndex(f.index), p, f)
		if e.at.line > 0 {
			d.places[p] = valueOrKey(e)
		}
	}
	d.validate(v, path)
}

// valueOrKey points at the value on the key's line, or else at the key.
func valueOrKey(e entry) place {
	if e.value.at.line == e.at.line {
		return e.value.at
	}
	return e.at
}

func findField(fields []field, key string) (field, bool) {
	for _, f := range fields {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

// unknown reports a key that nobody owns.
func (d *decoder) unknown(e entry, path string, keys []string) {
	in := ""
	if path != "" {
		in = " in " + path
	}
	d.fail(e.at, "", didYouMean(e.key, keys), "unknown key %q%s", e.key, in)
}

// table decodes a section with free keys.
func (d *decoder) table(n *node, v reflect.Value, path string, f field) {
	if n.kind != mapping {
		d.fail(n.at, path, "", "is a section, not %s", n.kind)
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for _, e := range n.entries {
		one := reflect.New(v.Type().Elem()).Elem()
		key := reflect.ValueOf(e.key).Convert(v.Type().Key())
		if old := v.MapIndex(key); old.IsValid() {
			one.Set(old)
		}
		d.value(e.value, one, join(path, e.key), f)
		v.SetMapIndex(key, one)
	}
}

// list decodes a list, replacing what was there. Outside files a list is text with commas.
func (d *decoder) list(n *node, v reflect.Value, path string, f field) {
	items := n.items
	switch {
	case n.kind == scalar && n.typ == loose:
		for part := range strings.SplitSeq(n.text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				items = append(items, &node{kind: scalar, typ: loose, at: n.at, text: part})
			}
		}
	case n.kind == scalar:
		d.fail(n.at, path, "write ["+n.text+"]", "want a list")
		return
	case n.kind != list:
		d.fail(n.at, path, "", "want a list, not %s", n.kind)
		return
	}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		d.value(item, out.Index(i), fmt.Sprintf("%s[%d]", path, i), f)
	}
	v.Set(out)
}

// validate calls v's Validate method and places what it complains about.
func (d *decoder) validate(v reflect.Value, path string) {
	if !v.CanAddr() {
		return
	}
	c, ok := v.Addr().Interface().(interface{ Validate() error })
	if !ok {
		return
	}
	for _, err := range flatten(c.Validate()) {
		var fe *plugin.FieldError
		if errors.As(err, &fe) {
			d.failAt(join(path, fe.Field), "", "%s", fe.Err)
			continue
		}
		key, rest := leadingKey(err.Error(), fieldsOf(v.Type()))
		d.failAt(join(path, key), "", "%s", rest)
	}
}

// leadingKey splits "segment_size: too small" or "segment_size must be ..." when the first word is a key of the struct,
// so that an owner who doesn't import this floor's error type is located all the same.
func leadingKey(msg string, fields []field) (key, rest string) {
	word, tail, _ := strings.Cut(msg, " ")
	name := strings.TrimSuffix(word, ":")
	if _, ok := findField(fields, name); ok && tail != "" {
		return name, tail
	}
	return "", msg
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	return []error{err}
}
