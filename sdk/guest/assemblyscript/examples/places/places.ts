// places: functions for SQL92.
//
//	wasm.places.within(lat, lon, 'berlin')          is the position inside a city?
//	wasm.places.apart(lat, lon, 52.5, 13.4) < 1.5   how far two positions are apart, in degrees
//	wasm.places.share(customer, 100) < 5            the same five of a hundred customers, always
import { Text, call2, call3, call4, missing, noFunction, raise, unknown } from "../../mqf";
export { mqf_abi_1, mqf_buffer, mqf_error } from "../../mqf";

const BERLIN = String.UTF8.encode("berlin");
const PARIS = String.UTF8.encode("paris");

// A place that isn't known is unknown.
function within(lat: f64, lon: f64, city: Text): bool {
  if (city.equals(BERLIN)) return lat >= 52.3 && lat <= 52.7 && lon >= 13.0 && lon <= 13.8;
  if (city.equals(PARIS)) return lat >= 48.8 && lat <= 48.95 && lon >= 2.2 && lon <= 2.5;
  return unknown<bool>();
}

function apart(lat: f64, lon: f64, lat2: f64, lon2: f64): f64 {
  lat -= lat2;
  lon -= lon2;
  return sqrt<f64>(lat * lat + lon * lon);
}

// Messages without the property are nobody's, and share 0.
function share(customer: Text, shares: i64): i64 {
  if (missing(1)) return unknown<i64>();
  if (shares <= 0) return raise<i64>();
  if (customer.missing) return 0;
  let hash: u32 = 2166136261;
  for (let i: u32 = 0; i < customer.length; i++) hash = (hash ^ customer.byte(i)) * 16777619;
  return <i64>hash % shares;
}

// Calls a function by its number in the manifest.
export function mqf_call(fn: u32, batch: usize, length: u32, out: usize, room: u32): i32 {
  switch (fn) {
    case 0: return call3<f64, f64, Text, bool>(within, batch, length, out, room);
    case 1: return call4<f64, f64, f64, f64, f64>(apart, batch, length, out, room);
    case 2: return call2<Text, i64, i64>(share, batch, length, out, room, true);
    default: return noFunction();
  }
}
