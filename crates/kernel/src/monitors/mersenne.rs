//! The Mersenne Twister (MT19937) and drawing without replacement from it, as Python's `random` does both: a seed gives
//! the draws that the published detectors are compared by.

use super::Slots;

const SIZE: usize = 624;
const SHIFT: usize = 397;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Mersenne {
    words: Vec<u32>,
    next: usize,
}

impl Mersenne {
    /// From the 32-bit digits of a seed, lowest first.
    pub(super) fn new(seed: u64) -> Mersenne {
        let (low, high) = (low_word(seed), low_word(seed >> 32));
        let key: &[u32] = if high == 0 { &[low] } else { &[low, high] };
        let mut words = vec![19_650_218_u32];
        for place in 1..SIZE {
            let before = words.last().copied().unwrap_or_default();
            let mixed = (before ^ (before >> 30)).wrapping_mul(1_812_433_253);
            words.push(mixed.wrapping_add(u32::try_from(place).unwrap_or_default()));
        }
        let mut made = Mersenne { words, next: SIZE };
        let mut place = 1;
        for (offset, digit) in (0_u32..).zip(key).cycle().take(SIZE) {
            made.stir(place, 1_664_525, |mixed| mixed.wrapping_add(*digit).wrapping_add(offset));
            place = made.advance(place);
        }
        for _ in 1..SIZE {
            let offset = u32::try_from(place).unwrap_or_default();
            made.stir(place, 1_566_083_941, |mixed| mixed.wrapping_sub(offset));
            place = made.advance(place);
        }
        made.set(0, 0x8000_0000);
        made
    }

    fn word(&self, place: usize) -> u32 {
        self.words.get(place % SIZE).copied().unwrap_or_default()
    }

    fn set(&mut self, place: usize, word: u32) {
        if let Some(slot) = self.words.get_mut(place % SIZE) {
            *slot = word;
        }
    }

    fn stir(&mut self, place: usize, factor: u32, add: impl Fn(u32) -> u32) {
        let before = self.word(place + SIZE - 1);
        let mixed = self.word(place) ^ (before ^ (before >> 30)).wrapping_mul(factor);
        self.set(place, add(mixed));
    }

    /// The next place; behind the last one the first word takes over what the last one was.
    fn advance(&mut self, place: usize) -> usize {
        if place + 1 < SIZE {
            return place + 1;
        }
        let last = self.word(SIZE - 1);
        self.set(0, last);
        1
    }

    fn draw(&mut self) -> u32 {
        if self.next >= SIZE {
            for place in 0..SIZE {
                let mixed = (self.word(place) & 0x8000_0000) | (self.word(place + 1) & 0x7fff_ffff);
                let odd = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
                self.set(place, self.word(place + SHIFT) ^ (mixed >> 1) ^ odd);
            }
            self.next = 0;
        }
        let mut word = self.word(self.next);
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// A number below a bound that is above 0, each equally likely.
    fn below(&mut self, bound: u32) -> u32 {
        let shift = bound.leading_zeros();
        loop {
            let drawn = self.draw() >> shift;
            if drawn < bound {
                return drawn;
            }
        }
    }

    /// So many different numbers below a bound.
    pub(super) fn sample(&mut self, bound: u32, count: u32) -> Vec<u32> {
        let mut room: u64 = 21;
        if count > 5 {
            let mut power: u64 = 1;
            while power < u64::from(count) * 3 {
                power *= 4;
            }
            room += power;
        }
        if u64::from(bound) <= room { self.draw_pool(bound, count) } else { self.draw_rejecting(bound, count) }
    }

    fn draw_pool(&mut self, bound: u32, count: u32) -> Vec<u32> {
        let mut pool: Vec<u32> = (0..bound).collect();
        (0..count.min(bound)).map(|drawn| pool.swap_remove(self.below(bound - drawn) as usize)).collect()
    }

    fn draw_rejecting(&mut self, bound: u32, count: u32) -> Vec<u32> {
        let mut drawn = Vec::new();
        while drawn.len() < count.min(bound) as usize {
            let number = self.below(bound);
            if !drawn.contains(&number) {
                drawn.push(number);
            }
        }
        drawn
    }

    pub(super) fn save(&self, slots: &mut Slots) {
        slots.count(self.next as u64);
        self.words.iter().for_each(|word| slots.count(u64::from(*word)));
    }

    pub(super) fn load(&mut self, slots: &mut Slots) -> Option<()> {
        self.next = usize::try_from(slots.next_length(SIZE as u64)?).ok()?;
        for word in &mut self.words {
            *word = u32::try_from(slots.next_count()?).ok()?;
        }
        Some(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are what is wanted")]
fn low_word(number: u64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_draws() {
        // `random.Random(42).getrandbits(32)` three times, and the same of a seed of two digits.
        let draws = |seed: u64| {
            let mut made = Mersenne::new(seed);
            [made.draw(), made.draw(), made.draw()]
        };
        assert_eq!(draws(42), [2746317213, 478163327, 107420369]);
        assert_eq!(draws((7 << 32) + 5), [1425139611, 749932900, 1614503843]);
        assert_eq!(
            Mersenne::new(42).sample(70, 30),
            [
                14, 3, 35, 31, 28, 17, 13, 43, 47, 57, 34, 5, 37, 27, 2, 1, 58, 63, 69, 32, 38, 54, 67, 12, 45, 41, 59,
                26, 51, 65
            ]
        );
        assert_eq!(Mersenne::new(42).sample(900, 6), [654, 114, 25, 759, 281, 250]);
    }
}
