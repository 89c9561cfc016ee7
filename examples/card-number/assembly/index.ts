// card-number: the body holds what looks like the number of a payment card: 13 to 19 digits, with single blanks or dashes between
// them, whose last one is right by Luhn's rule.
import { Batch, Filter, Verdict, judge, start } from "./mqf";
export { mqf_abi_1, mqf_buffer, mqf_error } from "./mqf";

const SHORTEST = 13;
const LONGEST = 19;

// The digits of the run that is being read.
const digits = memory.data(LONGEST);

@inline
function isDigit(c: u8): bool {
  return c >= 0x30 && c <= 0x39;
}

// Doubles every second digit from the right, and sums up.
function luhn(n: i32): bool {
  let sum = 0;
  for (let i = 0; i < n; i++) {
    let d: i32 = load<u8>(digits + n - 1 - i);
    if (i & 1) {
      d *= 2;
      if (d > 9) d -= 9;
    }
    sum += d;
  }
  return sum % 10 == 0;
}

@inline
function isCard(n: i32): bool {
  return n >= SHORTEST && n <= LONGEST && luhn(n);
}

@final
class CardNumber extends Filter {
  each(batch: Batch, i: u32): Verdict {
    const from = batch.bodyAt(i);
    const end = from + batch.bodyLength(i);
    let n = 0; // digits of the run
    let gap = false; // a blank or a dash stands behind them
    for (let at = from; at < end; at++) {
      const c = load<u8>(at);
      if (isDigit(c)) {
        if (n < LONGEST) store<u8>(digits + n, c - 0x30);
        n++;
        gap = false;
      } else if (n > 0 && !gap && (c == 0x20 || c == 0x2d)) {
        gap = true;
      } else {
        if (isCard(n)) return Verdict.True;
        n = 0;
        gap = false;
      }
    }
    return isCard(n) ? Verdict.True : Verdict.False;
  }
}

const filter = new CardNumber();

export function mqf_init(config: usize, length: u32): i32 {
  return start<CardNumber>(filter, config, length);
}

export function mqf_filter(batch: usize, length: u32, out: usize): i32 {
  return judge<CardNumber>(filter, batch, length, out);
}
