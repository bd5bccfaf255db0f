//! What the database says about itself: whether what it acknowledges survives, read when a store is opened or examined.

use super::READ_PATIENCE;
use super::address::Address;
use super::connection::Connection;
use super::fault::fault;
use runtime::ports::store::StoreFault;

/// The oldest version that the tables are made for.
const VERSION_MIN: i64 = 15;

/// The newest version that the tests have run on.
pub const VERSION_TESTED: i64 = 18;

const SQL: &str = "SELECT current_setting('server_version_num')::int8, current_setting('server_version'), \
                   current_setting('fsync'), current_setting('full_page_writes'), \
                   current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), \
                   current_setting('data_checksums'), pg_is_in_recovery()::int4::int8, \
                   current_setting('default_transaction_read_only'), current_setting('server_encoding'), \
                   (SELECT count(*) FROM pg_stat_replication)";

/// The settings that say what can be lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The version, as a number: 15, 16, …
    pub major: i64,
    /// The version in the server's words.
    pub version: String,
    /// Whether a commit waits for the disk at all.
    pub fsync: bool,
    /// Whether a page that was written by half is mended.
    pub full_page_writes: bool,
    /// What a commit waits for.
    pub synchronous_commit: String,
    /// The standbys that a commit waits for; empty: none.
    pub standbys: String,
    /// Whether pages that the disk has changed are noticed.
    pub checksums: bool,
    /// Whether it is a standby.
    pub is_standby: bool,
    /// Whether nothing can be written.
    pub is_read_only: bool,
    /// How text is kept.
    pub encoding: String,
    /// How many processes take its WAL at present, standbys among them.
    pub receivers: i64,
}

impl Settings {
    /// Asks a database.
    pub fn of(address: &Address) -> Result<Settings, StoreFault> {
        let mut connection = Connection::open(address, READ_PATIENCE, READ_PATIENCE).map_err(fault)?;
        Settings::read(&mut connection)
    }

    pub(super) fn read(connection: &mut Connection) -> Result<Settings, StoreFault> {
        let found = connection.query(SQL, &[]).map_err(fault)?;
        let unread = || StoreFault::Unavailable("the settings of the database cannot be read".to_owned());
        let found = found.first().ok_or_else(unread)?;
        let text = |column: usize| found.text(column).map(str::to_owned).map_err(fault);
        Ok(Settings {
            major: found.integer(0).map_err(fault)? / 10_000,
            version: text(1)?,
            fsync: text(2)? == "on",
            full_page_writes: text(3)? == "on",
            synchronous_commit: text(4)?,
            standbys: text(5)?,
            checksums: text(6)? == "on",
            is_standby: found.integer(7).map_err(fault)? != 0,
            is_read_only: text(8)? == "on",
            encoding: text(9)?,
            receivers: found.integer(10).map_err(fault)?,
        })
    }

    /// Refuses a database that no store can be in.
    pub(super) fn demand_usable(&self) -> Result<(), StoreFault> {
        if self.major < VERSION_MIN {
            return Err(StoreFault::Refused(format!(
                "the server is PostgreSQL {}; use version {VERSION_MIN} or newer",
                self.version
            )));
        }
        if self.encoding != "UTF8" {
            return Err(StoreFault::Refused(format!(
                "the database keeps text as {}; make one with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`",
                self.encoding
            )));
        }
        Ok(())
    }

    /// Refuses a database that cannot be written.
    pub(super) fn demand_writable(&self) -> Result<(), StoreFault> {
        if self.is_standby || self.is_read_only {
            let what = if self.is_standby { "is a standby" } else { "is set to read only" };
            return Err(StoreFault::Unavailable(format!("the database {what}; name the primary")));
        }
        Ok(())
    }
}
