package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Schema returns the JSON Schema (draft 07, the newest that editors' YAML servers read) of the file, plugins included.
// Only Plugins and Sections of o are used. The output is the same for the same structs.
func Schema(o Options) ([]byte, error) {
	l := newLoading(o)
	root := object{}
	for _, t := range l.top {
		s := schemaOfSection(t)
		s["description"] = t.doc
		root[t.name] = s
	}
	doc := object{
		"$schema":              "http://json-schema.org/draft-07/schema#",
		"$id":                  "https://github.com/weirmq/weir/broker.schema.json",
		"title":                "WeirMQ broker.yaml",
		"type":                 "object",
		"additionalProperties": false,
		"properties":           root,
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// object is a JSON object; encoding/json writes its keys in order.
type object map[string]any

// schemaOfSection describes one key at the top.
func schemaOfSection(t topSection) object {
	if t.kind == nil {
		return schemaOf(t.value, field{})
	}
	patterns := object{}
	for _, name := range t.kind.types {
		id, _ := t.kind.factory(name)
		s := object{"type": []string{"object", "null"}}
		if v := reflect.ValueOf(id.DefaultConfig()); v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
			s = schemaOf(v.Elem(), field{})
		}
		patterns["^"+name+"(/[a-z0-9][a-z0-9_.-]*)?$"] = s
	}
	return object{"type": []string{"object", "null"}, "additionalProperties": false, "patternProperties": patterns}
}

// reference matches strings that stand for something else, which any value may be written as.
const reference = `\$\{(env|file):[^}]+\}`

// schemaOf describes a value; its present content is the default.
func schemaOf(v reflect.Value, f field) object {
	s := object{}
	switch shape := shapeOf(v.Type()); shape {
	case shapeText, shapeCustom:
		s["type"] = "string"
		if f.choices != nil {
			s = object{"anyOf": []object{{"enum": f.choices}, {"type": "string", "pattern": reference}}}
		}
	case shapeBool:
		s = orReference(object{"type": "boolean"})
	case shapeInt, shapeUint:
		n := object{"type": "integer"}
		if shape == shapeUint {
			n["minimum"] = 0
		}
		s = orReference(n)
	case shapeFloat:
		s = orReference(object{"type": "number"})
	case shapeDuration:
		s["type"] = "string"
		s["pattern"] = `^(0|(\d+d)?((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*)$|` + reference
	case shapeSize:
		s["anyOf"] = []object{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": `^\d+(\.\d+)? ?(B|KiB|MiB|GiB|TiB)?$|` + reference}}
	case shapeStruct:
		return schemaOfStruct(v)
	case shapeMap:
		s["type"] = []string{"object", "null"}
		s["additionalProperties"] = schemaOf(reflect.New(v.Type().Elem()).Elem(), field{choices: f.choices})
		return s
	case shapeList:
		item := schemaOf(reflect.New(v.Type().Elem()).Elem(), field{choices: f.choices})
		delete(item, "default")
		s = object{"type": "array", "items": item}
	}
	if !f.secret {
		s["default"] = plain(v)
	}
	return s
}

func orReference(s object) object {
	return object{"anyOf": []object{s, {"type": "string", "pattern": reference}}}
}

// schemaOfStruct describes a section. One without content means that all of it is commented out.
func schemaOfStruct(v reflect.Value) object {
	props := object{}
	for _, f := range fieldsOf(v.Type()) {
		one := schemaOf(v.FieldByIndex(f.index), f)
		if f.doc != "" {
			one["description"] = strings.TrimSpace(f.doc)
		}
		props[f.key] = one
	}
	return object{"type": []string{"object", "null"}, "additionalProperties": false, "properties": props}
}
