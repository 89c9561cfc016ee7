package plugins

import (
	"testing"

	"github.com/weirmq/weir/core/config"
)

func TestCompiledIn(t *testing.T) {
	sets, err := CompiledIn()
	if err != nil {
		t.Fatal(err)
	}
	known := config.Sets(sets)
	if _, ok := known.Filters.Find("tag"); !ok {
		t.Errorf("filters: %q", known.Filters.Types())
	}
	if _, ok := known.Auth.Find("open"); !ok {
		t.Errorf("auth: %q", known.Auth.Types())
	}
	if _, ok := known.Transports.Find("remoting"); !ok {
		t.Errorf("transports: %q", known.Transports.Types())
	}
}
