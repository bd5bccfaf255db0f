//! Cloud and platform command lines.

use super::{Flag, Program, dry, flag, read, verb, write};
use crate::act::{github, wrapper};
use crate::answer::Capability::{Credentials, Exec, Network, Privilege};
use crate::answer::Class;

const DRY: &[Flag] = &[dry("--dry-run --dryrun --what-if --no-execute-changeset")];

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    write("aws awslocal", "manages a cloud").can(&[Network]).valued("--region --profile --output --query --endpoint-url --cli-input-json --secret-id --bucket --key --queue-url --topic-arn --subscription-arn --name --instance-ids").flags(DRY).verbs(&[
        verb("* get-*|list-*|describe-*|head-*|lookup-*|search-*|scan|query|batch-get-*|filter-*|wait|help|ls|presign|tail|estimate-*|preview-*|validate-*|test-*|simulate-*|select-*|show-*|view-*|detect-*|check-*|download-*|count-*", Class::Read, "looks at a cloud"),
        verb("help", Class::Read, "looks at a cloud"),
        verb("s3 ls|presign", Class::Read, "looks at storage"),
        verb("s3 rm|rb", Class::Destructive, "removes storage"),
        verb("s3 mv", Class::Write, "moves storage"),
        verb("s3 sync", Class::Write, "copies storage").flags(&[dry("--dryrun"), flag("--delete", Class::Destructive, "removes what the source has not")]),
        verb("* delete-*|terminate-*|remove-*|purge-*|deregister-*|destroy-*|revoke-*|release-*|unsubscribe|batch-delete-*|cancel-*|disable-*|detach-*|disassociate-*|reset-*|reject-*|force-*|abort-*|schedule-key-deletion|empty-*|drop-*|wipe-*", Class::Destructive, "removes something in a cloud"),
        verb("secretsmanager delete-secret|put-secret-value|update-secret|rotate-secret", Class::Destructive, "replaces or removes a secret").can(&[Credentials]),
        verb("secretsmanager get-secret-value|batch-get-secret-value", Class::Read, "reads a secret").can(&[Credentials]),
        verb("ssm get-parameter*", Class::Read, "reads a parameter").can(&[Credentials]),
        verb("sts get-session-token|assume-role|get-federation-token|assume-role-with-saml|assume-role-with-web-identity", Class::Read, "obtains credentials").can(&[Credentials, Privilege]),
        verb("iam create-access-key|create-login-profile|attach-user-policy|put-user-policy|add-user-to-group|create-user|attach-role-policy|update-assume-role-policy|put-role-policy|update-login-profile", Class::Write, "changes rights").can(&[Credentials, Privilege]),
        verb("configure get|export-credentials|list", Class::Read, "reads settings").can(&[Credentials]),
        verb("configure", Class::Write, "changes settings").can(&[Credentials]),
        verb("ecr get-login*", Class::Read, "obtains credentials").can(&[Credentials]),
        verb("ec2 get-password-data", Class::Read, "reads a password").can(&[Credentials]),
        verb("ssm send-command|start-session", Class::Write, "runs commands on other machines").can(&[Exec]),
        verb("ecs execute-command", Class::Write, "runs commands elsewhere").can(&[Exec]),
        verb("lambda invoke", Class::Write, "runs a function").can(&[Exec]),
        verb("ec2 stop-instances|reboot-instances", Class::Write, "stops machines"),
        verb("cloudtrail stop-logging|delete-trail|update-trail", Class::Destructive, "stops the audit trail").can(&[crate::answer::Capability::GuardTampering]),
    ]),
    write("gcloud gsutil firebase cbt", "manages a cloud").can(&[Network]).valued("--project --region --zone --format --filter --account --configuration --secret").flags(DRY).verbs(&[
        verb("** list|describe|get-*|ls|stat|info|du|cat|version|help|read|logs|get|get-iam-policy|print-settings|search*|lookup*", Class::Read, "looks at a cloud"),
        verb("** delete|remove|rm|rb|destroy|purge|reset|disable|detach*|remove-*|delete-*|firestore:delete|hosting:disable|functions:delete|projects:delete|database:remove|auth:delete|drop*", Class::Destructive, "removes something in a cloud"),
        verb("secrets versions access", Class::Read, "reads a secret").can(&[Credentials]),
        verb("auth print-access-token|print-identity-token|application-default", Class::Read, "obtains credentials").can(&[Credentials]),
        verb("auth *", Class::Write, "handles credentials").can(&[Credentials]),
        verb("** ssh", Class::Write, "runs commands on other machines").can(&[Exec]),
        verb("rsync", Class::Write, "copies storage").flags(&[flag("-d", Class::Destructive, "removes what the source has not")]),
        verb("** add-iam-policy-binding|set-iam-policy|create-key, ** keys create", Class::Write, "changes rights").can(&[Credentials, Privilege]),
    ]),
    write("az azcopy func swa", "manages a cloud").can(&[Network]).valued("-g --resource-group -n --name --query -o --output --subscription --vault-name").flags(DRY).verbs(&[
        verb("** list|show|version|find|get|list-*|show-*|get-*|check-*|exists|download*|logs|validate|what-if|table", Class::Read, "looks at a cloud"),
        verb("** delete|purge|remove|destroy|deallocate|delete-*|rm|reset|disable|delete-batch|revoke", Class::Destructive, "removes something in a cloud"),
        verb("keyvault secret show|download|list", Class::Read, "reads a secret").can(&[Credentials]),
        verb("account get-access-token|list-keys", Class::Read, "obtains credentials").can(&[Credentials]),
        verb("storage account keys list|renew", Class::Read, "reads keys").can(&[Credentials]),
        verb("ad sp create-for-rbac|credential", Class::Write, "makes credentials").can(&[Credentials, Privilege]),
        verb("role assignment create", Class::Write, "changes rights").can(&[Privilege]),
        verb("vm run-command", Class::Write, "runs commands on other machines").can(&[Exec]),
        verb("login|logout", Class::Write, "handles credentials").can(&[Credentials]),
        verb("copy|sync", Class::Write, "copies storage"),
    ]),
    write("terraform tofu terragrunt opentofu cdktf", "manages infrastructure").can(&[Network, Exec]).word_options().verbs(&[
        verb("plan|show|validate|output|version|providers|graph|fmt|console|get|metadata|help|test, state list|show|pull, workspace list|show", Class::Read, "looks at infrastructure"),
        verb("destroy, run-all destroy", Class::Destructive, "destroys infrastructure"),
        verb("apply, run-all apply", Class::Write, "changes infrastructure").flags(&[flag("-destroy --destroy", Class::Destructive, "destroys infrastructure"), flag("-auto-approve --auto-approve", Class::Write, "asks nobody")]),
        verb("state rm|push|replace-provider", Class::Destructive, "loses track of infrastructure"),
        verb("workspace delete", Class::Destructive, "removes a workspace"),
        verb("taint|force-unlock|import|refresh|init|untaint|select, workspace new", Class::Write, "changes state"),
    ]),
    write("pulumi cdk serverless sls chalice copilot-cli eb sst architect up cdk8s crossplane-cli ansible-tower awx", "manages infrastructure").can(&[Network, Exec]).verbs(&[
        verb("preview|diff|synth|list|ls|logs|version|whoami|info|validate|doctor|about|status|print|health|events|metadata|context|package, stack ls|output, config get", Class::Read, "looks at infrastructure"),
        verb("destroy|remove|delete|terminate|rollback-delete|cancel, stack rm, state delete", Class::Destructive, "destroys infrastructure"),
    ]),
    write("vault bao", "keeps secrets").can(&[Network, Credentials]).word_options().verbs(&[
        verb("read|list|status|version|path-help|print|debug, kv get|list, secrets list, auth list, audit list, policy list|read, token lookup|capabilities, operator raft list-peers, namespace list, plugin list, lease lookup, kv metadata get|list, operator members", Class::Read, "reads secrets"),
        verb("delete, kv delete|destroy, kv metadata delete, secrets disable|move, auth disable, audit disable, policy delete, lease revoke, token revoke, operator seal|step-down|rekey, namespace delete, operator raft remove-peer, plugin deregister", Class::Destructive, "removes secrets"),
    ]),
    read("op", "keeps secrets").can(&[Network, Credentials]).verbs(&[verb("** delete|purge|archive|revoke|suspend", Class::Destructive, "removes secrets"), verb("** create|edit|signin|signout|add|provision|confirm|invite|grant|move|share|forget", Class::Write, "changes secrets"), verb("run", Class::Write, "runs a program with secrets").can(&[Exec])]).act(wrapper::runner),
    read("doppler", "keeps secrets").can(&[Network, Credentials]).verbs(&[verb("** delete|unlink|revoke", Class::Destructive, "removes secrets"), verb("** set|create|update|upload|rename|login|setup|clone", Class::Write, "changes secrets"), verb("run", Class::Write, "runs a program with secrets").can(&[Exec])]).act(wrapper::runner),
    write("gh", "manages GitHub").can(&[Network]).valued("-R --repo --json -q --jq -X --method -f -F --field --raw-field -H --header --input --hostname --preview --cache --template -L --limit -b --body -t --title").verbs(&[
        verb("* list|view|status|diff|checks|watch|ls|download|search|verify", Class::Read, "looks at GitHub"),
        verb("search|status|browse|help|version|completion, alias list, config get", Class::Read, "looks at GitHub"),
        verb("api", Class::Read, "asks GitHub"),
        verb("auth token", Class::Read, "prints a token").can(&[Credentials]),
        verb("auth *", Class::Write, "handles credentials").can(&[Credentials]),
        verb("secret|variable *", Class::Write, "changes secrets").can(&[Credentials]),
        verb("ssh-key|gpg-key *", Class::Write, "changes keys").can(&[Credentials]),
        verb("* delete|archive|remove|delete-asset|cache-delete|purge", Class::Destructive, "removes something on GitHub"),
        verb("codespace ssh", Class::Write, "runs commands elsewhere").can(&[Exec]),
        verb("extension install|exec", Class::Write, "installs an extension").can(&[Exec]),
    ]).act(github::gh),
    write("glab tea bitbucket jira linear acli circleci travis semaphore bk codefresh harness buildkite octo sentry-cli datadog-ci newrelic pagerduty pd opsgenie launchdarkly ldcli flagsmith", "manages a platform").can(&[Network]).verbs(&[verb("** list|view|show|status|get|info|ls|validate|check|lint|version|help|logs|search|describe|diagnostic, ** config validate", Class::Read, "looks at a platform"), verb("** delete|remove|purge|archive|destroy|revoke|rm|unlist|store-delete|remove-secret", Class::Destructive, "removes something on a platform")]),
    write("heroku flyctl fly vercel now netlify railway render surge wrangler supabase planetscale pscale neon neonctl turso doctl hcloud linode-cli vultr-cli scw ovh exo civo ibmcloud oci aliyun tccli openstack nova cinder glance neutron swift-openstack cf bosh dokku kamal cap capistrano mina deployer dep envoyer forge ansistrano shipit stackit upctl cloudctl dns-control dnscontrol octodns cloudflare flarectl akamai fastly bunny stripe twilio sendgrid mailgun shopify salesforce sf sfdx algolia meilisearch contentful prismic auth0 okta clerk workos appwrite nhost hasura apollo rover graphcdn stepzen", "manages a platform").can(&[Network]).verbs(&[verb("** list|ls|info|show|get|status|describe|logs|version|whoami|help|ps|config|releases|inspect|view|search|tail|validate|check, ** env ls", Class::Read, "looks at a platform"), verb("** delete|destroy|remove|rm|purge|apps:destroy|pg:reset|addons:destroy|pg:kill*|reset|drop|teardown|terminate|nuke|wipe|domains:remove|ps:kill|sites:delete|env:unset|undeploy|delete-*|unpublish, ** db reset, ** kv:key delete", Class::Destructive, "removes something on a platform"), verb("auth:token|config:get, auth token, env pull, secrets list", Class::Read, "reads credentials").can(&[Credentials])]),
    read("s3cmd s4cmd s5cmd mc minio-client gof3r aws-shell", "manages storage").can(&[Network]).verbs(&[verb("del|rm|rb|delete|expire|delete-bucket|delete-file-version|clear-account|cancel-*|mirror-delete", Class::Destructive, "removes storage"), verb("put|cp|mv|sync|mb|upload-file|mirror|modify|setacl|setpolicy|move|share|copy|create-bucket|pipe", Class::Write, "changes storage").flags(&[flag("--delete-removed --remove --delete", Class::Destructive, "removes what the source has not")])]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("aws s3 ls", "read", &["network"]);
        check("aws s3 rm s3://b --recursive", "destructive", &["network"]);
        check("aws ec2 describe-instances", "read", &["network"]);
        check("aws ec2 terminate-instances --instance-ids i-1", "destructive", &["network"]);
        check("terraform plan", "read", &["exec", "network"]);
        check("terraform destroy", "destructive", &["exec", "network"]);
        check("gcloud projects delete p", "destructive", &["network"]);
        check("az group list", "read", &["network"]);
        check("gh pr list", "read", &["network"]);
        check("gh repo delete a/b", "destructive", &["network"]);
        check("gh auth token", "read", &["network", "credentials"]);
        check("vault kv get secret/x", "read", &["network", "credentials"]);
        check("vault kv destroy secret/x", "destructive", &["network", "credentials"]);
    }
}
