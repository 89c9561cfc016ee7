// Package config reads broker.yaml, lays the environment over it, and checks all of it before anything starts.
//
// # Layers
//
// A value comes from the first of these that has one: a flag, the environment, the file, the default. The default is
// whatever the owner's struct holds before it is decoded; this package knows no defaults but those of its own sections.
//
//	flags        --data-dir=/var/lib/weir
//	environment  WEIR_STORE__FLUSH=sync          sections joined by "__", lists by commas
//	broker.yaml  store: { flush: sync }
//	defaults     store.DefaultConfig()
//
// # Strictness
//
// Unknown keys, keys given twice, wrong types, bad values and failed Validate methods are collected and reported
// together, each with file, line, column, the line itself, and what would have been right.
//
// # How structs are read
//
// Sections and plugin configurations are plain structs. The tags are the whole schema language; the decoder, `config
// show` and the JSON Schema all use the same walk over them:
//
//	yaml:"name"       the key; "-" leaves a field out, ",inline" takes the fields of a struct as its own
//	doc:"text"        one sentence for operators
//	choices:"a,b"     the only values allowed, for strings
//	secret:"true"     never shown
//
// Fields may be strings, booleans, numbers, time.Duration ("500ms", "72h", "7d"), plugin.Size ("64KiB", "1GiB"), types
// with UnmarshalText, and structs, slices and string-keyed maps of these. A Validate() error method is called on every
// struct that has one and decoded without an error; a *plugin.FieldError in what it returns is reported at its key.
//
// Strings may contain ${env:NAME} and ${file:PATH}; "$${" stands for "${". `config show` prints the reference and not
// what it stands for, so secrets kept in files and variables stay there.
//
// This package is the only user of the YAML library.
package config
