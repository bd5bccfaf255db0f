//! What keys do. Nothing here draws or reads a store: an event in, what is asked for out.

use super::picture::{Opened, Picture};
use crate::hint;
use kernel::escalation::HumanDecision;
use kernel::finding::visible;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use values::ids::Digest;

/// Longest reason, as on the command line.
const REASON_CHARS_MAX: usize = 1_000;

/// Lines that a page key moves.
const PAGE: usize = 10;

/// Where the person is.
pub enum Place {
    /// Before the lists.
    Watching,
    /// Before one question.
    Reading,
    /// Saying why.
    Writing(HumanDecision, String),
    /// Asked whether that is meant.
    Confirming(HumanDecision, String),
    /// Told what came of it.
    Told(Vec<String>),
}

/// Everything that is shown.
pub struct Screen {
    /// What there is.
    pub picture: Picture,
    /// Why it may be old.
    pub problem: Option<String>,
    /// Who answers.
    pub person: Option<String>,
    /// Where the person is.
    pub place: Place,
    /// The question the person looks at.
    pub opened: Option<Opened>,
    /// A word about the last key.
    pub hint: Option<String>,
    /// How far the question is scrolled.
    pub scroll: usize,
    /// How far it can be; known once it was drawn.
    pub scroll_max: usize,
    /// Whether its last line was on the screen.
    pub read_to_end: bool,
    selected: Option<String>,
    stale: bool,
}

/// The keys that do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Press {
    Letter(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Other,
}

impl Press {
    fn of(key: &KeyEvent) -> Press {
        const NAMED: [(KeyCode, Press); 9] = [
            (KeyCode::Enter, Press::Enter),
            (KeyCode::Esc, Press::Escape),
            (KeyCode::Backspace, Press::Backspace),
            (KeyCode::Up, Press::Up),
            (KeyCode::Down, Press::Down),
            (KeyCode::PageUp, Press::PageUp),
            (KeyCode::PageDown, Press::PageDown),
            (KeyCode::Home, Press::Home),
            (KeyCode::End, Press::End),
        ];
        if let KeyCode::Char(letter) = key.code {
            // With Ctrl or Alt a letter is no letter that somebody wrote.
            let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
            return if is_plain { Press::Letter(letter) } else { Press::Other };
        }
        NAMED.iter().find(|(code, _)| *code == key.code).map_or(Press::Other, |(_, press)| *press)
    }
}

/// What someone else has to do now.
pub enum Asked {
    Nothing,
    Quit,
    /// Read the question.
    Open(String),
    /// The question whether that is meant is about to be shown.
    Confirm,
    /// Give the answer.
    Send(Answer),
}

/// An answer as it was confirmed.
pub struct Answer {
    pub person: String,
    pub question: String,
    pub decision: HumanDecision,
    pub digest: Digest,
    pub reason: String,
}

impl Screen {
    /// The first picture, nothing opened.
    pub fn new(picture: Picture, person: Option<String>) -> Screen {
        let selected = picture.questions.first().map(|line| line.name.clone());
        Screen {
            picture,
            problem: None,
            person,
            place: Place::Watching,
            opened: None,
            hint: None,
            scroll: 0,
            scroll_max: 0,
            read_to_end: false,
            selected,
            stale: false,
        }
    }

    /// Another picture; the selected question stays selected wherever it stands now.
    pub fn see(&mut self, picture: anyhow::Result<Picture>) {
        self.stale = false;
        match picture {
            Ok(picture) => {
                let place = self.selected_place();
                self.picture = picture;
                self.problem = None;
                if self.selected_place().is_none() {
                    let last = self.picture.questions.len().saturating_sub(1);
                    let next = self.picture.questions.get(place.unwrap_or(0).min(last));
                    self.selected = next.map(|line| line.name.clone());
                }
            }
            Err(problem) => self.problem = Some(visible(&format!("{problem:#}"))),
        }
    }

    /// Whether something happened that the picture does not show yet.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// Which line is selected.
    pub fn selected_place(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.picture.questions.iter().position(|line| line.name == *selected)
    }

    /// The question was read.
    pub fn open(&mut self, opened: Opened) {
        self.opened = Some(opened);
        (self.scroll, self.scroll_max, self.read_to_end) = (0, 0, false);
        self.place = Place::Reading;
    }

    /// Something came of it.
    pub fn tell(&mut self, lines: Vec<String>) {
        self.place = Place::Told(lines.iter().map(|line| visible(line)).collect());
        self.stale = true;
    }

    /// What a key, or anything else that happened to the terminal, asks for.
    pub fn on(&mut self, event: &Event) -> Asked {
        let Event::Key(key) = event else { return Asked::Nothing };
        if key.kind == KeyEventKind::Release {
            return Asked::Nothing;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Asked::Quit;
        }
        self.hint = None;
        match std::mem::replace(&mut self.place, Place::Watching) {
            Place::Watching => self.watching(key),
            Place::Reading => self.reading(key),
            Place::Writing(decision, reason) => self.writing(key, decision, reason),
            Place::Confirming(decision, reason) => self.confirming(key, decision, reason),
            Place::Told(_) => {
                self.opened = None;
                Asked::Nothing
            }
        }
    }

    fn watching(&mut self, key: &KeyEvent) -> Asked {
        let key = Press::of(key);
        let place = self.selected_place().unwrap_or(0);
        let select = |screen: &mut Screen, place: usize| {
            let last = screen.picture.questions.len().saturating_sub(1);
            screen.selected = screen.picture.questions.get(place.min(last)).map(|line| line.name.clone());
            Asked::Nothing
        };
        match key {
            Press::Letter('q') | Press::Escape => Asked::Quit,
            Press::Down | Press::Letter('j') => select(self, place + 1),
            Press::Up | Press::Letter('k') => select(self, place.saturating_sub(1)),
            Press::PageDown => select(self, place + PAGE),
            Press::PageUp => select(self, place.saturating_sub(PAGE)),
            Press::Enter => self.selected.clone().map_or(Asked::Nothing, Asked::Open),
            Press::Letter(_) | Press::Backspace | Press::Home | Press::End | Press::Other => Asked::Nothing,
        }
    }

    fn reading(&mut self, key: &KeyEvent) -> Asked {
        self.place = Place::Reading;
        match Press::of(key) {
            Press::Letter('q') | Press::Escape => {
                self.place = Place::Watching;
                self.opened = None;
            }
            Press::Down | Press::Letter('j') => self.scroll = (self.scroll + 1).min(self.scroll_max),
            Press::Up | Press::Letter('k') => self.scroll = self.scroll.saturating_sub(1),
            Press::PageDown | Press::Letter(' ') => self.scroll = (self.scroll + PAGE).min(self.scroll_max),
            Press::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
            Press::End => self.scroll = self.scroll_max,
            Press::Home => self.scroll = 0,
            // Approve and deny are the same under the words that more people know.
            Press::Letter('o' | 'p') => self.begin(HumanDecision::Override),
            Press::Letter('a' | 'd') => self.begin(HumanDecision::Abort),
            Press::Letter('m') => {
                let name = self.opened.as_ref().map(|opened| visible(&opened.name)).unwrap_or_default();
                let command =
                    format!("writkeeper escalations answer {name} modify --instead FILE --as YOU --because …");
                self.hint = Some(format!("another proposal takes a file: {}", hint::next(&command)));
            }
            Press::Letter(_) | Press::Enter | Press::Backspace | Press::Other => {}
        }
        Asked::Nothing
    }

    /// Begins an answer, or says why there can be none.
    fn begin(&mut self, decision: HumanDecision) {
        let elsewhere = self.opened.as_ref().and_then(|opened| opened.elsewhere.clone());
        if elsewhere.is_some() {
            self.hint = elsewhere;
        } else if self.person.is_none() {
            self.hint = Some(format!("to answer, say who you are: {}", hint::next("writkeeper top --as YOU")));
        } else if decision == HumanDecision::Override && !self.read_to_end {
            self.hint = Some("read to the end first: Space, then o".to_owned());
        } else {
            self.place = Place::Writing(decision, String::new());
        }
    }

    fn writing(&mut self, key: &KeyEvent, decision: HumanDecision, mut reason: String) -> Asked {
        match Press::of(key) {
            Press::Escape => {
                self.place = Place::Reading;
                return Asked::Nothing;
            }
            Press::Enter if reason.trim().is_empty() => self.hint = Some("say why".to_owned()),
            Press::Enter => {
                self.place = Place::Confirming(decision, reason.trim().to_owned());
                return Asked::Confirm;
            }
            Press::Backspace => _ = reason.pop(),
            Press::Letter(letter) => {
                if reason.chars().count() < REASON_CHARS_MAX && !values::ids::is_deceptive(letter) {
                    reason.push(letter);
                }
            }
            Press::Up | Press::Down | Press::PageUp | Press::PageDown | Press::Home | Press::End | Press::Other => {}
        }
        self.place = Place::Writing(decision, reason);
        Asked::Nothing
    }

    fn confirming(&mut self, key: &KeyEvent, decision: HumanDecision, reason: String) -> Asked {
        self.place = Place::Reading;
        let (Some(opened), Some(person)) = (&self.opened, &self.person) else { return Asked::Nothing };
        if Press::of(key) != Press::Letter('y') {
            self.hint = Some("nothing was sent".to_owned());
            return Asked::Nothing;
        }
        let (person, question, digest) = (person.clone(), opened.name.clone(), opened.digest);
        Asked::Send(Answer { person, question, decision, digest, reason })
    }
}
