//go:build wasip1

// places: functions for SQL92.
//
//	wasm.places.within(lat, lon, 'berlin')          is the position inside a city?
//	wasm.places.apart(lat, lon, 52.5, 13.4) < 1.5   how far two positions are apart, in degrees
//	wasm.places.share(customer, 100) < 5            the same five of a hundred customers, always
package main

import (
	"errors"
	"math"

	"github.com/weirmq/weir/sdk/guest/go/mqf"
)

func init() {
	mqf.Functions(mqf.Func3(within), mqf.Func4(apart), mqf.Func2(share)) // the manifest's functions, by number
}

func main() {}

var cities = []struct {
	name                     string
	south, west, north, east float64
}{{"berlin", 52.3, 13.0, 52.7, 13.8}, {"paris", 48.8, 2.2, 48.95, 2.5}}

// within is unknown for a place that isn't known.
func within(lat, lon float64, city string) (bool, error) {
	for i := range cities {
		if c := &cities[i]; c.name == city {
			return lat >= c.south && lat <= c.north && lon >= c.west && lon <= c.east, nil
		}
	}
	return false, mqf.ErrUnknown
}

func apart(lat, lon, lat2, lon2 float64) (float64, error) {
	lat, lon = lat-lat2, lon-lon2
	return math.Sqrt(lat*lat + lon*lon), nil
}

var errShare = errors.New("a share is of one customer at least")

// share is 0 of messages without the property, which are nobody's.
func share(customer mqf.Null[string], of int64) (int64, error) {
	switch {
	case of <= 0:
		return 0, errShare
	case !customer.Valid:
		return 0, nil
	}
	hash := uint32(2166136261)
	for i := range len(customer.V) {
		hash = (hash ^ uint32(customer.V[i])) * 16777619
	}
	return int64(hash) % of, nil
}
