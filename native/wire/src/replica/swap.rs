//! The body of a swap: sealed segments of a partition that others take the place of.

use crate::primitive::{Malformed, Reader, put_u32, put_u64, put_u128};

/// Segments that one swap may name on each side.
pub const SWAP_SEGMENTS_MAX: usize = 1024;

const INPUT_BYTES: usize = 40;
const OUTPUT_BYTES: usize = 64;

/// A segment that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapInput {
    /// Its first offset.
    pub base_offset: u64,
    /// Its last offset.
    pub last_offset: u64,
    /// 0, or which compaction made it.
    pub generation: u32,
    /// Checksum of its footer.
    pub footer: u128,
}

/// A segment that comes: it stands for every offset from its first to its last, whether that still has a message or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapOutput {
    /// Its first offset.
    pub base_offset: u64,
    /// Its last offset.
    pub last_offset: u64,
    /// Smallest timestamp of its batches.
    pub min_timestamp: u64,
    /// Greatest timestamp of its batches.
    pub max_timestamp: u64,
    /// Bytes of its batches.
    pub bytes: u64,
    /// Which compaction made it, from 1.
    pub generation: u32,
    /// How many messages are left in it.
    pub messages: u32,
    /// Checksum of its footer.
    pub footer: u128,
}

/// A swap, checked and still in its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap<'a> {
    /// The purge generation that the segments are of.
    pub generation: u64,
    inputs: &'a [u8],
    outputs: &'a [u8],
}

impl<'a> Swap<'a> {
    pub(super) fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let generation = reader.u64()?;
        let mut count = || {
            let count = reader.u32()?;
            let few = (1..=SWAP_SEGMENTS_MAX).contains(&(count as usize));
            if few { Ok(count as usize) } else { Err(Malformed::Value(count)) }
        };
        let (inputs, outputs) = (count()?, count()?);
        let swap = Self {
            generation,
            inputs: reader.bytes(inputs * INPUT_BYTES)?,
            outputs: reader.bytes(outputs * OUTPUT_BYTES)?,
        };
        reader.finish()?;
        swap.check()?;
        Ok(swap)
    }

    /// The segments that go, ascending.
    pub fn inputs(&self) -> impl Iterator<Item = SwapInput> + 'a {
        let mut reader = Reader::new(self.inputs);
        std::iter::from_fn(move || input(&mut reader).ok())
    }

    /// The segments that come, ascending.
    pub fn outputs(&self) -> impl Iterator<Item = SwapOutput> + 'a {
        let mut reader = Reader::new(self.outputs);
        std::iter::from_fn(move || output(&mut reader).ok())
    }

    /// The last offset of the first segment that goes: the first of them that a truncation takes.
    #[must_use]
    pub fn first_ends(&self) -> u64 {
        self.inputs().next().map_or(0, |input| input.last_offset)
    }

    pub(super) fn body(&self) -> Vec<u8> {
        let mut body =
            head(self.generation, self.inputs.len() / INPUT_BYTES, self.outputs.len() / OUTPUT_BYTES);
        body.extend_from_slice(self.inputs);
        body.extend_from_slice(self.outputs);
        body
    }

    /// Each output takes the place of a run of whole inputs, and none is left over.
    fn check(&self) -> Result<(), Malformed> {
        let mut reader = Reader::new(self.inputs);
        let mut outputs = self.outputs();
        let mut run: Option<SwapOutput> = None;
        let mut last: Option<u64> = None;
        while reader.remaining() > 0 {
            let input = input(&mut reader)?;
            let ascends = last.is_none_or(|last| last < input.base_offset);
            let output = match run {
                Some(output) => output,
                None => {
                    outputs.next().filter(|output| output.base_offset == input.base_offset).ok_or(WRONG)?
                }
            };
            let fits = input.base_offset <= input.last_offset
                && input.last_offset <= output.last_offset
                && input.last_offset < u64::MAX
                && input.generation < output.generation;
            if !ascends || !fits || !is_sound(&output) {
                return Err(WRONG);
            }
            run = (input.last_offset < output.last_offset).then_some(output);
            last = Some(input.last_offset);
        }
        if run.is_none() && outputs.next().is_none() { Ok(()) } else { Err(WRONG) }
    }
}

/// What is said of a swap whose segments do not fit each other.
const WRONG: Malformed = Malformed::Value(0);

const fn is_sound(output: &SwapOutput) -> bool {
    let width = output.last_offset - output.base_offset;
    output.messages > 0
        && (output.messages as u64 - 1) <= width
        && output.bytes > 0
        && output.min_timestamp <= output.max_timestamp
}

fn input(reader: &mut Reader<'_>) -> Result<SwapInput, Malformed> {
    let (base_offset, last_offset) = (reader.u64()?, reader.u64()?);
    let generation = reader.u32()?;
    let reserved = reader.u32()?;
    if reserved != 0 {
        return Err(Malformed::Value(reserved));
    }
    Ok(SwapInput { base_offset, last_offset, generation, footer: reader.u128()? })
}

fn output(reader: &mut Reader<'_>) -> Result<SwapOutput, Malformed> {
    Ok(SwapOutput {
        base_offset: reader.u64()?,
        last_offset: reader.u64()?,
        min_timestamp: reader.u64()?,
        max_timestamp: reader.u64()?,
        bytes: reader.u64()?,
        generation: reader.u32()?,
        messages: reader.u32()?,
        footer: reader.u128()?,
    })
}

fn head(generation: u64, inputs: usize, outputs: usize) -> Vec<u8> {
    let mut body = Vec::with_capacity(16 + INPUT_BYTES * inputs + OUTPUT_BYTES * outputs);
    put_u64(&mut body, generation);
    put_u32(&mut body, u32::try_from(inputs).unwrap_or(u32::MAX));
    put_u32(&mut body, u32::try_from(outputs).unwrap_or(u32::MAX));
    body
}

/// The body of a swap.
#[must_use]
pub fn swap_body(generation: u64, inputs: &[SwapInput], outputs: &[SwapOutput]) -> Vec<u8> {
    let mut body = head(generation, inputs.len(), outputs.len());
    for input in inputs {
        put_u64(&mut body, input.base_offset);
        put_u64(&mut body, input.last_offset);
        put_u32(&mut body, input.generation);
        put_u32(&mut body, 0);
        put_u128(&mut body, input.footer);
    }
    for output in outputs {
        let fields = [output.base_offset, output.last_offset, output.min_timestamp, output.max_timestamp];
        for field in fields.into_iter().chain([output.bytes]) {
            put_u64(&mut body, field);
        }
        put_u32(&mut body, output.generation);
        put_u32(&mut body, output.messages);
        put_u128(&mut body, output.footer);
    }
    body
}
