//! Databases and queues.

use super::{Program, destroy, flag, read, verb, write};
use crate::act::database;
use crate::answer::Capability::Network;
use crate::answer::Class;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    read("psql pgcli", "talks to PostgreSQL").act(database::sql).can(&[Network]).valued("-c --command -f --file -d --dbname -h --host -U --username -p --port -o --output -v -P -F -R -L"),
    read("mysql mariadb mycli mysqlsh", "talks to MySQL").act(database::sql).can(&[Network]).valued("-p? -e --execute -h --host -u --user -P --port -D --database -S --socket --protocol --default-character-set"),
    read("sqlite3 sqlite duckdb litecli", "talks to a database file").act(database::sql).valued("-cmd -separator -nullvalue -c -s").word_options(),
    read("sqlcmd osql isql tsql bcp sqlplus sqlldr rman clickhouse-client clickhouse cqlsh snowsql usql bq presto trino athena impala-shell db2 vsql nzsql bteq cockroach tidb influx questdb arangosh cypher-shell neo4j-shell gremlin rethinkdb surreal dolt dsqlsh ksql", "talks to a database").act(database::sql).can(&[Network]).valued("-Q -q -e -c --execute --query --sql -S -U -P -d -i -h -u -p -f --file"),
    read("redis-cli valkey-cli keydb-cli", "talks to Redis").act(database::redis).can(&[Network]).valued("-h -p -a -n -u --user --pass -r -i"),
    read("mongo mongosh", "talks to MongoDB").act(database::mongo).can(&[Network]).valued("--eval --host --port -u -p --username --password --authenticationDatabase"),
    write("createdb createuser initdb pg_ctl pg_ctlcluster pg_createcluster mysqladmin mysqlimport mysqld mysqld_safe mongod mongos mongoimport postgres redis-server memcached etcd influxd reindexdb vacuumdb pgbench clusterdb pg_upgrade pg_resetwal mysqlcheck mysql_upgrade mysql_secure_installation pgbouncer patronictl repmgr pgbackrest barman wal-g wal-e xtrabackup innobackupex mysqlbinlog", "manages a database").can(&[Network]).verbs(&[verb("** drop|flush*|shutdown|stop|remove|delete|kill", Class::Destructive, "stops or drops a database"), verb("status|ping|version|processlist|extended-status|variables|list|show*|info|check|reload", Class::Read, "looks at a database")]),
    destroy("dropdb dropuser pg_dropcluster", "drops a database"),
    read("pg_dump pg_dumpall mysqldump mariadb-dump mongodump mongoexport pg_basebackup mydumper", "dumps a database").act(database::dump).can(&[Network]).valued("-f --file -o --out --result-file -r -h -U -p -d -t -n -F -u"),
    write("pg_restore mongorestore myloader", "restores a database").act(database::restore).can(&[Network]).valued("-d -h -U -p -F -j -n -t -u"),
    read("pg_isready pg_config pg_lsclusters pg_controldata mysqlshow mongostat mongotop pg_top pg_activity innotop mytop redis-benchmark redis-check-rdb redis-check-aof sqlite3_analyzer sqldiff", "looks at a database").can(&[Network]),
    write("kafka-topics kafka-topics.sh kafka-consumer-groups kafka-consumer-groups.sh kafka-acls kafka-acls.sh kafka-configs kafka-configs.sh kafka-console-producer kafka-console-consumer kafka-delete-records kafka-delete-records.sh kafka-reassign-partitions kafka-leader-election kafka-streams-application-reset kafka-storage kafka-server-stop kafka-server-start zookeeper-shell zkcli rpk", "manages a queue").can(&[Network]).valued("--bootstrap-server --topic --group --entity-type --entity-name --operation --command-config --partitions").flags(&[super::dry("--list --describe"), flag("--delete --remove --delete-config --delete-offsets --reset-offsets --offset-json-file", Class::Destructive, "removes what a queue holds")]),
    read("kafka-broker-api-versions kafka-log-dirs kafka-get-offsets kafka-run-class kafka-metadata-shell kafka-cluster kafka-features kafka-dump-log", "looks at a queue").can(&[Network]),
    write("rabbitmqctl rabbitmqadmin rabbitmq-plugins rabbitmq-queues rabbitmq-server rabbitmq-upgrade", "manages a queue").can(&[Network]).valued("-p -n -u -q").verbs(&[verb("list_*|status|list|show|cluster_status|environment|report|ping|help|version|node_health_check|list-*|export_definitions|get|check_*|is_*", Class::Read, "looks at a queue"), verb("delete_*|purge_queue|clear_*|reset|force_reset|stop|stop_app|delete|purge|forget_cluster_node|shutdown|close_*|kill|remove_*", Class::Destructive, "removes what a queue holds")]),
    read("rabbitmq-diagnostics", "looks at a queue").can(&[Network]),
    write("nats", "manages a queue").can(&[Network]).verbs(&[verb("** list|ls|info|report|get|status|view|ping|subjects|check|rtt|sub|history|watch|find", Class::Read, "looks at a queue"), verb("** purge|rm|del|delete|remove|rmm|leader-stepdown|peer-remove|reset", Class::Destructive, "removes what a queue holds")]),
    write("elasticdump curator opensearch-cli elasticsearch elasticsearch-plugin logstash kibana solr typesense pulsar-admin activemq artemis etcdctl zkCli.sh", "manages a store").can(&[Network]).verbs(&[verb("** get|list|status|endpoint*|watch|stats|show*|ls, ** member list", Class::Read, "looks at a store"), verb("** delete*|del|remove*|purge|drop*|rm|compact", Class::Destructive, "removes what a store holds")]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("psql -c 'select 1'", "read", &["network"]);
        check("psql -c 'DROP TABLE users'", "destructive", &["network"]);
        check("echo 'truncate t' | mysql db", "destructive", &["network"]);
        check("sqlite3 a.db 'insert into t values (1)'", "write", &[]);
        check("sqlite3 a.db .tables", "read", &[]);
        check("redis-cli FLUSHALL", "destructive", &["network"]);
        check("redis-cli GET a", "read", &["network"]);
        check("mongosh --eval 'db.dropDatabase()'", "destructive", &["network"]);
        check("dropdb prod", "destructive", &[]);
        check("pg_dump db", "read", &["network"]);
    }
}
