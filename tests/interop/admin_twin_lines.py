"""The command lines on which Kafka's administration tools and ours are compared: good ones and bad ones. Names of ports stand in braces."""

from __future__ import annotations

from typing import Final

OPEN_LINES: Final = """
kafka-cluster cluster-id --bootstrap-server {broker}
kafka-cluster cluster-id -b {broker},{other}
kafka-cluster cluster-id --bootstrap-controller {controller}
kafka-cluster cluster-id -C {controller} --config none-empty.properties
kafka-cluster list-endpoints --bootstrap-server {broker}
kafka-cluster list-endpoints --bootstrap-server {broker} --include-fenced-brokers
kafka-cluster list-endpoints --bootstrap-controller {controller}
kafka-cluster list-endpoints --bootstrap-controller {controller} --include-fenced-brokers
kafka-cluster unregister --bootstrap-server {broker} --id 999
kafka-cluster unregister --bootstrap-controller {controller} -i 999
kafka-cluster unregister --bootstrap-controller {controller} --id=-3
kafka-cluster unregister -C {controller} --id 2147483647
kafka-cluster unregister-controller --bootstrap-server {broker} --id 999
kafka-cluster unregister-c -C {controller} --id 1
kafka-cluster unregister-controller -C {controller} --id=-3
kafka-cluster unregister-controller -C {controller} --id 11
kafka-cluster api-versions --bootstrap-server {broker}
kafka-cluster api -C {controller}
kafka-cluster unregister-controller --bootstrap-controller {controller} --id 99
kafka-cluster unregister-controller --bootstrap-server {broker} -i 1
kafka-metadata-quorum --bootstrap-server {broker} describe --status
kafka-metadata-quorum --bootstrap-controller {controller} describe --status
kafka-metadata-quorum --bootstrap-server {broker} describe --replication
kafka-metadata-quorum --bootstrap-controller {controller} describe --replication
kafka-metadata-quorum --bootstrap-controller {controller} describe --rep --hum
kafka-metadata-quorum --bootstrap-server={other} desc --status
kafka-metadata-quorum --bootstrap-server {broker} describe
kafka-metadata-quorum --bootstrap-server {broker} describe --status --replication
kafka-metadata-quorum --bootstrap-server {broker} describe --status --human-readable
kafka-metadata-quorum --bootstrap-server {broker} --command-config nothing.properties describe --status
kafka-metadata-quorum
kafka-metadata-quorum describe --status
kafka-metadata-quorum --bogus
kafka-metadata-quorum --bootstrap-server {broker} frobnicate
kafka-metadata-quorum --bootstrap-server {broker} d --status
kafka-metadata-quorum --bootstrap-server {broker} describe --bogus
kafka-metadata-quorum --boot {broker} describe --status
kafka-metadata-quorum -h
kafka-metadata-quorum describe -h
kafka-metadata-quorum add-controller --help
kafka-metadata-quorum --bootstrap-server {broker} remove-controller -h
kafka-metadata-quorum --bootstrap-server
kafka-metadata-quorum --bootstrap-server a:1 --bootstrap-controller b:2 describe --status
kafka-metadata-quorum --bootstrap-server {broker} describe --status extra
kafka-metadata-quorum --bootstrap-server {broker} remove-controller
kafka-metadata-quorum --bootstrap-server {broker} remove-controller --controller-id x -d AAAAAAAAAAAAAAAAAAAAAA
kafka-metadata-quorum --bootstrap-server {broker} remove-controller --controller-id -7 -d AAAAAAAAAAAAAAAAAAAAAA
kafka-metadata-quorum --bootstrap-server {broker} remove-controller --controller-id 7 -d xyz
kafka-metadata-quorum --bootstrap-server {broker} remove-controller --controller-id 7 -d AAAAAAAAAAAAAAAAAAAAAAAAAAA
kafka-metadata-quorum --bootstrap-server {broker} remove-controller --controller-id 7 -d AAAAAAAAAAAAAAAAAAABAA
kafka-metadata-quorum --bootstrap-controller {controller} remove-controller --controller-id 7 -d AAAAAAAAAAAAAAAAAAABAA
kafka-metadata-quorum --bootstrap-controller {controller} remove-controller --controller-id 7 -d AAAAAAAAAAAAAAAAAAABAA --dry-run
kafka-metadata-quorum --bootstrap-controller {controller} remove-controller --controller-id 7 -d AAAAAAAAAAAAAAAAAAABAA --unreg --dry-run
kafka-metadata-quorum --bootstrap-controller {controller} remove-controller --controller-id 7 -d AAAAAAAAAAAAAAAAAAABAA --unregister
kafka-metadata-quorum --bootstrap-server {broker} remove-controller --controller-id 7 -d AAAAAAAAAAAAAAAAAAABAA --unregister
kafka-metadata-quorum --bootstrap-server {broker} remove-controller --controller-id -7 -d AAAAAAAAAAAAAAAAAAABAA --unregister
kafka-metadata-quorum --bootstrap-server {broker} add-controller
kafka-metadata-quorum --bootstrap-server {broker} --command-config node-11.properties add-controller
kafka-metadata-quorum --bootstrap-server {broker} --command-config node-2.properties add-controller --dry-run
kafka-metadata-quorum --bootstrap-server {broker} --command-config node-1.properties add-controller
kafka-metadata-quorum --bootstrap-controller {controller} --command-config node-1.properties add-controller
kafka-metadata-quorum --bootstrap-controller {controller} --command-config empty.properties add-controller
kafka-features --bootstrap-server {broker} describe
kafka-features --bootstrap-controller {controller} describe
kafka-features --bootstrap-server {broker} describe --node-id 12
kafka-features --bootstrap-controller {controller} describe --node-id 1
kafka-features --bootstrap-server {broker} describe --node-id x
kafka-features
kafka-features -h
kafka-features describe
kafka-features upgrade -h
kafka-features describe --bogus
kafka-features frob
kafka-features --bootstrap-server {broker} --bootstrap-controller {controller} describe
kafka-features version-mapping
kafka-features version-mapping --release-version 3.9
kafka-features version-mapping --release-version 4.0-IV3
kafka-features version-mapping --release-version 4.4-IV0
kafka-features version-mapping --release-version 9.9
kafka-features version-mapping --release-version ''
kafka-features --bootstrap-server {broker} version-mapping --release-version 3.3
kafka-features feature-dependencies --feature transaction.version=2
kafka-features feature-dependencies --feature eligible.leader.replicas.version=1 --feature metadata.version=21
kafka-features feature-dependencies --feature eligible.leader.replicas.version=1 --feature nope=1
kafka-features feature-dependencies --feature nope=1
kafka-features feature-dependencies --feature group.version=9
kafka-features feature-dependencies --feature group.version
kafka-features feature-dependencies --feature group.version=x
kafka-features feature-dependencies --feature metadata.version=99
kafka-features feature-dependencies
kafka-features --bootstrap-server {broker} upgrade
kafka-features --bootstrap-server {broker} upgrade --feature nope.version=1 --dry-run
kafka-features --bootstrap-controller {controller} upgrade --feature nope.version=1 --dry-run
kafka-features --bootstrap-server {broker} upgrade --feature metadata.version=200
kafka-features --bootstrap-server {broker} upgrade --feature metadata.version
kafka-features --bootstrap-server {broker} upgrade --feature metadata.version=x
kafka-features --bootstrap-server {broker} upgrade --feature group.version=0
kafka-features --bootstrap-server {broker} upgrade --feature group.version=-1
kafka-features --bootstrap-server {broker} upgrade --feature group.version=99999
kafka-features --bootstrap-server {broker} upgrade --feature =1
kafka-features --bootstrap-server {broker} upgrade --metadata 2.8
kafka-features --bootstrap-server {broker} upgrade --metadata 4.2 --dry-run
kafka-features --bootstrap-server {broker} upgrade --metadata 4.2 --feature metadata.version=27 --dry-run
kafka-features --bootstrap-server {broker} upgrade --metadata 4.2 --feature metadata.version=x
kafka-features --bootstrap-server {broker} downgrade --feature metadata.version=7 --dry-run
kafka-features --bootstrap-server {broker} downgrade --feature metadata.version=8 --unsafe --dry-run
kafka-features --bootstrap-server {broker} disable --feature metadata.version --dry-run
kafka-features --bootstrap-server {broker} disable --feature nope.version
kafka-features --bootstrap-server {broker} disable --feature nope.version --feature group.version
kafka-features --bootstrap-server {broker} disable --feature group.version --feature group.version
kafka-features --bootstrap-server {broker} disable
kafka-features --bootstrap-server {broker} upgrade --release-version 4.4 --dry-run
kafka-features --bootstrap-server {broker} downgrade --release-version 3.9 --dry-run
kafka-features --bootstrap-server {broker} upgrade --release-version 4.0 --feature group.version=1
kafka-features --bootstrap-server {broker} upgrade --release-version 4.0 --metadata 4.0
kafka-features --bootstrap-server {broker} upgrade --release-version 1.0
kafka-features --bootstrap-server {broker} downgrade --feature transaction.version=1 --dry-run
kafka-features --bootstrap-server {broker} upgrade --feature group.version=1 --feature transaction.version=2 --dry-run
kafka-features --bootstrap-server {broker} --command-config nothing.properties describe
kafka-features --bootstrap-server {broker} --command-config fast.properties describe --node-id 999
kafka-cluster cluster-id --bootstrap-server {controller} --command-config fast.properties
kafka-cluster cluster-id --bootstrap-controller {broker} --command-config fast.properties
kafka-features --bootstrap-server {controller} --command-config fast.properties describe
kafka-features --bootstrap-controller {broker} --command-config fast.properties describe
kafka-metadata-quorum --bootstrap-controller {broker} --command-config fast.properties describe --status
kafka-metadata-quorum --bootstrap-server {controller} --command-config fast.properties describe --status
kafka-cluster unregister --bootstrap-server {controller} --command-config fast.properties --id 5
kafka-cluster unregister-controller --bootstrap-server {controller} --command-config fast.properties --id 5
kafka-cluster unregister-controller --bootstrap-controller {broker} --command-config fast.properties --id 5
kafka-cluster api-versions --bootstrap-server {controller} --command-config fast.properties
kafka-cluster api-versions --bootstrap-controller {broker} --command-config fast.properties
kafka-cluster list-endpoints --bootstrap-server {controller} --command-config fast.properties
kafka-cluster list-endpoints --bootstrap-controller {broker} --command-config fast.properties
kafka-cluster cluster-id --bootstrap-server localhost:1 --command-config fast.properties
kafka-cluster cluster-id --bootstrap-server no.such.host.invalid:9092 --command-config fast.properties
kafka-cluster cluster-id --bootstrap-server nonsense
kafka-cluster cluster-id --bootstrap-server ''
kafka-cluster cluster-id --bootstrap-server {broker} --command-config nothing.properties
kafka-cluster cluster-id --bootstrap-server {broker} --config fast.properties --command-config fast.properties
kafka-cluster cluster-id --bootstrap-server {broker} --config fast.properties
kafka-cluster list-endpoints --bootstrap-controller {controller} --config fast.properties --include-fenced-brokers
""".strip().splitlines()
"""On a cluster that is open to all; fast.properties has short timeouts, empty.properties nothing, nothing.properties is not there."""

SECURED_LINES: Final = """
kafka-cluster list-endpoints --bootstrap-server {by-plain} --command-config admin.properties
kafka-cluster cluster-id --bootstrap-server {by-plain} --command-config admin.properties
kafka-cluster cluster-id --bootstrap-controller {login} --command-config admin.properties
kafka-cluster cluster-id --bootstrap-controller {tls} --command-config admin-tls.properties
kafka-metadata-quorum --bootstrap-controller {tls} --command-config admin-tls.properties describe --status
kafka-metadata-quorum --bootstrap-controller {login} --command-config admin.properties describe --status
kafka-metadata-quorum --bootstrap-server {by-tls} --command-config admin.properties describe --replication
kafka-features --bootstrap-server {by-scram} --command-config admin.properties describe
kafka-features --bootstrap-controller {tls} --command-config admin-tls.properties describe
kafka-features --bootstrap-server {by-scram} --command-config alice.properties describe
kafka-features --bootstrap-server {by-scram} --command-config alice.properties upgrade --feature group.version=1
kafka-features --bootstrap-server {by-scram} --command-config admin.properties upgrade --feature group.version=1
kafka-cluster unregister --bootstrap-server {by-plain} --command-config alice.properties --id 77
kafka-cluster unregister --bootstrap-server {by-plain} --command-config admin.properties --id 77
kafka-cluster unregister-controller --bootstrap-server {by-plain} --command-config alice.properties --id 1
kafka-cluster unregister-controller --bootstrap-controller {tls} --command-config alice-tls.properties --id 1
kafka-cluster unregister-controller --bootstrap-controller {login} --command-config admin.properties --id 1
kafka-cluster api-versions --bootstrap-server {by-plain} --command-config alice.properties
kafka-cluster api-versions --bootstrap-controller {login} --command-config admin.properties
kafka-cluster api-versions --bootstrap-controller {open}
kafka-cluster cluster-id --bootstrap-server {by-plain} --command-config alice.properties
kafka-cluster list-endpoints --bootstrap-server {by-plain} --command-config alice.properties
kafka-metadata-quorum --bootstrap-server {by-plain} --command-config alice.properties describe --status
kafka-metadata-quorum --bootstrap-server {by-plain} --command-config alice.properties remove-controller -i 7 -d AAAAAAAAAAAAAAAAAAABAA
kafka-metadata-quorum --bootstrap-server {by-plain} --command-config admin.properties remove-controller -i 7 -d AAAAAAAAAAAAAAAAAAABAA
kafka-metadata-quorum --bootstrap-controller {open} describe --status
kafka-cluster cluster-id --bootstrap-controller {open}
kafka-cluster list-endpoints --bootstrap-controller {open}
kafka-features --bootstrap-controller {open} describe
kafka-features --bootstrap-controller {open} upgrade --feature group.version=1
kafka-cluster unregister --bootstrap-controller {open} --id 21
kafka-cluster cluster-id --bootstrap-server {by-plain} --command-config wrong.properties
kafka-metadata-quorum --bootstrap-controller {login} --command-config wrong.properties describe --status
kafka-cluster cluster-id --bootstrap-controller {tls} --command-config nobody-tls.properties
kafka-cluster cluster-id --bootstrap-controller {tls} --command-config stranger-tls.properties
kafka-metadata-quorum --bootstrap-controller {tls} --command-config alice-tls.properties describe --status
kafka-features --bootstrap-controller {tls} --command-config alice-tls.properties describe
""".strip().splitlines()
"""By SASL and TLS, with rights and without."""

OLDER_LINES: Final = """
kafka-cluster cluster-id --bootstrap-server {older}
kafka-cluster cluster-id --bootstrap-controller {older-controller}
kafka-cluster list-endpoints --bootstrap-server {older}
kafka-cluster list-endpoints --bootstrap-server {older} --include-fenced-brokers
kafka-cluster list-endpoints --bootstrap-controller {older-controller}
kafka-cluster unregister --bootstrap-server {older} --id 999
kafka-cluster unregister-controller --bootstrap-server {older} --id 999
kafka-cluster unregister-controller --bootstrap-controller {older-controller} --id 999
kafka-cluster api-versions --bootstrap-server {older}
kafka-cluster api-versions --bootstrap-controller {older-controller}
kafka-metadata-quorum --bootstrap-server {older} describe --status
kafka-metadata-quorum --bootstrap-controller {older-controller} describe --status
kafka-metadata-quorum --bootstrap-server {older} describe --replication
kafka-metadata-quorum --bootstrap-server {older} remove-controller --controller-id 7 -d AAAAAAAAAAAAAAAAAAABAA
kafka-metadata-quorum --bootstrap-server {older} remove-controller --controller-id 7 -d AAAAAAAAAAAAAAAAAAABAA --unregister
kafka-features --bootstrap-server {older} describe
kafka-features --bootstrap-controller {older-controller} describe
kafka-features --bootstrap-server {older} upgrade --feature nope.version=1 --dry-run
kafka-features --bootstrap-server {older} upgrade --feature metadata.version=25
kafka-features --bootstrap-server {older} upgrade --release-version 4.0 --dry-run
kafka-features --bootstrap-server {older} downgrade --metadata 3.8 --dry-run
kafka-features --bootstrap-server {older} downgrade --metadata 3.8
kafka-features --bootstrap-server {older} disable --feature kraft.version
""".strip().splitlines()
"""On a node of 3.9."""
CHANGE_LINES: Final = """
kafka-features --bootstrap-controller {controller} upgrade --release-version 4.4
kafka-cluster unregister-controller --bootstrap-server {broker} --id 2
kafka-cluster unregister-controller --bootstrap-server {broker} --id 1
kafka-cluster unregister-controller --bootstrap-controller {controller} --id 77
kafka-metadata-quorum --bootstrap-controller {controller} remove-controller -i 2 -d {dir-2} --unregister
kafka-metadata-quorum --bootstrap-controller {controller} --command-config node-2.properties add-controller
kafka-metadata-quorum --bootstrap-server {broker} remove-controller -i 2 -d {dir-2} --unregister --dry-run
kafka-metadata-quorum --bootstrap-server {broker} remove-controller -i 2 -d {dir-2} --unregister
kafka-metadata-quorum --bootstrap-controller {controller} --command-config node-2.properties add-controller
kafka-metadata-quorum --bootstrap-server {broker} describe --status
kafka-cluster list-endpoints --bootstrap-controller {standby}
kafka-metadata-quorum --bootstrap-controller {standby} describe --replication
kafka-metadata-quorum --bootstrap-server {broker} --command-config node-2.properties add-controller
kafka-metadata-quorum --bootstrap-server {broker} remove-controller --controller-id 2 --controller-directory-id {dir-2}
kafka-metadata-quorum --bootstrap-controller {controller} remove-controller --controller-id 2 --controller-directory-id {dir-2}
kafka-cluster list-endpoints --bootstrap-server {broker} --include-fenced-brokers
kafka-cluster unregister --bootstrap-controller {controller} --id 113
kafka-cluster unregister --bootstrap-controller {controller} --id 113
kafka-features --bootstrap-server {broker} upgrade --feature streams.version=1
kafka-features --bootstrap-server {broker} disable --feature streams.version
kafka-features --bootstrap-controller {controller} downgrade --feature group.version=0 --unsafe
kafka-features --bootstrap-controller {controller} upgrade --feature group.version=1
""".strip().splitlines()
"""Changes, and what they leave; afterwards all is as it was, but for the registration of broker 113 and the first line."""
