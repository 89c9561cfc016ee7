//go:build wasip1

// geo: the position in the properties lat and lon is inside a fence of four edges.
package main

import (
	"errors"

	"github.com/weirmq/weir/sdk/guest/go/mqf"
)

type geo struct{ south, west, north, east float64 }

func init() { mqf.Run(&geo{}) }

func main() {}

// Start reads the settings.
func (g *geo) Start(config *mqf.Batch) error {
	for i, edge := range []*float64{&g.south, &g.west, &g.north, &g.east} {
		status, values := config.Doubles(i)
		if status[0] != mqf.Value {
			return errors.New("an edge is missing")
		}
		*edge = values[0]
	}
	return nil
}

// Batch compares two columns.
func (g *geo) Batch(b *mqf.Batch, v *mqf.Verdicts) {
	hasLat, lats := b.Doubles(0)
	hasLon, lons := b.Doubles(1)
	for i, lat := range lats {
		lon := lons[i]
		switch {
		case hasLat[i] == mqf.Unparsed || hasLon[i] == mqf.Unparsed:
			v.Raise(i)
		case hasLat[i] == mqf.Missing || hasLon[i] == mqf.Missing:
			v.Unknown(i)
		case lat >= g.south && lat <= g.north && g.between(lon):
			v.True(i)
		}
	}
}

func (g *geo) between(lon float64) bool {
	if g.west <= g.east {
		return lon >= g.west && lon <= g.east
	}
	return lon >= g.west || lon <= g.east
}
