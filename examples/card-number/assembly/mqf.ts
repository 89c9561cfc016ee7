// mqf.ts: write WeirMQ filters in AssemblyScript.
//
// A filter is a class with two methods, and three exports that the entry file must have:
//
//	import { Batch, Filter, Verdict, judge, start } from "../../mqf";
//	export { mqf_abi_1, mqf_buffer, mqf_error } from "../../mqf";
//
//	@final class Big extends Filter { … }
//	const filter = new Big();
//	export function mqf_init(config: usize, length: u32): i32 { return start<Big>(filter, config, length); }
//	export function mqf_filter(batch: usize, length: u32, out: usize): i32 { return judge<Big>(filter, batch, length, out); }
//
// start is called once, with the settings as a batch of one record: slot k is the k-th setting of the manifest. each is
// called for every message; the call is direct and inlined. Slots are numbered in the order of the manifest's props; those
// that needProp asks for in start follow.
//
// AssemblyScript's strings are UTF-16, and properties and bodies are UTF-8: compare bytes, and decode in start only.

// What is said of a message. Unknown is SQL's NULL: no match. Raise is a failure to judge it: no match either.
export enum Verdict {
  False,
  True,
  Unknown,
  Raise,
}

// How a property is read.
export enum Type {
  Text,
  Int32,
  Int64,
  Double,
  Boolean,
}

// Whether there is a value of the type that was asked for.
export enum Status {
  Missing,
  Value,
  Unparsed,
}

export enum Level {
  Debug = -1,
  Info = 0,
  Warn = 1,
  Error = 2,
}

// @ts-ignore: decorator
@external("mqf_v1", "need_prop")
declare function host_need_prop(name: usize, length: u32, kind: i32): i32;

// @ts-ignore: decorator
@external("mqf_v1", "log")
declare function host_log(level: i32, text: usize, length: u32): void;

const SLOTS: u32 = 64;
const MAGIC: u32 = 0x3142514d;
const MISSING: u32 = 0xffffffff;

// Of each slot: where its text references, statuses and values are. Resolved once for a batch.
const texts = memory.data(64 * 4);
const statuses = memory.data(64 * 4);
const values = memory.data(64 * 4);

// A batch of messages, as the broker laid it out. It is valid during one call.
@unmanaged
export class Batch {
  magic: u32;
  minor: u16;
  flags: u16;
  total: u32;
  length: u32; // how many messages there are
  slots: u32;
  directory: u32;
  meta: u32;
  bodies: u32;
  raw: u32;
  topic: u32;
  topicLength: u32;
  queue: u32;

  private get base(): usize {
    return changetype<usize>(this);
  }

  // The status of a typed slot for a message.
  @inline status(slot: u32, i: u32): Status {
    const at = load<u32>(statuses + (slot << 2));
    if (at == 0) return Status.Missing;
    return load<u8>(at + i);
  }

  // The number of a slot of type double, if its status is Value.
  @inline double(slot: u32, i: u32): f64 {
    return load<f64>(load<u32>(values + (slot << 2)) + (i << 3));
  }

  // The number of a slot of type int32, int64 or boolean, if its status is Value.
  @inline int(slot: u32, i: u32): i64 {
    return load<i64>(load<u32>(values + (slot << 2)) + (i << 3));
  }

  // Where the text of a slot is; 0 if it is missing. Eight bytes behind its end may be read.
  @inline textAt(slot: u32, i: u32): usize {
    const refs = load<u32>(texts + (slot << 2));
    if (refs == 0) return 0;
    const at = load<u32>(refs + (i << 3));
    return at == MISSING ? 0 : this.base + at;
  }

  // How many bytes the text of a slot has.
  @inline textLength(slot: u32, i: u32): u32 {
    const refs = load<u32>(texts + (slot << 2));
    return refs == 0 ? 0 : load<u32>(refs + (i << 3), 4);
  }

  // Where the body of a message is. The manifest must need "body".
  @inline bodyAt(i: u32): usize {
    return this.bodies == 0 ? 0 : this.base + load<u32>(this.base + this.bodies + (i << 3));
  }

  // How many bytes of the body are there: at most the manifest's body_cap.
  @inline bodyLength(i: u32): u32 {
    return this.bodies == 0 ? 0 : load<u32>(this.base + this.bodies + (i << 3), 4);
  }
}

// A filter. See the page above.
export abstract class Filter {
  // Gets the settings. Anything but an empty text is why it doesn't start.
  start(config: Batch): string {
    return "";
  }

  each(batch: Batch, i: u32): Verdict {
    return Verdict.False;
  }
}

// Asks for a property, in start only. Returns its slot, or -1 when there are too many.
export function needProp(name: usize, length: u32, type: Type): i32 {
  return host_need_prop(name, length, type);
}

// Writes a line to the broker's log: some tens a second at most, the rest is counted.
export function log(level: Level, text: string): void {
  const b = String.UTF8.encode(text);
  host_log(level, changetype<usize>(b), b.byteLength);
}

// Resolves the slot directory.
function open(at: usize, length: u32): i32 {
  const b = changetype<Batch>(at);
  if (length < 64 || b.magic != MAGIC || b.total != length || b.slots > SLOTS) return -2;
  if (b.minor < 1) return -3;
  let entry = at + b.directory;
  for (let i: u32 = 0; i < b.slots; i++) {
    const text = load<u32>(entry);
    const typed = load<u32>(entry, 4);
    store<u32>(texts + (i << 2), text == 0 ? 0 : <u32>at + text);
    store<u32>(statuses + (i << 2), typed == 0 ? 0 : <u32>at + typed);
    store<u32>(values + (i << 2), <u32>at + typed + ((b.length + 7) & ~7));
    entry += 16;
  }
  return 0;
}

let failure: ArrayBuffer = new ArrayBuffer(0);

// What mqf_init does.
export function start<T extends Filter>(filter: T, config: usize, length: u32): i32 {
  const code = open(config, length);
  if (code != 0) return code;
  const why = filter.start(changetype<Batch>(config));
  if (why.length == 0) return 0;
  failure = String.UTF8.encode(why);
  return -4;
}

// What mqf_filter does. What the filter has allocated is collected after each batch.
// @ts-ignore: decorator
@inline
export function judge<T extends Filter>(filter: T, at: usize, length: u32, out: usize): i32 {
  const code = open(at, length);
  if (code != 0) return code;
  const batch = changetype<Batch>(at);
  const n = batch.length;
  const words: u32 = (n + 63) >> 6;
  for (let w: u32 = 0; w < words; w++) {
    let isTrue: u64 = 0;
    let unknown: u64 = 0;
    let raise: u64 = 0;
    const from = w << 6;
    const to = min<u32>(from + 64, n);
    for (let i = from; i < to; i++) {
      const verdict = filter.each(batch, i);
      const bit: u64 = <u64>1 << (i & 63);
      if (verdict == Verdict.True) isTrue |= bit;
      else if (verdict == Verdict.Unknown) unknown |= bit;
      else if (verdict == Verdict.Raise) raise |= bit;
    }
    store<u64>(out + (w << 3), isTrue);
    store<u64>(out + ((words + w) << 3), unknown);
    store<u64>(out + ((2 * words + w) << 3), raise);
  }
  __collect();
  return n;
}

// The area for batches comes from the runtime's own heap, outside of the collector: memory.grow behind its back would hand
// the same bytes out twice.
let area: usize = 0;
let areaSize: u32 = 0;

export function mqf_buffer(size: u32): usize {
  if (size > areaSize) {
    if (area != 0) heap.free(area);
    area = heap.alloc(size); // aligned to 16 bytes
    areaSize = size;
  }
  return area;
}

export function mqf_abi_1(): void {}

export function mqf_error(): u64 {
  return ((<u64>changetype<usize>(failure)) << 32) | failure.byteLength;
}

// What the build puts in the place of env.abort: the reason goes to the log, and the call ends.
export function stop(message: string | null, file: string | null, line: u32, column: u32): void {
  if (message) log(Level.Error, message);
  unreachable();
}
