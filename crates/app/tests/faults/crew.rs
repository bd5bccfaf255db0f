//! Services and workers of one store, and what is left to see once they are gone.

use crate::served::{Load, Service, enrolled};
use crate::site::{LATER, Site};
use std::process::{Child, Stdio};

/// Services, and workers beside them.
pub const SERVICES: usize = 2;
pub const WORKERS: usize = 2;

/// Connections that propose at once.
pub const CONNECTIONS: usize = 16;

pub struct Crew<'s> {
    site: &'s Site,
    services: Vec<Service>,
    workers: Vec<Child>,
}

impl<'s> Crew<'s> {
    /// On a new store; with the load that asks its services.
    pub fn start(site: &'s Site) -> (Crew<'s>, Load<'s>) {
        let first = Service::start(site);
        let token = enrolled(site, &first);
        let mut services = vec![first];
        services.extend((1..SERVICES).map(|_| Service::start(site)));
        let workers = (0..WORKERS).map(|_| worker(site)).collect();
        let load = Load::on(site, services.iter().map(|service| service.address).collect(), token);
        (Crew { site, services, workers }, load)
    }

    /// Services have to live through what happens to others.
    pub fn demand_services(&mut self) {
        self.services.iter_mut().for_each(|service| service.demand_alive(self.site));
    }

    /// Everything has to: so do workers that were not just starting when the database went away.
    pub fn demand_alive(&mut self) {
        self.demand_services();
        for worker in &mut self.workers {
            let ended = worker.try_wait().unwrap();
            let said = std::fs::read_to_string(self.site.path("worker.err")).unwrap_or_default();
            assert!(ended.is_none(), "a worker ended by itself with {ended:?}: {said}");
        }
    }

    /// A service dies, and another one takes its place.
    pub fn replace_service(&mut self, place: usize, load: &Load<'_>) {
        self.services[place].kill();
        self.services[place] = Service::start(self.site);
        load.replace(place, self.services[place].address);
    }

    /// A worker dies, and another one takes its place.
    pub fn replace_worker(&mut self, place: usize) {
        kill(&mut self.workers[place]);
        self.workers[place] = worker(self.site);
    }

    /// Kills them all, as dropping them does.
    pub fn kill_all(self) {}
}

impl Drop for Crew<'_> {
    /// Also where a test fails: what it leaves behind would go on for ever.
    fn drop(&mut self) {
        self.services.iter_mut().for_each(Service::kill);
        self.workers.iter_mut().for_each(kill);
    }
}

/// A process that does not outlive the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        kill(&mut self.0);
    }
}

fn worker(site: &Site) -> Child {
    let said = std::fs::File::options().create(true).append(true).open(site.path("worker.err")).unwrap();
    site.performing(&["--threads", "4"]).stdout(Stdio::null()).stderr(said).spawn().unwrap()
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Lets everything end that ends by itself, and checks the whole history; what there was, in words, and how many entries.
pub fn judged(site: &Site) -> (String, u64) {
    site.heal(LATER);
    let (history, broken, code) = site.judge_settled();
    let unknown = history.calls.iter().filter(|call| call["status"] == "unknown").count();
    let calls = history.calls.len() - unknown;
    let (effects, size) = (site.effects(), history.size);
    assert_eq!(broken, []);
    (format!("{calls} calls answered and {unknown} not, {effects} effects, {size} entries, verify {code}"), size)
}
