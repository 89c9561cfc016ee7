//! geo-fence: the position in the properties lat and lon is inside a fence of four edges.
use mqf::{Batch, Error, Filter, Value, Verdict};

struct Fence {
    south: f64,
    west: f64,
    north: f64,
    east: f64,
}

// The manifest's props, in their order.
const LAT: u32 = 0;
const LON: u32 = 1;

impl Filter for Fence {
    fn start(config: &Batch) -> Result<Self, Error> {
        let edge = |i| match config.double(i, 0) {
            Value::Is(n) => Ok(n),
            _ => Err(Error("an edge is missing")),
        };
        Ok(Fence { south: edge(0)?, west: edge(1)?, north: edge(2)?, east: edge(3)? })
    }

    fn each(&self, batch: &Batch, record: u32) -> Verdict {
        let (lat, lon) = match (batch.double(LAT, record), batch.double(LON, record)) {
            (Value::Unparsed, _) | (_, Value::Unparsed) => return Verdict::Raise,
            (Value::Is(lat), Value::Is(lon)) => (lat, lon),
            _ => return Verdict::Unknown,
        };
        let inside = if self.west <= self.east {
            lon >= self.west && lon <= self.east
        } else {
            lon >= self.west || lon <= self.east
        };
        (lat >= self.south && lat <= self.north && inside).into()
    }
}

mqf::manifest!("../manifest.json");
mqf::filter!(Fence);
