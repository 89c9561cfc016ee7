package remoting

import (
	"bytes"
	"encoding/json"
)

// jsonText returns s as a JSON string. Unlike encoding/json's default it leaves < > & alone, which some clients need.
func jsonText(s string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(b.Bytes())), nil
}
