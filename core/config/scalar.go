package config

import (
	"encoding"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirmq/weir/core/plugin"
)

// scalar decodes a single value.
func (d *decoder) scalar(n *node, v reflect.Value, path string, s shape, f field) {
	_, plain := plainOf(v)
	if hint, ok := fits(n, s); !ok && !plain {
		d.fail(n.at, path, hint, "want %s, not %s", s.want(), describe(n))
		return
	}
	var err error
	switch s {
	case shapeText:
		if f.choices != nil && !slices.Contains(f.choices, n.text) {
			d.fail(n.at, path, didYouMean(n.text, f.choices), "%q is not one of the choices", n.text)
			return
		}
		v.SetString(n.text)
	case shapeBool:
		var b bool
		if b, err = parseBool(n.text); err == nil {
			v.SetBool(b)
		}
	case shapeInt:
		var i int64
		if i, err = strconv.ParseInt(n.text, 10, v.Type().Bits()); err == nil {
			v.SetInt(i)
		}
	case shapeUint:
		var u uint64
		if u, err = strconv.ParseUint(n.text, 10, v.Type().Bits()); err == nil {
			v.SetUint(u)
		}
	case shapeFloat:
		var x float64
		if x, err = strconv.ParseFloat(n.text, v.Type().Bits()); err == nil {
			v.SetFloat(x)
		}
	case shapeDuration:
		var t time.Duration
		if t, err = ParseDuration(n.text); err == nil {
			v.SetInt(int64(t))
		}
	case shapeSize:
		var size plugin.Size
		if size, err = plugin.ParseSize(n.text); err == nil {
			v.SetInt(int64(size))
		}
	case shapeCustom:
		if err = v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.text)); err != nil {
			d.fail(n.at, path, didYouMean(n.text, f.choices), "%s", err)
			return
		}
	default:
		d.fail(n.at, path, "", "can't be set in a file")
		return
	}
	if err != nil {
		d.fail(n.at, path, rangeHint(err, v, s), "want %s, not %q", s.want(), n.text)
	}
}

// fits says whether a YAML scalar may become a value of shape s, and else what to write instead.
func fits(n *node, s shape) (hint string, ok bool) {
	if n.typ == loose {
		return "", true
	}
	switch s {
	case shapeText, shapeCustom:
		if n.typ != text {
			return "write it in quotes: " + strconv.Quote(n.text), false
		}
	case shapeBool:
		if n.typ != truth {
			if b, err := parseBool(n.text); err == nil {
				return "write " + strconv.FormatBool(b), false
			}
			return "", false
		}
	case shapeInt, shapeUint, shapeFloat:
		if n.typ != number {
			if _, err := strconv.ParseFloat(n.text, 64); err == nil && n.typ == text {
				return "write " + n.text + " without quotes", false
			}
			return "", false
		}
	case shapeDuration:
		if n.typ == number && strings.Trim(n.text, "0") != "" {
			return "write for example " + n.text + "ms or " + n.text + "s", false
		}
		return "", n.typ != truth
	case shapeSize:
		return "", n.typ != truth
	}
	return "", true
}

// describe names what an operator wrote.
func describe(n *node) string {
	switch n.typ {
	case number:
		return "the number " + n.text
	case truth:
		return n.text
	}
	return strconv.Quote(n.text)
}

// rangeHint says which numbers fit when one didn't.
func rangeHint(err error, v reflect.Value, s shape) string {
	if !errors.Is(err, strconv.ErrRange) && s != shapeUint {
		return ""
	}
	bits := v.Type().Bits()
	switch s {
	case shapeInt:
		most := int64(1)<<(bits-1) - 1
		return "valid are " + strconv.FormatInt(-most-1, 10) + " to " + strconv.FormatInt(most, 10)
	case shapeUint:
		return "valid are 0 to " + strconv.FormatUint(1<<(bits-1)-1+1<<(bits-1), 10)
	}
	return ""
}

// parseBool reads true and false, and the words that people use for them outside YAML.
func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, strconv.ErrSyntax
}

// ParseDuration reads Go's durations and, before them, whole days: 500ms, 1h30m, 7d, 1d12h. 0 needs no unit.
func ParseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(strings.TrimSpace(s), "d")
	if !found {
		return time.ParseDuration(days)
	}
	n, err := strconv.ParseInt(days, 10, 32)
	if err != nil || n < 0 || n > 106_751 {
		return 0, errors.New("bad number of days in " + strconv.Quote(s))
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || d+more < d {
		return 0, errors.New("bad duration " + strconv.Quote(s))
	}
	return d + more, nil
}

// formatDuration is the reverse of ParseDuration, without zero units at the end.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
