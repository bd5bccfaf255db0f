//! How many connections come from one address, so that one machine cannot take all there are.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// Connections that are open, by where they come from.
#[derive(Clone)]
pub struct Neighbours {
    most: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One of them, as long as it is open.
pub struct Seat {
    place: IpAddr,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Neighbours {
    /// At most so many of each address.
    pub fn new(most: usize) -> Neighbours {
        Neighbours { most, open: Arc::default() }
    }

    /// At most so many of each address.
    pub fn most(&self) -> usize {
        self.most
    }

    /// A connection more, or nothing where there are enough of this address.
    pub fn admit(&self, address: IpAddr) -> Option<Seat> {
        let place = place(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(place).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Seat { place, open: self.open.clone() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.place) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.place);
            }
        }
    }
}

/// What one machine has: an address, of the newer kind half of one.
fn place(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address @ (IpAddr::V4(_) | IpAddr::V6(_)) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_machine_takes_its_own_seats_and_no_others() {
        let neighbours = Neighbours::new(2);
        let admit = |address: &str| neighbours.admit(address.parse().unwrap());
        let seats = [admit("10.0.0.1"), admit("::ffff:10.0.0.1")];
        assert!(seats.iter().all(Option::is_some) && admit("10.0.0.1").is_none());
        assert!(admit("10.0.0.2").is_some(), "another machine");
        let [first, _second] = seats;
        drop(first);
        assert!(admit("10.0.0.1").is_some(), "a seat is free again");
        let newer = [admit("2001:db8::1"), admit("2001:db8::2:1")];
        assert!(newer.iter().all(Option::is_some) && admit("2001:db8::ffff:1").is_none(), "one network of one machine");
        assert!(admit("2001:db8:0:1::1").is_some());
        drop(newer);
        assert!(neighbours.open.lock().unwrap().keys().all(IpAddr::is_ipv4), "nothing is left of those who went");
    }
}
