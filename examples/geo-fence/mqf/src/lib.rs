//! Write WeirMQ filters in Rust. No dependencies, no allocation in the loop.
//!
//! A filter is a type that implements [`Filter`], and two lines:
//!
//! ```ignore
//! mqf::manifest!("manifest.json");
//! mqf::filter!(Threshold);
//! ```
//!
//! `start` is called once, with the settings as a batch of one record: slot `k` is the `k`-th setting of the manifest.
//! `each` is called for every message. Slots are numbered in the order of the manifest's `props`; those that [`need_prop`]
//! asks for in `start` follow. One call at a time runs in an instance, so a filter needs no locks.
//!
//! Functions for SQL92 are functions, and one line: see [`functions`].
#![no_std]

use core::cell::UnsafeCell;

mod function;
pub use function::*;

/// What is said of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    False,
    True,
    /// SQL's NULL: no match.
    Unknown,
    /// The message can't be judged: no match.
    Raise,
}

impl From<bool> for Verdict {
    fn from(b: bool) -> Verdict {
        if b {
            Verdict::True
        } else {
            Verdict::False
        }
    }
}

/// A property or setting, read as a type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<T> {
    Missing,
    /// It is there, but no value of the type.
    Unparsed,
    Is(T),
}

/// How a property is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Text = 0,
    Int32 = 1,
    Int64 = 2,
    Double = 3,
    Boolean = 4,
}

/// Why a filter doesn't start: a text for the operator.
pub struct Error(pub &'static str);

/// A filter. See the crate's page.
pub trait Filter: Sized {
    fn start(config: &Batch) -> Result<Self, Error>;
    fn each(&self, batch: &Batch, record: u32) -> Verdict;
}

#[repr(C)]
struct Header {
    magic: u32,
    minor: u16,
    flags: u16,
    length: u32,
    count: u32,
    slots: u32,
    directory: u32,
    meta: u32,
    bodies: u32,
    raw: u32,
    topic: u32,
    topic_length: u32,
    queue: u32,
    reserved: [u8; 16],
}

#[repr(C)]
struct SlotEntry {
    texts: u32,
    typed: u32,
    kind: u8,
    flags: u8,
    reserved: u16,
    reserved2: u32,
}

const MAGIC: u32 = 0x3142_514d;
const SLOTS: usize = 64;
const MISSING: u32 = 0xffff_ffff;

#[derive(Clone, Copy)]
struct Slot {
    texts: *const [u32; 2],
    status: *const u8,
    values: *const u64,
    kind: u8,
    mask: u32, // 0 for a constant, which has one entry for all messages
}

/// A batch of messages, as the broker laid it out. It lives during one call.
pub struct Batch {
    base: *const u8,
    header: *const Header,
    slots: [Slot; SLOTS],
}

impl Batch {
    /// Resolves the slot directory once, so that each read goes through plain pointers.
    ///
    /// # Safety
    /// `at` is a batch of `length` bytes that the broker has written.
    #[doc(hidden)]
    pub unsafe fn open(at: *const u8, length: u32) -> Result<Batch, i32> {
        let header = at as *const Header;
        let h = &*header;
        if length < 64 || h.magic != MAGIC || h.length != length || h.slots as usize > SLOTS {
            return Err(-2);
        }
        if h.minor < 1 {
            return Err(-3);
        }
        let none = Slot { texts: core::ptr::null(), status: core::ptr::null(), values: core::ptr::null(), kind: 0, mask: !0 };
        let mut slots = [none; SLOTS];
        let entries = at.add(h.directory as usize) as *const SlotEntry;
        for i in 0..h.slots as usize {
            let e = &*entries.add(i);
            slots[i].kind = e.kind;
            let mut column = h.count as usize;
            if e.flags & 1 != 0 {
                slots[i].mask = 0;
                column = 1;
            }
            if e.texts != 0 {
                slots[i].texts = at.add(e.texts as usize) as *const [u32; 2];
            }
            if e.typed != 0 {
                slots[i].status = at.add(e.typed as usize);
                slots[i].values = at.add(e.typed as usize + ((column + 7) & !7)) as *const u64;
            }
        }
        Ok(Batch { base: at, header, slots })
    }

    /// How many messages there are.
    pub fn len(&self) -> u32 {
        unsafe { (*self.header).count }
    }

    /// Whether there are none. There never are.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The topic of all messages.
    pub fn topic(&self) -> &[u8] {
        unsafe { self.bytes((*self.header).topic, (*self.header).topic_length) }
    }

    unsafe fn bytes(&self, at: u32, length: u32) -> &[u8] {
        core::slice::from_raw_parts(self.base.add(at as usize), length as usize)
    }

    /// The text of a slot; `None` if the message hasn't the property, or the slot isn't text.
    #[inline]
    pub fn text(&self, slot: u32, record: u32) -> Option<&[u8]> {
        let s = self.slots[slot as usize & (SLOTS - 1)];
        if s.texts.is_null() || record >= self.len() {
            return None;
        }
        unsafe {
            let [at, length] = *s.texts.add((record & s.mask) as usize);
            if at == MISSING {
                return None;
            }
            Some(self.bytes(at, length))
        }
    }

    #[inline]
    fn bits(&self, slot: u32, record: u32) -> Value<u64> {
        let s = self.slots[slot as usize & (SLOTS - 1)];
        if s.status.is_null() || record >= self.len() {
            return Value::Missing;
        }
        let at = (record & s.mask) as usize;
        unsafe {
            match *s.status.add(at) {
                1 => Value::Is(*s.values.add(at)),
                0 => Value::Missing,
                _ => Value::Unparsed,
            }
        }
    }

    /// The number of a slot of type double.
    #[inline]
    pub fn double(&self, slot: u32, record: u32) -> Value<f64> {
        match self.bits(slot, record) {
            Value::Is(n) => Value::Is(f64::from_bits(n)),
            Value::Missing => Value::Missing,
            Value::Unparsed => Value::Unparsed,
        }
    }

    /// The number of a slot of type int32 or int64.
    #[inline]
    pub fn int(&self, slot: u32, record: u32) -> Value<i64> {
        match self.bits(slot, record) {
            Value::Is(n) => Value::Is(n as i64),
            Value::Missing => Value::Missing,
            Value::Unparsed => Value::Unparsed,
        }
    }

    /// The value of a slot of type boolean.
    #[inline]
    pub fn boolean(&self, slot: u32, record: u32) -> Value<bool> {
        match self.bits(slot, record) {
            Value::Is(n) => Value::Is(n != 0),
            Value::Missing => Value::Missing,
            Value::Unparsed => Value::Unparsed,
        }
    }

    /// The body of a message, cut at the manifest's `body_cap`; `None` if the manifest doesn't need `body`.
    #[inline]
    pub fn body(&self, record: u32) -> Option<&[u8]> {
        unsafe {
            let at = (*self.header).bodies;
            if at == 0 || record >= self.len() {
                return None;
            }
            let [at, length] = *(self.base.add(at as usize) as *const [u32; 2]).add(record as usize);
            Some(self.bytes(at, length))
        }
    }
}

#[link(wasm_import_module = "mqf_v1")]
extern "C" {
    #[link_name = "need_prop"]
    fn host_need_prop(name: *const u8, length: u32, kind: i32) -> i32;
    #[link_name = "log"]
    fn host_log(level: i32, text: *const u8, length: u32);
}

/// Asks for a property, in `start` only. Returns its slot; `None` when there are too many.
pub fn need_prop(name: &[u8], kind: Type) -> Option<u32> {
    let n = unsafe { host_need_prop(name.as_ptr(), name.len() as u32, kind as i32) };
    if n < 0 {
        None
    } else {
        Some(n as u32)
    }
}

/// The levels of [`log`].
#[derive(Clone, Copy)]
pub enum Level {
    Debug = -1,
    Info = 0,
    Warn = 1,
    Error = 2,
}

/// Writes a line to the broker's log: some tens a second at most, the rest is counted.
pub fn log(level: Level, text: &str) {
    unsafe { host_log(level as i32, text.as_ptr(), text.len() as u32) }
}

/// A place for what an instance keeps. One call at a time runs in an instance.
#[doc(hidden)]
pub struct State<T>(pub UnsafeCell<T>);

unsafe impl<T> Sync for State<T> {}

static LAST_ERROR: State<&'static str> = State(UnsafeCell::new(""));
static AREA: State<(u32, u32)> = State(UnsafeCell::new((0, 0)));

#[doc(hidden)]
pub fn refuse(e: Error) -> i32 {
    fail(-4, e.0)
}

pub(crate) fn fail(code: i32, why: &'static str) -> i32 {
    unsafe { *LAST_ERROR.0.get() = why };
    code
}

/// Judges all messages of a batch and writes the three bitmaps, 64 verdicts at a time.
///
/// # Safety
/// The broker calls it with a batch and the place for the results behind it.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn judge<F: Filter>(filter: &F, batch: &Batch, out: *mut u64) -> i32 {
    let n = batch.len();
    let words = (n as usize + 63) / 64;
    for w in 0..words {
        let (mut is_true, mut is_unknown, mut is_raise) = (0u64, 0u64, 0u64);
        let from = w as u32 * 64;
        let to = core::cmp::min(from + 64, n);
        for i in from..to {
            let bit = 1u64 << (i & 63);
            match filter.each(batch, i) {
                Verdict::False => {}
                Verdict::True => is_true |= bit,
                Verdict::Unknown => is_unknown |= bit,
                Verdict::Raise => is_raise |= bit,
            }
        }
        *out.add(w) = is_true;
        *out.add(words + w) = is_unknown;
        *out.add(2 * words + w) = is_raise;
    }
    n as i32
}

/// Fresh pages hold the batches, safe beside any allocator.
#[no_mangle]
pub extern "C" fn mqf_buffer(size: u32) -> u32 {
    let area = unsafe { &mut *AREA.0.get() };
    if size <= area.1 {
        return area.0;
    }
    let pages = (size as usize + 65535) / 65536;
    let at = core::arch::wasm32::memory_grow(0, pages);
    if at == usize::MAX {
        return 0;
    }
    *area = ((at * 65536) as u32, (pages * 65536) as u32);
    area.0
}

#[no_mangle]
pub extern "C" fn mqf_abi_1() {}

#[no_mangle]
pub extern "C" fn mqf_error() -> u64 {
    let s = unsafe { *LAST_ERROR.0.get() };
    (s.as_ptr() as u64) << 32 | s.len() as u64
}

/// Makes the exports of a filter.
#[macro_export]
macro_rules! filter {
    ($filter:ty) => {
        static MQF_FILTER: $crate::State<Option<$filter>> = $crate::State(core::cell::UnsafeCell::new(None));

        /// # Safety
        /// Only the broker calls it.
        #[no_mangle]
        pub unsafe extern "C" fn mqf_init(config: *const u8, length: u32) -> i32 {
            let batch = match $crate::Batch::open(config, length) {
                Ok(b) => b,
                Err(code) => return code,
            };
            match <$filter as $crate::Filter>::start(&batch) {
                Ok(f) => {
                    *MQF_FILTER.0.get() = Some(f);
                    0
                }
                Err(e) => $crate::refuse(e),
            }
        }

        /// # Safety
        /// Only the broker calls it.
        #[no_mangle]
        pub unsafe extern "C" fn mqf_filter(batch: *const u8, length: u32, out: *mut u64) -> i32 {
            let batch = match $crate::Batch::open(batch, length) {
                Ok(b) => b,
                Err(code) => return code,
            };
            match &*MQF_FILTER.0.get() {
                Some(f) => $crate::judge(f, &batch, out),
                None => -1,
            }
        }
    };
}

/// Puts a manifest into the module. The path is as in `include_bytes!`.
#[macro_export]
macro_rules! manifest {
    ($file:expr) => {
        #[used]
        #[link_section = "mqf.manifest"]
        static MQF_MANIFEST: [u8; include_bytes!($file).len()] = *include_bytes!($file);
    };
}
