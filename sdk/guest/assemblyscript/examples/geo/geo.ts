// geo: the position in the properties lat and lon is inside a fence of four edges.
import { Batch, Filter, Status, Verdict, judge, start } from "../../mqf";
export { mqf_abi_1, mqf_buffer, mqf_error } from "../../mqf";

// The manifest's props, in their order.
const LAT: u32 = 0;
const LON: u32 = 1;

@final
class Geo extends Filter {
  private south: f64 = 0;
  private west: f64 = 0;
  private north: f64 = 0;
  private east: f64 = 0;

  start(config: Batch): string {
    for (let i: u32 = 0; i < 4; i++) if (config.status(i, 0) != Status.Value) return "an edge is missing";
    this.south = config.double(0, 0);
    this.west = config.double(1, 0);
    this.north = config.double(2, 0);
    this.east = config.double(3, 0);
    return "";
  }

  each(batch: Batch, i: u32): Verdict {
    const hasLat = batch.status(LAT, i);
    const hasLon = batch.status(LON, i);
    if (hasLat == Status.Unparsed || hasLon == Status.Unparsed) return Verdict.Raise;
    if (hasLat == Status.Missing || hasLon == Status.Missing) return Verdict.Unknown;
    const lat = batch.double(LAT, i);
    const lon = batch.double(LON, i);
    const inside = this.west <= this.east ? lon >= this.west && lon <= this.east : lon >= this.west || lon <= this.east;
    return lat >= this.south && lat <= this.north && inside ? Verdict.True : Verdict.False;
  }
}

const filter = new Geo();

export function mqf_init(config: usize, length: u32): i32 {
  return start<Geo>(filter, config, length);
}

export function mqf_filter(batch: usize, length: u32, out: usize): i32 {
  return judge<Geo>(filter, batch, length, out);
}
