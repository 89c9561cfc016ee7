// Package metrics reads the metrics of a broker under test.
package metrics

import (
	"io"
	"net/http"
	"testing"
)

// Scrape returns the text that Prometheus would get from addr.
func Scrape(t testing.TB, addr string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v %s", addr, resp.StatusCode, err, text)
	}
	return string(text)
}
