// json: a member of the JSON object in the body has a value. The value is compared as it is written, strings without
// their quotes; a string with an escape in it is equal to nothing.
import { Batch, Filter, Verdict, judge, start } from "../../mqf";
export { mqf_abi_1, mqf_buffer, mqf_error } from "../../mqf";

// The text that is being read, from at to end.
let at: usize = 0;
let end: usize = 0;

const QUOTE: u8 = 0x22;
const COMMA: u8 = 0x2c;
const COLON: u8 = 0x3a;
const BACKSLASH: u8 = 0x5c;
const OPEN_LIST: u8 = 0x5b;
const CLOSE_LIST: u8 = 0x5d;
const OPEN: u8 = 0x7b;
const CLOSE: u8 = 0x7d;

function isBlank(c: u8): bool {
  return c == 0x20 || c == 0x09 || c == 0x0a || c == 0x0d;
}

function blanks(): void {
  while (at < end && isBlank(load<u8>(at))) at++;
}

function is(c: u8): bool {
  return at < end && load<u8>(at) == c;
}

// Goes to the token behind c, which must be next.
function expect(c: u8): bool {
  if (!is(c)) return false;
  at++;
  blanks();
  return true;
}

// Goes behind the string that begins here.
function skipString(): bool {
  for (at++; at < end; at++) {
    const c = load<u8>(at);
    if (c == BACKSLASH) at++;
    else if (c == QUOTE) {
      at++;
      return true;
    }
  }
  return false;
}

// Goes behind the value that begins here.
function skipValue(): bool {
  const from = at;
  let depth = 0;
  while (at < end) {
    const c = load<u8>(at);
    if (c == QUOTE) {
      if (!skipString()) return false;
      if (depth == 0) return true;
      continue;
    }
    if (c == OPEN || c == OPEN_LIST) depth++;
    else if (c == CLOSE || c == CLOSE_LIST) {
      if (depth == 0) return at > from;
      if (--depth == 0) {
        at++;
        return true;
      }
    } else if (depth == 0 && (c == COMMA || isBlank(c))) return at > from;
    at++;
  }
  return false;
}

function same(from: usize, to: usize, text: ArrayBuffer): bool {
  const n = to - from;
  return n == <usize>text.byteLength && memory.compare(from, changetype<usize>(text), n) == 0;
}

@final
class Json extends Filter {
  private field: ArrayBuffer = new ArrayBuffer(0);
  private value: ArrayBuffer = new ArrayBuffer(0);

  start(config: Batch): string {
    if (config.textAt(0, 0) == 0 || config.textAt(1, 0) == 0) return "field or value is missing";
    this.field = this.keep(config, 0);
    this.value = this.keep(config, 1);
    return "";
  }

  private keep(config: Batch, slot: u32): ArrayBuffer {
    const b = new ArrayBuffer(config.textLength(slot, 0));
    memory.copy(changetype<usize>(b), config.textAt(slot, 0), b.byteLength);
    return b;
  }

  each(batch: Batch, i: u32): Verdict {
    at = batch.bodyAt(i);
    end = at + batch.bodyLength(i);
    blanks();
    if (!expect(OPEN)) return Verdict.Raise;
    if (is(CLOSE)) return Verdict.Unknown;
    while (true) {
      const name = at + 1;
      if (!is(QUOTE) || !skipString()) return Verdict.Raise;
      const nameEnd = at - 1;
      blanks();
      if (!expect(COLON)) return Verdict.Raise;
      const from = at;
      if (!skipValue()) return Verdict.Raise;
      if (same(name, nameEnd, this.field)) return this.compare(from, at);
      blanks();
      if (is(CLOSE)) return Verdict.Unknown;
      if (!expect(COMMA)) return Verdict.Raise;
    }
  }

  private compare(from: usize, to: usize): Verdict {
    if (load<u8>(from) == QUOTE) {
      from++;
      to--;
      for (let i = from; i < to; i++) if (load<u8>(i) == BACKSLASH) return Verdict.False;
    }
    return same(from, to, this.value) ? Verdict.True : Verdict.False;
  }
}

const filter = new Json();

export function mqf_init(config: usize, length: u32): i32 {
  return start<Json>(filter, config, length);
}

export function mqf_filter(batch: usize, length: u32, out: usize): i32 {
  return judge<Json>(filter, batch, length, out);
}
