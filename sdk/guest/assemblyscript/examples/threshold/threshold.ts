// threshold: a property, read as a number, is above a limit. Which property and which limit are settings.
import { Batch, Filter, Status, Type, Verdict, judge, needProp, start } from "../../mqf";
export { mqf_abi_1, mqf_buffer, mqf_error } from "../../mqf";

@final
class Threshold extends Filter {
  private limit: f64 = 0;
  private slot: u32 = 0;

  start(config: Batch): string {
    if (config.status(1, 0) != Status.Value) return "limit is missing";
    this.limit = config.double(1, 0);
    const slot = needProp(config.textAt(0, 0), config.textLength(0, 0), Type.Double);
    if (slot < 0) return "property can't be read";
    this.slot = slot;
    return "";
  }

  each(batch: Batch, i: u32): Verdict {
    const status = batch.status(this.slot, i);
    if (status == Status.Missing) return Verdict.Unknown;
    if (status == Status.Unparsed) return Verdict.Raise;
    return batch.double(this.slot, i) > this.limit ? Verdict.True : Verdict.False;
  }
}

const filter = new Threshold();

export function mqf_init(config: usize, length: u32): i32 {
  return start<Threshold>(filter, config, length);
}

export function mqf_filter(batch: usize, length: u32, out: usize): i32 {
  return judge<Threshold>(filter, batch, length, out);
}
