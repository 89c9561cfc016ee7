package config

import "github.com/goccy/go-yaml"

// YAMLFromJSON writes a JSON document as YAML, keys in the order they have. It is here because this package is the home
// of the YAML library.
func YAMLFromJSON(b []byte) ([]byte, error) { return yaml.JSONToYAML(b) }
