//! Functions for SQL92 expressions: `wasm.NAME.FUNCTION(...)`.
use crate::{Batch, Type, Value, SLOTS};

/// A failure to compute a value: the message doesn't match, as with text where a number is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raise;

/// What an argument can be: `f64` (double), `i64` (int64), `i32` (int32), `bool` (boolean) or `&[u8]` (text), and an `Option` of
/// these, which takes a missing one as `None` if the manifest says `"nulls": "called"`. Elsewhere a missing argument makes the
/// value unknown, and one that is no value of its type raises.
pub trait Argument<'a>: Sized {
    #[doc(hidden)]
    const TYPE: Type;
    #[doc(hidden)]
    fn read(batch: &'a Batch, slot: u32, record: u32) -> Value<Self>;
}

macro_rules! argument {
    ($t:ty, $kind:ident, $read:ident, $convert:expr) => {
        impl<'a> Argument<'a> for $t {
            const TYPE: Type = Type::$kind;
            #[inline(always)]
            fn read(batch: &'a Batch, slot: u32, record: u32) -> Value<$t> {
                match batch.$read(slot, record) {
                    Value::Is(x) => Value::Is($convert(x)),
                    Value::Missing => Value::Missing,
                    Value::Unparsed => Value::Unparsed,
                }
            }
        }
    };
}

argument!(f64, Double, double, |x| x);
argument!(i64, Int64, int, |x| x);
argument!(i32, Int32, int, |x| x as i32);
argument!(bool, Boolean, boolean, |x| x);

impl<'a> Argument<'a> for &'a [u8] {
    const TYPE: Type = Type::Text;
    #[inline(always)]
    fn read(batch: &'a Batch, slot: u32, record: u32) -> Value<&'a [u8]> {
        match batch.text(slot, record) {
            Some(t) => Value::Is(t),
            None => Value::Missing,
        }
    }
}

impl<'a, T: Argument<'a>> Argument<'a> for Option<T> {
    const TYPE: Type = T::TYPE;
    #[inline(always)]
    fn read(batch: &'a Batch, slot: u32, record: u32) -> Value<Option<T>> {
        match T::read(batch, slot, record) {
            Value::Is(x) => Value::Is(Some(x)),
            Value::Missing => Value::Is(None),
            Value::Unparsed => Value::Unparsed,
        }
    }
}

/// The value of a function for one message.
#[doc(hidden)]
pub enum Answer {
    Boolean(bool),
    Bits(u64),
    Unknown,
    Raise,
}

/// What a result can be: `bool` (boolean), `i64` (int64) or `f64` (double), an `Option` of these, where `None` is unknown, and a
/// `Result` of any of these with [`Raise`].
pub trait Returned {
    #[doc(hidden)]
    const BOOLEAN: bool;
    #[doc(hidden)]
    fn answer(self) -> Answer;
}

impl Returned for bool {
    const BOOLEAN: bool = true;
    #[inline(always)]
    fn answer(self) -> Answer {
        Answer::Boolean(self)
    }
}

impl Returned for i64 {
    const BOOLEAN: bool = false;
    #[inline(always)]
    fn answer(self) -> Answer {
        Answer::Bits(self as u64)
    }
}

impl Returned for f64 {
    const BOOLEAN: bool = false;
    #[inline(always)]
    fn answer(self) -> Answer {
        Answer::Bits(if self.is_nan() { 0x7ff8_0000_0000_0000 } else { self.to_bits() })
    }
}

impl<T: Returned> Returned for Option<T> {
    const BOOLEAN: bool = T::BOOLEAN;
    #[inline(always)]
    fn answer(self) -> Answer {
        match self {
            Some(x) => x.answer(),
            None => Answer::Unknown,
        }
    }
}

impl<T: Returned> Returned for Result<T, Raise> {
    const BOOLEAN: bool = T::BOOLEAN;
    #[inline(always)]
    fn answer(self) -> Answer {
        match self {
            Ok(x) => x.answer(),
            Err(Raise) => Answer::Raise,
        }
    }
}

/// A function of up to eight arguments. `A` is the tuple of their types.
#[doc(hidden)]
pub trait Function<'a, A> {
    const TYPES: &'static [Type];
    const BOOLEAN: bool;
    fn at(&self, batch: &'a Batch, record: u32) -> Answer;
}

macro_rules! function {
    ($($t:ident $n:literal),*) => {
        impl<'a, F, R: Returned, $($t: Argument<'a>),*> Function<'a, ($($t,)*)> for F
        where
            F: Fn($($t),*) -> R,
        {
            const TYPES: &'static [Type] = &[$($t::TYPE),*];
            const BOOLEAN: bool = R::BOOLEAN;
            #[inline(always)]
            #[allow(non_snake_case, unused_variables)]
            fn at(&self, batch: &'a Batch, record: u32) -> Answer {
                $(
                    let $t = match $t::read(batch, $n, record) {
                        Value::Is(x) => x,
                        Value::Missing => return Answer::Unknown,
                        Value::Unparsed => return Answer::Raise,
                    };
                )*
                self($($t),*).answer()
            }
        }
    };
}

function!();
function!(A 0);
function!(A 0, B 1);
function!(A 0, B 1, C 2);
function!(A 0, B 1, C 2, D 3);
function!(A 0, B 1, C 2, D 3, E 4);
function!(A 0, B 1, C 2, D 3, E 4, G 5);
function!(A 0, B 1, C 2, D 3, E 4, G 5, H 6);
function!(A 0, B 1, C 2, D 3, E 4, G 5, H 6, I 7);

/// Computes the values of all messages of a batch.
///
/// # Safety
/// The broker calls it with a batch, and with `cap` cleared bytes at `out` behind it.
#[doc(hidden)]
pub unsafe fn call<'a, A, F: Function<'a, A>>(f: &F, batch: &'a Batch, out: *mut u8, cap: u32) -> i32 {
    let n = batch.len() as usize;
    let words = (n + 63) / 64;
    let column = (n + 7) & !7;
    if (cap as usize) < if F::BOOLEAN { 24 * words } else { column + 8 * n } {
        return crate::fail(-5, "no room for the values");
    }
    if !batch.has(F::TYPES) {
        return crate::fail(-2, "the arguments aren't of the types that the manifest must say");
    }
    for i in 0..n {
        let (set, bits) = match f.at(batch, i as u32) {
            Answer::Boolean(false) => continue,
            Answer::Boolean(true) => (0, 0),
            Answer::Bits(x) => (0, x),
            Answer::Unknown => (1, 0),
            Answer::Raise => (2, 0),
        };
        if F::BOOLEAN {
            *out.add(8 * words * set + i / 8) |= 1 << (i & 7);
        } else {
            *out.add(i) = [1, 0, 2][set]; // the statuses: a value, missing, no value
            *(out.add(column) as *mut u64).add(i) = bits;
        }
    }
    n as i32
}

#[doc(hidden)]
pub fn no_function() -> i32 {
    crate::fail(-6, "there is no such function")
}

impl Batch {
    fn has(&self, types: &[Type]) -> bool {
        types.len() == unsafe { (*self.header).slots } as usize
            && types.len() <= SLOTS
            && self.slots.iter().zip(types).all(|(s, t)| s.kind == *t as u8 && s.texts.is_null() == (*t != Type::Text))
    }
}

/// Makes the export of a library of functions, which SQL92 expressions call: `wasm.NAME.FUNCTION(...)`. Their numbers in the
/// manifest are their places here, from 0; types are those of the manifest.
///
/// ```ignore
/// fn within(lat: f64, lon: f64, city: &[u8]) -> Option<bool> { … }
/// fn share(customer: Option<&[u8]>, of: i64) -> Result<i64, Raise> { … }
///
/// mqf::manifest!("manifest.json");
/// mqf::functions!(within, share);
/// ```
#[macro_export]
macro_rules! functions {
    ($($function:path),+ $(,)?) => {
        /// # Safety
        /// Only the broker calls it.
        #[no_mangle]
        pub unsafe extern "C" fn mqf_call(function: u32, batch: *const u8, length: u32, out: *mut u8, cap: u32) -> i32 {
            let batch = match $crate::Batch::open(batch, length) {
                Ok(b) => b,
                Err(code) => return code,
            };
            let mut number = 0;
            $(
                if function == number {
                    return $crate::call(&$function, &batch, out, cap);
                }
                number += 1;
            )+
            let _ = number;
            $crate::no_function()
        }
    };
}
