//! json: a member of the JSON object in the body has a value. The value is compared as it is written, strings without
//! their quotes; a string with an escape in it is equal to nothing.
use mqf::{Batch, Error, Filter, Verdict};

struct Json {
    field: Vec<u8>,
    value: Vec<u8>,
}

impl Filter for Json {
    fn start(config: &Batch) -> Result<Self, Error> {
        Ok(Json {
            field: config.text(0, 0).ok_or(Error("field is missing"))?.to_vec(),
            value: config.text(1, 0).ok_or(Error("value is missing"))?.to_vec(),
        })
    }

    fn each(&self, batch: &Batch, record: u32) -> Verdict {
        self.find(batch.body(record).unwrap_or(b"")).unwrap_or(Verdict::Raise)
    }
}

impl Json {
    /// `None` if the text is no object as far as it had to be read.
    fn find(&self, t: &[u8]) -> Option<Verdict> {
        let mut i = expect(t, blanks(t, 0), b'{')?;
        if t.get(i) == Some(&b'}') {
            return Some(Verdict::Unknown);
        }
        loop {
            if t.get(i) != Some(&b'"') {
                return None;
            }
            let name_end = string_end(t, i)?;
            let name = &t[i + 1..name_end - 1];
            let from = expect(t, blanks(t, name_end), b':')?;
            let end = value_end(t, from)?;
            if name == &self.field[..] {
                let mut value = &t[from..end];
                if value[0] == b'"' {
                    value = &value[1..value.len() - 1];
                    if value.contains(&b'\\') {
                        return Some(Verdict::False);
                    }
                }
                return Some((value == &self.value[..]).into());
            }
            i = blanks(t, end);
            if t.get(i) == Some(&b'}') {
                return Some(Verdict::Unknown);
            }
            i = expect(t, i, b',')?;
        }
    }
}

fn is_blank(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | b'\r')
}

fn blanks(t: &[u8], mut i: usize) -> usize {
    while i < t.len() && is_blank(t[i]) {
        i += 1;
    }
    i
}

/// The place of the next token behind `c`.
fn expect(t: &[u8], i: usize, c: u8) -> Option<usize> {
    if t.get(i) == Some(&c) {
        Some(blanks(t, i + 1))
    } else {
        None
    }
}

/// The place behind the string that begins at `i`.
fn string_end(t: &[u8], mut i: usize) -> Option<usize> {
    i += 1;
    while i < t.len() {
        match t[i] {
            b'\\' => i += 2,
            b'"' => return Some(i + 1),
            _ => i += 1,
        }
    }
    None
}

/// The place behind the value that begins at `from`.
fn value_end(t: &[u8], from: usize) -> Option<usize> {
    let (mut i, mut depth) = (from, 0);
    while i < t.len() {
        match t[i] {
            b'"' => {
                i = string_end(t, i)?;
                if depth == 0 {
                    return Some(i);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return if i > from { Some(i) } else { None },
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            c if depth == 0 && (c == b',' || is_blank(c)) => return if i > from { Some(i) } else { None },
            _ => {}
        }
        i += 1;
    }
    None
}

mqf::manifest!("../manifest.json");
mqf::filter!(Json);
