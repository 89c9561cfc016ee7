package fastjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Defaulter is implemented by structs whose members have values other than zero when a document doesn't name them.
// Unmarshal calls SetDefaults before it reads an element of a map or list, or fills a pointer; not for the value it
// was handed itself, which the caller may have prepared.
type Defaulter interface{ SetDefaults() }

// Unmarshal reads one document into the value that v points to, as Java reads it into a bean: members are found in any
// letter case, unknown ones skipped, missing ones left alone, and scalars converted: a number in quotes is a number, a
// number for a string is its text, 0 and 1 are booleans. null empties lists, maps and pointers and leaves other values alone.
//
// Members are the exported fields, named by their json tags. Keys of maps may be strings, integers, or structs: these are read
// from an object that is the key, or from a string holding one. Types with UnmarshalJSON get strict JSON.
func Unmarshal(data []byte, v any) error {
	if len(data) > MaxSize {
		return &SyntaxError{MaxSize, "document is longer than 64 MiB"}
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("read json: want a pointer, have %T", v)
	}
	d := decoder{reader: reader{b: decoded(data)}}
	if err := d.value(rv.Elem()); err != nil {
		return err
	}
	return d.end()
}

type decoder struct {
	reader
	fields fieldCache
}

var rawType = reflect.TypeFor[Raw]()

func (d *decoder) value(rv reflect.Value) error {
	c := d.space()
	if rv.Kind() == reflect.Pointer {
		if c == 'n' {
			rv.SetZero()
			return d.skip()
		}
		if rv.IsNil() {
			rv.Set(d.fresh(rv.Type().Elem()).Addr())
		}
		return d.value(rv.Elem())
	}
	if rv.Type() == rawType {
		from := d.at
		if err := d.skip(); err != nil {
			return err
		}
		rv.SetBytes(bytes.Clone(d.b[from:d.at]))
		return nil
	}
	if rv.CanAddr() {
		if u, ok := rv.Addr().Interface().(json.Unmarshaler); ok {
			return d.unmarshaler(u)
		}
		if u, ok := rv.Addr().Interface().(encoding.TextUnmarshaler); ok && (c == '"' || c == '\'') {
			return d.textUnmarshaler(u, c)
		}
	}
	switch rv.Kind() {
	case reflect.Struct:
		return d.object(rv)
	case reflect.Map:
		return d.mapping(rv)
	case reflect.Slice:
		return d.list(rv)
	case reflect.Interface:
		return d.generic(rv)
	}
	return d.scalarInto(rv)
}

// fresh makes an addressable value of type t with its defaults.
func (d *decoder) fresh(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	if x, ok := v.Interface().(Defaulter); ok {
		x.SetDefaults()
	}
	return v.Elem()
}

func (d *decoder) unmarshaler(u json.Unmarshaler) error {
	at := d.at
	raw, err := d.strict(nil)
	if err != nil {
		return err
	}
	if err := u.UnmarshalJSON(raw); err != nil {
		return &SyntaxError{at, err.Error()}
	}
	return nil
}

func (d *decoder) textUnmarshaler(u encoding.TextUnmarshaler, quote byte) error {
	at := d.at
	text, err := d.str(quote)
	if err != nil {
		return err
	}
	if err := u.UnmarshalText(text); err != nil {
		return &SyntaxError{at, err.Error()}
	}
	return nil
}

func (d *decoder) generic(rv reflect.Value) error {
	if rv.NumMethod() != 0 {
		return d.bad("can't read into " + rv.Type().String())
	}
	raw, err := d.strict(nil)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return d.bad(err.Error())
	}
	if v == nil {
		rv.SetZero()
	} else {
		rv.Set(reflect.ValueOf(v))
	}
	return nil
}

func (d *decoder) object(rv reflect.Value) error {
	if d.space() != '{' {
		v, err := d.scalarOnly("an object")
		if err == nil && v.kind != isNull {
			err = d.bad("want an object")
		}
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	fields := d.fields.of(rv.Type())
	for {
		c := d.comma()
		if c == '}' {
			d.close()
			return nil
		}
		key, err := d.keyText(c)
		if err != nil {
			return err
		}
		if err := d.colon(); err != nil {
			return err
		}
		if i := fields.find(key); i >= 0 {
			err = d.value(rv.FieldByIndex(fields[i].index))
		} else {
			err = d.skip()
		}
		if err != nil {
			return err
		}
	}
}

// scalarOnly reads a scalar where something else is wanted, so that null can be told from a mistake.
func (d *decoder) scalarOnly(want string) (scalar, error) {
	if c := d.space(); c == '{' || c == '[' {
		return scalar{}, d.bad("want " + want)
	}
	return d.scalar()
}

func (d *decoder) mapping(rv reflect.Value) error {
	if d.space() != '{' {
		v, err := d.scalarOnly("an object")
		if err == nil && v.kind != isNull {
			err = d.bad("want an object")
		}
		if err == nil {
			rv.SetZero()
		}
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	t := rv.Type()
	if rv.IsNil() {
		rv.Set(reflect.MakeMap(t))
	}
	for {
		c := d.comma()
		if c == '}' {
			d.close()
			return nil
		}
		key := reflect.New(t.Key()).Elem()
		if err := d.mapKey(key, c); err != nil {
			return err
		}
		if err := d.colon(); err != nil {
			return err
		}
		elem := d.fresh(t.Elem())
		at := d.at
		if null := d.space() == 'n'; null && isInt(elem.Kind()) {
			return &SyntaxError{at, "null for a number in a map"}
		}
		if err := d.value(elem); err != nil {
			return err
		}
		rv.SetMapIndex(key, elem)
	}
}

func isInt(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Int64 }

func (d *decoder) mapKey(key reflect.Value, c byte) error {
	if key.Kind() == reflect.Struct {
		return d.structKey(key, c)
	}
	at := d.at
	text, err := d.keyText(c)
	if err != nil {
		return err
	}
	switch k := key.Kind(); {
	case k == reflect.String:
		key.SetString(string(text))
		return nil
	case isInt(k):
		n, err := strconv.ParseInt(string(text), 10, key.Type().Bits())
		if err != nil {
			return &SyntaxError{at, fmt.Sprintf("key %.64q is no number", text)}
		}
		key.SetInt(n)
		return nil
	}
	return d.bad("can't read keys of type " + key.Type().String())
}

func (d *decoder) structKey(key reflect.Value, c byte) error {
	if c == '{' {
		return d.object(key)
	}
	at := d.at
	text, err := d.key()
	if err != nil {
		return err
	}
	inner := decoder{reader: reader{b: text, depth: d.depth}}
	if err = inner.object(key); err == nil {
		err = inner.end()
	}
	if err != nil {
		return &SyntaxError{at, "the key holds no object"}
	}
	return nil
}

func (d *decoder) list(rv reflect.Value) error {
	t := rv.Type()
	switch d.space() {
	case '[':
	case '{': // Java makes a list of it
		elem := d.fresh(t.Elem())
		if err := d.value(elem); err != nil {
			return err
		}
		rv.Set(reflect.Append(reflect.MakeSlice(t, 0, 1), elem))
		return nil
	default:
		v, err := d.scalar()
		if err == nil && v.kind != isNull {
			err = d.bad("want a list")
		}
		if err == nil {
			rv.SetZero()
		}
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	out := reflect.MakeSlice(t, 0, 0)
	for {
		if d.comma() == ']' {
			d.close()
			rv.Set(out)
			return nil
		}
		elem := d.fresh(t.Elem())
		if err := d.value(elem); err != nil {
			return err
		}
		out = reflect.Append(out, elem)
	}
}

func (d *decoder) scalarInto(rv reflect.Value) error {
	at := d.at
	if c := d.space(); c == '{' || c == '[' {
		if rv.Kind() != reflect.String {
			return d.bad("want " + rv.Kind().String())
		}
		text, err := d.strict(nil)
		rv.SetString(string(text))
		return err
	}
	v, err := d.scalar()
	if err != nil || v.kind == isNull {
		return err
	}
	if !assign(rv, v) {
		return &SyntaxError{at, fmt.Sprintf("%.64q is no %s", v.text, rv.Kind())}
	}
	return nil
}

// assign converts v to the kind of rv as Java's TypeUtils does.
func assign(rv reflect.Value, v scalar) bool {
	text := string(v.text)
	if v.kind == isString && rv.Kind() != reflect.String {
		text = strings.TrimSpace(text)
		if text == "" || text == "null" {
			return true
		}
	}
	switch k := rv.Kind(); {
	case k == reflect.String:
		rv.SetString(text)
		return true
	case k == reflect.Bool:
		b, ok := parseBool(text)
		rv.SetBool(b)
		return ok
	case isInt(k):
		n, ok := parseInt(text, rv.Type().Bits())
		rv.SetInt(n)
		return ok
	case k == reflect.Float64 || k == reflect.Float32:
		f, err := strconv.ParseFloat(text, 64)
		rv.SetFloat(f)
		return err == nil
	}
	return false
}

func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "1", "y", "t", "yes", "on":
		return true, true
	case "false", "0", "n", "f", "no", "off":
		return false, true
	}
	return false, false
}

func parseInt(s string, bits int) (int64, bool) {
	switch s {
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	if n, err := strconv.ParseInt(s, 10, bits); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < -1<<53 || f > 1<<53 {
		return 0, false
	}
	n := int64(f)
	return n, n == n<<(64-bits)>>(64-bits)
}
