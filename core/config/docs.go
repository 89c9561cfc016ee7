package config

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"sync"
)

// docs.json holds the doc comments of the configuration structs in this module, by package path, type and field, since
// they can't be had at run time. TestDocs makes it (go test ./core/config -run TestDocs -update) and fails when it is old.
//
//go:embed docs.json
var docsJSON []byte

var docs = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	if err := json.Unmarshal(docsJSON, &m); err != nil {
		panic("core/config: docs.json is damaged: " + err.Error())
	}
	return m
})

// docOf returns what a field means: its doc tag, which plugins of other modules use, or its comment.
func docOf(t reflect.Type, f reflect.StructField) string {
	if tag := f.Tag.Get("doc"); tag != "" {
		return tag
	}
	if t.Name() == "" {
		return ""
	}
	return docs()[t.PkgPath()+"."+t.Name()+"."+f.Name]
}
