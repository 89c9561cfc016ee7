//! threshold: a property, read as a number, is above a limit. Which property and which limit are settings.
use mqf::{Batch, Error, Filter, Type, Value, Verdict};

struct Threshold {
    slot: u32,
    limit: f64,
}

impl Filter for Threshold {
    fn start(config: &Batch) -> Result<Self, Error> {
        let limit = match config.double(1, 0) {
            Value::Is(n) => n,
            _ => return Err(Error("limit is missing")),
        };
        let property = config.text(0, 0).ok_or(Error("property is missing"))?;
        let slot = mqf::need_prop(property, Type::Double).ok_or(Error("property can't be read"))?;
        Ok(Threshold { slot, limit })
    }

    fn each(&self, batch: &Batch, record: u32) -> Verdict {
        match batch.double(self.slot, record) {
            Value::Missing => Verdict::Unknown,
            Value::Unparsed => Verdict::Raise,
            Value::Is(n) => (n > self.limit).into(),
        }
    }
}

mqf::manifest!("../manifest.json");
mqf::filter!(Threshold);
