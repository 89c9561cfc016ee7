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
// Functions for SQL92 are functions, and an export that calls them by their numbers; see Text and call0 to call4 below.
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

// Of each slot: where its text references, statuses and values are, and 0 for a constant, which has one entry for all messages.
// Resolved once for a batch.
const texts = memory.data(64 * 4);
const statuses = memory.data(64 * 4);
const values = memory.data(64 * 4);
const masks = memory.data(64 * 4);

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
    const constant = (load<u8>(entry, 9) & 1) != 0;
    store<u32>(masks + (i << 2), constant ? 0 : -1);
    store<u32>(values + (i << 2), <u32>at + typed + (((constant ? 1 : b.length) + 7) & ~7));
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

// ---- functions for SQL92 ----

// A text that is an argument: UTF-8, valid during the call. Compare it with what was encoded once:
//
//	const BERLIN = String.UTF8.encode("berlin");
//	… city.equals(BERLIN)
@unmanaged
export class Text {
  at: usize; // 0 if it is missing
  length: u32;

  get missing(): bool {
    return this.at == 0;
  }

  @inline byte(i: u32): u8 {
    return load<u8>(this.at + i);
  }

  equals(other: ArrayBuffer): bool {
    return this.at != 0 && this.length == <u32>other.byteLength && memory.compare(this.at, changetype<usize>(other), this.length) == 0;
  }
}

// The arguments that are texts lie here for the message in hand.
const textArguments = memory.data(64 * 8, 8);

// What the function in hand has said of the message: Value, unless unknown or raise were called.
let said: Status = Status.Value;

// A bit for each argument of the message that is missing, in a function that is called with nulls.
let nulls: u64 = 0;

// Return this when the value is unknown, SQL's NULL.
export function unknown<R>(): R {
  said = Status.Missing;
  return <R>0;
}

// Return this when the value can't be computed: the message doesn't match.
export function raise<R>(): R {
  said = Status.Unparsed;
  return <R>0;
}

// Whether argument k of the message is missing. Only a function that is called with nulls needs to ask.
export function missing(k: u32): bool {
  return ((nulls >> k) & 1) != 0;
}

// Return this where there is no function of a number.
export function noFunction(): i32 {
  return fail(-6, "there is no such function");
}

function fail(code: i32, why: string): i32 {
  failure = String.UTF8.encode(why);
  return code;
}

// Whether slot k is an argument of type A.
function isOf<A>(at: usize, k: u32): bool {
  const entry = at + changetype<Batch>(at).directory + (k << 4);
  let type = Type.Text;
  if (argumentKind<A>() == 1) type = Type.Double;
  else if (argumentKind<A>() == 2) type = Type.Int64;
  else if (argumentKind<A>() == 3) type = Type.Int32;
  else if (argumentKind<A>() == 4) type = Type.Boolean;
  return load<u8>(entry, 8) == <u8>type && (load<u32>(entry) != 0) == (type == Type.Text);
}

// Numbers the types that arguments and results can be of: f64, i64, i32, bool and Text.
// @ts-ignore: decorator
@inline
function argumentKind<A>(): i32 {
  if (isFloat<A>()) {
    if (sizeof<A>() == 8) return 1;
  } else if (isBoolean<A>()) return 4;
  else if (isReference<A>()) return 5;
  else if (isInteger<A>() && isSigned<A>()) {
    if (sizeof<A>() == 8) return 2;
    if (sizeof<A>() == 4) return 3;
  }
  ERROR("arguments are f64, i64, i32, bool or Text");
  return 0;
}

// Reads argument k of message i. It decides the value when it is missing, unless the function is called with nulls, and when it is
// no value of its type.
// @ts-ignore: decorator
@inline
function read<A>(batch: Batch, k: u32, i: u32, called: bool): A {
  const mask = load<u32>(masks + (k << 2));
  if (isReference<A>()) {
    const place = textArguments + (k << 3);
    const at = batch.textAt(k, i & mask);
    store<usize>(place, at);
    store<u32>(place, batch.textLength(k, i & mask), 4);
    if (at == 0) miss(k, called);
    return changetype<A>(place);
  }
  const status = batch.status(k, i & mask);
  if (status != Status.Value) {
    if (status == Status.Missing) miss(k, called);
    else if (said == Status.Value) said = Status.Unparsed;
    return <A>0;
  }
  if (isFloat<A>()) return <A>batch.double(k, i & mask);
  if (isBoolean<A>()) return <A>(batch.int(k, i & mask) != 0);
  return <A>batch.int(k, i & mask);
}

function miss(k: u32, called: bool): void {
  if (called) nulls |= <u64>1 << k;
  else if (said == Status.Value) said = Status.Missing;
}

// Begins a message.
// @ts-ignore: decorator
@inline
function begin(): void {
  said = Status.Value;
  nulls = 0;
}

// Writes the value of message i.
// @ts-ignore: decorator
@inline
function give<R>(value: R, i: u32, n: u32, out: usize): void {
  if (isBoolean<R>()) {
    if (said == Status.Value && !value) return;
    const set: u32 = said == Status.Missing ? 1 : said == Status.Unparsed ? 2 : 0;
    const at = out + (((n + 63) >> 6) << 3) * set + (i >> 3);
    store<u8>(at, load<u8>(at) | (<u8>1 << <u8>(i & 7)));
    return;
  }
  store<u8>(out + i, <u8>said);
  if (said != Status.Value) return;
  const at = out + ((n + 7) & ~7) + (i << 3);
  if (isFloat<R>()) store<u64>(at, isNaN<f64>(<f64>value) ? 0x7ff8000000000000 : reinterpret<u64>(<f64>value));
  else store<i64>(at, <i64>value);
}

// Checks a call of a function of so many arguments and of a result of type R; 0 if it is right.
function check<R>(args: u32, at: usize, length: u32, room: u32): i32 {
  const code = open(at, length);
  if (code != 0) return code;
  const batch = changetype<Batch>(at);
  const n = batch.length;
  const need: u32 = isBoolean<R>() ? 24 * ((n + 63) >> 6) : ((n + 7) & ~7) + 8 * n;
  if (room < need) return fail(-5, "no room for the values");
  return batch.slots == args ? 0 : wrongTypes();
}

function wrongTypes(): i32 {
  return fail(-2, "the arguments aren't of the types that the manifest must say");
}

// call0 to call4 do what mqf_call does, for a function f of so many arguments. The types are those of the arguments and of the
// result: f64 (double), i64 (int64), i32 (int32), bool (boolean) and Text (text), which no result can be. called is for functions of
// which the manifest says "nulls": "called". Elsewhere a missing argument makes the value unknown without a call of f, and in all
// functions one that is no value of its type raises.
export function call0<R>(f: () => R, at: usize, length: u32, out: usize, room: u32): i32 {
  const code = check<R>(0, at, length, room);
  if (code != 0) return code;
  const n = changetype<Batch>(at).length;
  for (let i: u32 = 0; i < n; i++) {
    begin();
    give<R>(f(), i, n, out);
  }
  __collect();
  return n;
}

export function call1<A, R>(f: (a: A) => R, at: usize, length: u32, out: usize, room: u32, called: bool = false): i32 {
  const code = check<R>(1, at, length, room);
  if (code != 0) return code;
  if (!isOf<A>(at, 0)) return wrongTypes();
  const batch = changetype<Batch>(at);
  const n = batch.length;
  for (let i: u32 = 0; i < n; i++) {
    begin();
    const a = read<A>(batch, 0, i, called);
    give<R>(said == Status.Value ? f(a) : <R>0, i, n, out);
  }
  __collect();
  return n;
}

export function call2<A, B, R>(f: (a: A, b: B) => R, at: usize, length: u32, out: usize, room: u32, called: bool = false): i32 {
  const code = check<R>(2, at, length, room);
  if (code != 0) return code;
  if (!isOf<A>(at, 0) || !isOf<B>(at, 1)) return wrongTypes();
  const batch = changetype<Batch>(at);
  const n = batch.length;
  for (let i: u32 = 0; i < n; i++) {
    begin();
    const a = read<A>(batch, 0, i, called);
    const b = read<B>(batch, 1, i, called);
    give<R>(said == Status.Value ? f(a, b) : <R>0, i, n, out);
  }
  __collect();
  return n;
}

export function call3<A, B, C, R>(f: (a: A, b: B, c: C) => R, at: usize, length: u32, out: usize, room: u32, called: bool = false): i32 {
  const code = check<R>(3, at, length, room);
  if (code != 0) return code;
  if (!isOf<A>(at, 0) || !isOf<B>(at, 1) || !isOf<C>(at, 2)) return wrongTypes();
  const batch = changetype<Batch>(at);
  const n = batch.length;
  for (let i: u32 = 0; i < n; i++) {
    begin();
    const a = read<A>(batch, 0, i, called);
    const b = read<B>(batch, 1, i, called);
    const c = read<C>(batch, 2, i, called);
    give<R>(said == Status.Value ? f(a, b, c) : <R>0, i, n, out);
  }
  __collect();
  return n;
}

export function call4<A, B, C, D, R>(f: (a: A, b: B, c: C, d: D) => R, at: usize, length: u32, out: usize, room: u32, called: bool = false): i32 {
  const code = check<R>(4, at, length, room);
  if (code != 0) return code;
  if (!isOf<A>(at, 0) || !isOf<B>(at, 1) || !isOf<C>(at, 2) || !isOf<D>(at, 3)) return wrongTypes();
  const batch = changetype<Batch>(at);
  const n = batch.length;
  for (let i: u32 = 0; i < n; i++) {
    begin();
    const a = read<A>(batch, 0, i, called);
    const b = read<B>(batch, 1, i, called);
    const c = read<C>(batch, 2, i, called);
    const d = read<D>(batch, 3, i, called);
    give<R>(said == Status.Value ? f(a, b, c, d) : <R>0, i, n, out);
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
