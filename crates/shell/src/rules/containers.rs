//! Containers and orchestration.

use super::{Program, dry, flag, read, verb, write};
use crate::act::container;
use crate::answer::Capability::{Credentials, Exec, Network};
use crate::answer::Class;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    write("docker podman nerdctl docker-compose podman-compose finch", "runs containers").can(&[]).act(container::docker).valued("-H --host -c --context --config -f --file -p --project-name --filter --format -n --tail --since --until -t --tag --profile --env-file").verbs(&[
        verb("ps|images|logs|inspect|version|info|top|stats|diff|port|history|search|events|help, context ls, manifest inspect", Class::Read, "looks at containers"),
        verb("container|image|volume|network|system|builder|buildx|context|compose|service|node|stack|secret|config ls|list|inspect|ps|logs|df|info|top|stats|images|config|events|show|version|port|history|diff|du", Class::Read, "looks at containers"),
        verb("build, compose build", Class::Write, "builds an image").can(&[Exec, Network]),
        verb("pull|push|login|logout", Class::Write, "exchanges images").can(&[Network]),
        verb("rm|rmi|kill, container rm|kill, image rm", Class::Write, "removes containers or images").flags(&[flag("-v --volumes", Class::Destructive, "removes volumes"), flag("-f --force", Class::Destructive, "removes running containers")]),
        verb("volume rm|prune", Class::Destructive, "removes volumes with their data"),
        verb("volume remove", Class::Destructive, "removes volumes with their data"),
        verb("system|container|image|network|builder|buildx prune", Class::Destructive, "removes everything unused"),
        verb("compose down|rm", Class::Write, "stops containers").flags(&[flag("-v --volumes --rmi", Class::Destructive, "removes volumes with their data")]),
        verb("down", Class::Write, "stops containers").flags(&[flag("-v --volumes --rmi", Class::Destructive, "removes volumes with their data")]),
        verb("swarm leave", Class::Destructive, "leaves the swarm"),
        verb("service|stack|secret|config|node rm", Class::Destructive, "removes what a swarm runs"),
    ]),
    write("kubectl oc k k3s-kubectl microk8s kubectl.exe", "manages a cluster").can(&[Network]).act(container::kubectl).valued("-n --namespace -f --filename -o --output -l --selector --context --kubeconfig -c --container --field-selector --sort-by --since --tail --replicas -p --patch --cluster --user --timeout --image --type --port").verbs(&[
        verb("get|describe|logs|top|version|explain|api-resources|api-versions|cluster-info|diff|wait|events|options|completion|plugin", Class::Read, "looks at a cluster"),
        verb("config view|get-contexts|current-context|get-clusters", Class::Read, "looks at settings"),
        verb("auth can-i|whoami", Class::Read, "asks about rights"),
        verb("rollout status|history", Class::Read, "looks at a rollout"),
        verb("delete|drain", Class::Destructive, "removes what a cluster runs").flags(&[dry("--dry-run")]),
        verb("replace", Class::Write, "replaces resources").flags(&[flag("--force", Class::Destructive, "deletes and creates again")]),
        verb("apply", Class::Write, "changes a cluster").flags(&[dry("--dry-run"), flag("--prune", Class::Destructive, "removes what the files do not name")]),
        verb("scale", Class::Write, "changes how many copies run"),
        verb("config delete-context|delete-cluster|delete-user|unset", Class::Write, "changes settings"),
    ]),
    write("helm helm3 helmfile", "manages releases").can(&[Network, Exec]).verbs(&[verb("list|ls|status|get|history|show|search|template|lint|version|env|verify|diff|help, repo list, dependency list", Class::Read, "looks at releases"), verb("uninstall|delete|del|un|destroy", Class::Destructive, "removes a release"), verb("rollback", Class::Write, "goes back a release").flags(&[flag("--force", Class::Destructive, "deletes and creates again")])]).flags(&[dry("--dry-run")]),
    read("k9s stern kubectx kubens kubetail kubent popeye polaris kube-score kube-bench kube-hunter dive ctop lazydocker kustomize", "looks at a cluster").can(&[Network]),
    write("minikube kind k3d k3s kubeadm kops eksctl rke rke2 talosctl colima lima limactl multipass vagrant lxc lxc-start lxc-stop lxc-attach incus virsh virt-install vboxmanage VBoxManage vmrun prlctl qemu qemu-img firecracker kata-runtime orb orbctl rancher crictl ctr runc buildah skopeo crane kaniko img s2i pack ko jib skaffold tilt okteto telepresence devspace garden draft docker-machine boot2docker proxmox pct qm", "manages machines").can(&[Exec, Network]).verbs(&[verb("** list|ls|status|info|inspect|version|show|ps|images|dumpxml|dominfo|get|describe|ip|ssh-config|global-status|logs|check|config, ** box list", Class::Read, "looks at machines"), verb("** delete|destroy|rm|rmi|reset|undefine|unregistervm|teardown|prune|purge|removei|rmp", Class::Destructive, "removes machines")]),
    write("argocd flux istioctl linkerd cilium calicoctl kubeseal cert-manager cmctl crossplane operator-sdk kubebuilder kn fission faas-cli tkn-cli argo nomad consul boundary waypoint packer", "manages a platform").can(&[Network, Exec]).verbs(&[verb("** get|list|ls|status|version|describe|check|logs|validate|inspect|show|history|diff|members|info|catalog", Class::Read, "looks at a platform"), verb("** delete|uninstall|remove|purge|terminate-op|destroy|stop|leave|force-leave|deregister", Class::Destructive, "removes what a platform runs")]),
    write("docker-credential-helper docker-credential-desktop", "handles registry passwords").can(&[Credentials]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("docker ps", "read", &[]);
        check("docker build .", "write", &["exec", "network"]);
        check("docker run --rm alpine ls", "write", &["exec"]);
        check("docker run -v /:/h alpine rm -rf /h/tmp", "catastrophic", &["exec", "privilege"]);
        check("docker volume rm data", "destructive", &[]);
        check("docker system prune -af", "destructive", &[]);
        check("docker compose down -v", "destructive", &[]);
        check("kubectl get pods", "read", &["network"]);
        check("kubectl get secret x -o yaml", "read", &["network", "credentials"]);
        check("kubectl delete ns prod", "destructive", &["network"]);
        check("kubectl exec pod -- ls", "write", &["exec", "network"]);
        check("helm uninstall x", "destructive", &["exec", "network"]);
    }
}
