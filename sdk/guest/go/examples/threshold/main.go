//go:build wasip1

// threshold: a property, read as a number, is above a limit. Which property and which limit are settings.
package main

import (
	"errors"

	"github.com/weirmq/weir/sdk/guest/go/mqf"
)

type threshold struct {
	slot  int
	limit float64
}

func init() { mqf.Run(&threshold{}) }

func main() {}

// Start reads the settings.
func (t *threshold) Start(config *mqf.Batch) error {
	status, limits := config.Doubles(1)
	if status[0] != mqf.Value {
		return errors.New("limit is missing")
	}
	t.limit = limits[0]
	property, _ := config.Texts(0).At(0)
	var ok bool
	if t.slot, ok = mqf.NeedProp(property, mqf.Double); !ok {
		return errors.New("property can't be read")
	}
	return nil
}

// Batch compares a column.
func (t *threshold) Batch(b *mqf.Batch, v *mqf.Verdicts) {
	status, values := b.Doubles(t.slot)
	for i, s := range status {
		switch {
		case s == mqf.Missing:
			v.Unknown(i)
		case s == mqf.Unparsed:
			v.Raise(i)
		case values[i] > t.limit:
			v.True(i)
		}
	}
}
