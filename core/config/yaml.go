package config

import (
	"errors"
	"reflect"

	"github.com/goccy/go-yaml"
)

// YAMLFromJSON writes a JSON document as YAML, keys in the order they have. It is here because this package is the home
// of the YAML library.
func YAMLFromJSON(b []byte) ([]byte, error) { return yaml.JSONToYAML(b) }

// Plain is a type that is read from any plain value in YAML: from true and 5 as well as from text, and from null as nil.
type Plain interface {
	UnmarshalText([]byte) error
	Plain()
}

// DecodeYAML reads another file than the configuration as strictly: unknown keys, wrong types and what Validate says are
// reported together, with line and column, each an *Error. into points to a struct that holds the defaults. References such as
// ${env:X} are text like any other.
func DecodeYAML(source string, src []byte, into any) error {
	root, lines, errs := parse(source, src, expander{off: true})
	d := &decoder{lines: map[string][]string{source: lines}, places: map[string]place{}, raws: map[string]string{}, errs: errs}
	if len(errs) == 0 {
		d.value(root, reflect.ValueOf(into).Elem(), "", field{})
	}
	for _, e := range d.errs {
		e.Source = source // of what is missing, too
	}
	if len(d.errs) > 0 {
		return errors.Join(d.errs.sorted().Unwrap()...)
	}
	return nil
}
