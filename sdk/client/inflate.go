package client

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/weirmq/weir/core/message"
)

// maxInflated bounds what a compressed body may become.
const maxInflated = 64 << 20

// inflate undoes the compression of a body. Only zlib, which all producers have, is known; others are an error.
func inflate(body []byte, sysFlag int32) ([]byte, error) {
	if kind := sysFlag & message.FlagCompressionMask; kind != 0 && kind != message.FlagZlib {
		return nil, fmt.Errorf("body compressed in a way (%#x) that this client doesn't know", kind)
	}
	r, err := zlib.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("inflate the body: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, maxInflated))
	if err != nil {
		return nil, fmt.Errorf("inflate the body: %w", err)
	}
	return out, nil
}

func itoa(n int) string { return strconv.Itoa(n) }

func sortedNames(m map[string]string) []string { return sortedKeys(m) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
