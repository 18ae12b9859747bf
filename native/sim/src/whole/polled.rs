//! What the answer to a poll may say.

use super::asked::Poll;
use super::model::{Model, Standing};
use super::reply;
use super::request::From;

impl Poll {
    /// Holds the answer against what was known when the poll was asked, and against what is known now.
    pub(super) fn polled(&self, body: &[u8], model: &mut Model) -> Result<(), String> {
        let polled = reply::polled(body)?;
        if model.topic(self.place.topic).standing == Standing::Gone || !model.must_exist(self.place) {
            return Ok(());
        }
        model.learn_all(&format!("a poll {:?}", self.from), self.place, &polled.messages, true)?;
        let first = polled.messages.first().map(|(offset, _)| *offset);
        let last = polled.messages.last().map(|(offset, _)| *offset);
        if let Some(last) = last {
            model.read_to = last + 1;
        }
        let gaps = model.partition(self.place).map(|partition| &partition.gaps);
        let mut offsets = polled.messages.iter().map(|(offset, _)| *offset);
        let gone = gaps.and_then(|gaps| offsets.find(|offset| gaps.had(*offset, self.asked)));
        if let Some(gone) = gone {
            return Err(format!("a rewritten segment left offset {gone} out, and it is there again"));
        }
        if let Some(first) = first.filter(|first| *first < self.begins_at) {
            return Err(format!("offset {first} was gone, and is there again"));
        }
        if let Some(readable_to) = self.readable_to {
            self.check(first, polled.current_offset, readable_to, model)?;
        }
        if let Some(last) = last.filter(|_| self.auto_commit)
            && let Some(partition) = model.partition_mut(self.place)
        {
            let stored = partition.consumers.entry(self.consumer).or_default();
            stored.may_be(last);
            stored.store(last, false);
        }
        Ok(())
    }

    /// Whether more messages were there for certain, from an offset on, than the poll asked for.
    fn has_more(&self, first: u64, readable_to: u64, model: &Model) -> bool {
        let offsets = (readable_to + 1).saturating_sub(first);
        let gaps = model.partition(self.place).map(|partition| &partition.gaps);
        let left_out = gaps.map_or(0, |gaps| gaps.count(first..readable_to + 1));
        offsets > left_out + u64::from(self.count)
    }

    /// Something could be read before.
    fn check(
        &self,
        first: Option<u64>,
        current_offset: u64,
        readable_to: u64,
        model: &mut Model,
    ) -> Result<(), String> {
        if current_offset < readable_to {
            return Err(format!("the log ends at {current_offset}, and was at {readable_to}"));
        }
        let first = first.unwrap_or(current_offset + 1);
        let wanted = match self.from {
            From::Offset(offset) if offset > readable_to => return Ok(()),
            From::Offset(offset) => offset,
            From::First => 0,
            From::Last if self.has_more(first, readable_to, model) => {
                return Err(format!("the last {} begin at {first}, and ended at {readable_to}", self.count));
            }
            // The log may have grown since the poll began: it begins there at most.
            From::Last => first.min((current_offset + 1).saturating_sub(self.count.into())),
            From::Next | From::Timestamp(_) => return Ok(()),
        };
        if first < wanted {
            return Err(format!("offset {wanted} was asked for, and {first} came"));
        }
        if first > wanted { model.front_is_at(self.place, wanted, first) } else { Ok(()) }
    }
}
