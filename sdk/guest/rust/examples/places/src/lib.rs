//! places: functions for SQL92.
//!
//! ```sql
//! wasm.places.within(lat, lon, 'berlin')          -- is the position inside a city?
//! wasm.places.apart(lat, lon, 52.5, 13.4) < 1.5   -- how far two positions are apart, in degrees
//! wasm.places.share(customer, 100) < 5            -- the same five of a hundred customers, always
//! ```
use mqf::Raise;

struct City {
    name: &'static [u8],
    south: f64,
    west: f64,
    north: f64,
    east: f64,
}

const CITIES: [City; 2] = [
    City { name: b"berlin", south: 52.3, west: 13.0, north: 52.7, east: 13.8 },
    City { name: b"paris", south: 48.8, west: 2.2, north: 48.95, east: 2.5 },
];

/// A place that isn't known is unknown.
fn within(lat: f64, lon: f64, city: &[u8]) -> Option<bool> {
    let c = CITIES.iter().find(|c| c.name == city)?;
    Some(lat >= c.south && lat <= c.north && lon >= c.west && lon <= c.east)
}

fn apart(lat: f64, lon: f64, lat2: f64, lon2: f64) -> f64 {
    let (lat, lon) = (lat - lat2, lon - lon2);
    (lat * lat + lon * lon).sqrt()
}

/// Messages without the property are nobody's, and share 0.
fn share(customer: Option<&[u8]>, of: i64) -> Result<i64, Raise> {
    if of <= 0 {
        return Err(Raise);
    }
    let hash = |key: &[u8]| key.iter().fold(2166136261u32, |h, b| (h ^ *b as u32).wrapping_mul(16777619));
    Ok(customer.map_or(0, |key| hash(key) as i64 % of))
}

mqf::manifest!("../manifest.json");
mqf::functions!(within, apart, share);
