# Made by `python -m tools.gen_completions`; do not edit.

# The options of a line that take the next word as their value.
function __metashell_valued
    switch $argv[1]
        case kafka-shell
            string split ' ' -- '--snapshot -s --bootstrap-controller --controllers -C --bootstrap-server -b --command-config --config -c --address-map --timeout --output -o --max-decompressed'
        case dump-log
            string split ' ' -- '--files --key-decoder-class --value-decoder-class --max-bytes --max-message-size --type -t --offset --since --until --key --value --bootstrap-controller --controllers -C --bootstrap-server -b --command-config --config -c --address-map --timeout --output -o --max-decompressed --jobs -j'
        case kafka-metadata-shell
            string split ' ' -- '--snapshot -s'
        case kafka-dump-log
            string split ' ' -- '--files --max-bytes --max-message-size'
        case metashell-verify
            string split ' ' -- '--config -c --output -o --max-decompressed'
        case metashell-rehearse
            string split ' ' -- '--snapshot -s --bootstrap-controller --controllers -C --bootstrap-server -b --command-config --config -c --address-map --timeout --sizes --assume --html --show --output -o --max-decompressed'
        case metashell-simulate:rebalance
            string split ' ' -- '--members --partitions --topics --strategy --scenario --seed --assume --html --output -o'
        case metashell-storage:format
            string split ' ' -- '--config -c --cluster-id -t --add-scram -S --add-scram-file --release-version -r --feature -f --initial-controllers -I --output -o'
        case metashell-storage:info
            string split ' ' -- '--config -c --output -o'
        case metashell-storage:version-mapping
            string split ' ' -- '--release-version -r --output -o'
        case metashell-storage:feature-dependencies
            string split ' ' -- '--feature -f --output -o'
        case metashell-storage:random-uuid
            string split ' ' -- '--output -o'
        case kafka-storage:info
            string split ' ' -- '--config -c'
        case kafka-storage:format
            string split ' ' -- '--config -c --cluster-id -t --add-scram -S --release-version -r --feature -f --initial-controllers -I'
        case kafka-storage:version-mapping
            string split ' ' -- '--release-version -r'
        case kafka-storage:feature-dependencies
            string split ' ' -- '--feature -f'
        case kafka-cluster:cluster-id
            string split ' ' -- '--bootstrap-server -b --bootstrap-controller -C --config --command-config -c'
        case kafka-cluster:unregister
            string split ' ' -- '--bootstrap-server -b --bootstrap-controller -C --config --command-config -c --id -i'
        case kafka-cluster:list-endpoints
            string split ' ' -- '--bootstrap-server -b --bootstrap-controller -C --config --command-config -c'
        case kafka-metadata-quorum
            string split ' ' -- '--bootstrap-server --bootstrap-controller --command-config'
        case kafka-metadata-quorum:remove-controller
            string split ' ' -- '--controller-id -i --controller-directory-id -d'
        case kafka-features
            string split ' ' -- '--bootstrap-server --bootstrap-controller --command-config'
        case kafka-features:describe
            string split ' ' -- '--node-id'
        case kafka-features:upgrade
            string split ' ' -- '--metadata --release-version --feature'
        case kafka-features:downgrade
            string split ' ' -- '--metadata --release-version --feature'
        case kafka-features:disable
            string split ' ' -- '--feature'
        case kafka-features:version-mapping
            string split ' ' -- '--release-version'
        case kafka-features:feature-dependencies
            string split ' ' -- '--feature'
        case metashell-quorum:start
            string split ' ' -- '--controllers -n --dir --port -p --fake-brokers --release-version -r --feature -f --override --output -o'
        case metashell-quorum:status
            string split ' ' -- '--output -o'
        case metashell-quorum:stop
            string split ' ' -- '--output -o'
        case metashell-quorum:describe
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-quorum:add-controller
            string split ' ' -- '--server-config --id --directory-id -d --endpoint --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-quorum:remove-controller
            string split ' ' -- '--directory-id -d --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-topics:list
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-topics:describe
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-topics:create
            string split ' ' -- '--partitions -p --replication-factor -r --assignment --config --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-topics:alter
            string split ' ' -- '--partitions -p --assignment --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-topics:delete
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-configs:get
            string split ' ' -- '--key -k --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-configs:set
            string split ' ' -- '--from-file --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-configs:unset
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-cluster
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-brokers:list
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-brokers:describe
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-brokers:unregister
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-features:describe
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-features:upgrade
            string split ' ' -- '--release-version -r --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-features:downgrade
            string split ' ' -- '--release-version -r --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-features:disable
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-elect:preferred
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-elect:unclean
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-reassign:plan
            string split ' ' -- '--off --brokers --topic -t --even --sizes --throttle --out --snapshot -s --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-reassign:apply
            string split ' ' -- '--throttle --batch --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-reassign:status
            string split ' ' -- '--throttle --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-reassign:cancel
            string split ' ' -- '--throttle --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-acls:list
            string split ' ' -- '--topic --group --transactional-id --delegation-token --user-principal --pattern --principal --host --operation --permission --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-acls:add
            string split ' ' -- '--allow-principal --allow --deny-principal --deny --host --operation --topic --group --transactional-id --delegation-token --user-principal --pattern --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-acls:remove
            string split ' ' -- '--topic --group --transactional-id --delegation-token --user-principal --pattern --principal --host --operation --permission --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-quotas:list
            string split ' ' -- '--user --client-id --client --ip --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-quotas:set
            string split ' ' -- '--user --client-id --client --ip --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-quotas:unset
            string split ' ' -- '--user --client-id --client --ip --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-scram:list
            string split ' ' -- '--output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-scram:set
            string split ' ' -- '--mechanism --iterations --password-file --password-env --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-scram:delete
            string split ' ' -- '--mechanism --output -o --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-groups:list
            string split ' ' -- '--group-type --state --output -o --max-decompressed --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-groups:describe
            string split ' ' -- '--metadata --output -o --max-decompressed --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-groups:offsets
            string split ' ' -- '--metadata --output -o --max-decompressed --bootstrap-server -b --bootstrap-controller --controllers -C --command-config -c --address-map --timeout'
        case metashell-groups:why
            string split ' ' -- '--last --metadata --output -o --max-decompressed'
        case metashell-groups:history
            string split ' ' -- '--since --until --metadata --output -o --max-decompressed'
        case metashell-groups:expiring
            string split ' ' -- '--within --retention --at --output -o --max-decompressed'
        case metashell-groups:downgrade-check
            string split ' ' -- '--to --output -o --max-decompressed'
        case metashell-groups:streams-upgrade
            string split ' ' -- '--output -o --max-decompressed'
        case metashell-groups:assign
            string split ' ' -- '--assignor -a --output -o'
        case metashell-server
            string split ' ' -- '--override --log-format --metrics-port'
        case metashell-export
            string split ' ' -- '--out --format -f --tables -t --on-error --jobs -j --log'
        case metashell-sql
            string split ' ' -- '--output -o --on-error --log'
        case metashell-report
            string split ' ' -- '--out --format --on-error'
        case spark-reports
            string split ' ' -- '--out --master --format --table --on-error --split-size'
    end
end

# The words of the line that are no options and no values of options, without the command itself.
function __metashell_words
    set -l line (commandline -opc)
    set -l label (path basename $line[1] 2>/dev/null; or basename $line[1])
    set -l count 0
    set -l skip 0
    for word in $line[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word (__metashell_valued $label)
            set skip 1
        else if not string match -q -- '-?*' $word
            echo $word
            set count (math $count + 1)
            test $count = 1; and set -l own (__metashell_valued $label:$word); and set label $label:$word
        end
    end
end

function __metashell_words_are
    test (count (__metashell_words)) = $argv[1]
end

function __metashell_words_are_at_least
    test (count (__metashell_words)) -ge $argv[1]
end

function __metashell_command_is
    set -l words (__metashell_words)
    test "$words[1]" = $argv[1]
end

function __metashell_tool_of
    switch $argv[1]
        case shell
            echo kafka-shell
        case dump-log
            echo dump-log
        case verify
            echo metashell-verify
        case rehearse
            echo metashell-rehearse
        case simulate
            echo metashell-simulate
        case report
            echo metashell-report
        case storage
            echo metashell-storage
        case quorum
            echo metashell-quorum
        case topics
            echo metashell-topics
        case configs
            echo metashell-configs
        case cluster
            echo metashell-cluster
        case brokers
            echo metashell-brokers
        case features
            echo metashell-features
        case elect
            echo metashell-elect
        case reassign
            echo metashell-reassign
        case acls
            echo metashell-acls
        case quotas
            echo metashell-quotas
        case scram
            echo metashell-scram
        case groups
            echo metashell-groups
        case server
            echo metashell-server
        case export
            echo metashell-export
        case sql
            echo metashell-sql
        case completion
            echo metashell-completion
        case kafka-metadata-shell
            echo kafka-metadata-shell
        case kafka-dump-log
            echo kafka-dump-log
        case kafka-storage
            echo kafka-storage
        case kafka-cluster
            echo kafka-cluster
        case kafka-metadata-quorum
            echo kafka-metadata-quorum
        case kafka-features
            echo kafka-features
    end
end

# What the tool that `metashell COMMAND` calls would complete.
function __metashell_of_tool
    set -l line (commandline -opc)
    set -l tool (__metashell_tool_of $line[2])
    test -n "$tool"; and complete -C (string join -- ' ' $tool (string escape -- $line[3..-1]) (commandline -ct))
end

# Paths below the directory that is being typed, of the source that the line names.
function __metashell_nodes
    set -l words (commandline -opc)
    set -l source
    for index in (seq 2 (count $words))
        switch $words[$index]
            case --demo
                set source --demo
            case -s --snapshot
                set source -s $words[(math $index + 1)]
        end
    end
    test (count $source) -gt 0; or return
    set -l directory (string replace -r '[^/]*$' '' -- (commandline -ct))
    test -n "$directory"; or set directory /
    for name in (kafka-shell $source ls -1 $directory 2>/dev/null)
        echo $directory$name
    end
end

complete -c metashell -f
complete -c metashell -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell -n '__metashell_words_are 0' -x -a shell -d 'look at the metadata of a Kafka cluster as a tree of files'
complete -c metashell -n '__metashell_words_are 0' -x -a dump-log -d 'print the batches and records of Kafka’s logs and checkpoints as JSON lines'
complete -c metashell -n '__metashell_words_are 0' -x -a verify -d 'check what Kafka left on disk: checksums, offsets, epochs, indexes, checkpoints'
complete -c metashell -n '__metashell_words_are 0' -x -a rehearse -d 'what would happen to a cluster: steps tried on a copy of its metadata'
complete -c metashell -n '__metashell_words_are 0' -x -a simulate -d 'how groups rebalance, simulated'
complete -c metashell -n '__metashell_words_are 0' -x -a report -d 'answer an operator’s question from the logs of a cluster, as a table and as a page'
complete -c metashell -n '__metashell_words_are 0' -x -a storage -d 'prepare and inspect the log directories of a node'
complete -c metashell -n '__metashell_words_are 0' -x -a quorum -d 'a quorum of controllers on this machine, and the quorum of any cluster'
complete -c metashell -n '__metashell_words_are 0' -x -a topics -d 'list, describe, create, alter and delete topics'
complete -c metashell -n '__metashell_words_are 0' -x -a configs -d 'show and change settings of topics, brokers, groups and client metrics'
complete -c metashell -n '__metashell_words_are 0' -x -a cluster -d 'show how a cluster is: its quorum, brokers, features, and what is wrong'
complete -c metashell -n '__metashell_words_are 0' -x -a brokers -d 'list and describe brokers, and unregister those that are gone'
complete -c metashell -n '__metashell_words_are 0' -x -a features -d 'show, upgrade, downgrade and disable features'
complete -c metashell -n '__metashell_words_are 0' -x -a elect -d 'let partitions have another leader'
complete -c metashell -n '__metashell_words_are 0' -x -a reassign -d 'move replicas between brokers: plan, apply, status, cancel'
complete -c metashell -n '__metashell_words_are 0' -x -a acls -d 'access control entries: list, add, remove'
complete -c metashell -n '__metashell_words_are 0' -x -a quotas -d 'quotas of users, client ids and addresses: list, set, unset'
complete -c metashell -n '__metashell_words_are 0' -x -a scram -d 'SCRAM credentials of users: list, set, delete'
complete -c metashell -n '__metashell_words_are 0' -x -a groups -d 'what groups do with topics and partitions'
complete -c metashell -n '__metashell_words_are 0' -x -a server -d 'run a controller from Kafka’s server.properties'
complete -c metashell -n '__metashell_words_are 0' -x -a export -d 'write the records of logs as tables: Parquet, Arrow, CSV or JSON lines'
complete -c metashell -n '__metashell_words_are 0' -x -a sql -d 'ask questions of logs in SQL'
complete -c metashell -n '__metashell_words_are 0' -x -a completion -d 'print the completions of all commands for bash, zsh or fish'
complete -c metashell -n '__metashell_words_are 0' -x -a kafka-metadata-shell -d 'Kafka’s metadata shell: same options and output'
complete -c metashell -n '__metashell_words_are 0' -x -a kafka-dump-log -d 'Kafka’s dump-log tool: same options and output'
complete -c metashell -n '__metashell_words_are 0' -x -a kafka-storage -d 'Kafka’s storage tool: same options and output'
complete -c metashell -n '__metashell_words_are 0' -x -a kafka-cluster -d 'Kafka’s cluster tool: same options and output'
complete -c metashell -n '__metashell_words_are 0' -x -a kafka-metadata-quorum -d 'Kafka’s quorum tool: same options and output'
complete -c metashell -n '__metashell_words_are 0' -x -a kafka-features -d 'Kafka’s features tool: same options and output'
complete -c metashell -n 'not __metashell_words_are 0' -x -a '(__metashell_of_tool)'
complete -c kafka-shell -f
complete -c kafka-shell -n '__metashell_words_are 0' -l snapshot -s s -r -F -d 'a .checkpoint, a bootstrap.checkpoint or a .log segment, a metadata directory, or the log directory above it'
complete -c kafka-shell -n '__metashell_words_are 0' -l bootstrap-controller -l controllers -s C -x -d 'attach to the quorum of these controllers as an observer; ID@HOST:PORT works too'
complete -c kafka-shell -n '__metashell_words_are 0' -l bootstrap-server -s b -x -d 'ask these brokers for the controllers, and attach there'
complete -c kafka-shell -n '__metashell_words_are 0' -l command-config -l config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c kafka-shell -n '__metashell_words_are 0' -l address-map -x -d 'connect to the second address in place of the first, where controllers advertise one that is not reachable from here'
complete -c kafka-shell -n '__metashell_words_are 0' -l timeout -x -d 'give up attaching after this time (10; 2 if no address accepts a connection); an attached observer has no limit'
complete -c kafka-shell -n '__metashell_words_are 0' -l allow-changes -d 'with a live quorum: let `set`, `unset`, `create`, `alter`, `delete`, `elect` and `unregister` change the cluster'
complete -c kafka-shell -n '__metashell_words_are 0' -l demo -d 'open the directory of a real controller that ships with the package'
complete -c kafka-shell -n '__metashell_words_are 0' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the output'
complete -c kafka-shell -n '__metashell_words_are 0' -l certain-only -d 'stop at the newest complete checkpoint of a directory: what follows may not have been committed'
complete -c kafka-shell -n '__metashell_words_are 0' -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c kafka-shell -n '__metashell_words_are 0' -l keep-going -s k -d 'in a script, go on after a command that failed'
complete -c kafka-shell -n '__metashell_words_are 0' -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c kafka-shell -n '__metashell_words_are 0' -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c kafka-shell -n '__metashell_words_are 0' -l no-color -d 'print no colours, as if NO_COLOR were set in the environment'
complete -c kafka-shell -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c kafka-shell -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_words_are 0' -F
complete -c kafka-shell -n '__metashell_words_are 0' -x -a alter -d 'add partitions to topics'
complete -c kafka-shell -n '__metashell_command_is alter' -l partitions -s p -x -d 'number of partitions in all'
complete -c kafka-shell -n '__metashell_command_is alter' -l dry-run -s n -d 'change nothing: show what would be done'
complete -c kafka-shell -n '__metashell_command_is alter' -l yes -s y -d 'do it without asking'
complete -c kafka-shell -n '__metashell_command_is alter' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is alter' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is alter; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a cat -d 'print the contents of metadata leaves'
complete -c kafka-shell -n '__metashell_command_is cat' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is cat' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is cat; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a cd -d 'set the current working directory'
complete -c kafka-shell -n '__metashell_command_is cd' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is cd' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is cd; and __metashell_words_are 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a create -d 'make a topic'
complete -c kafka-shell -n '__metashell_command_is create' -l partitions -s p -x -d 'number of partitions'
complete -c kafka-shell -n '__metashell_command_is create' -l replication-factor -s r -x -d 'number of replicas of each'
complete -c kafka-shell -n '__metashell_command_is create' -l dry-run -s n -d 'change nothing: show what would be done'
complete -c kafka-shell -n '__metashell_command_is create' -l yes -s y -d 'do it without asking'
complete -c kafka-shell -n '__metashell_command_is create' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is create' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is create; and __metashell_words_are 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a delete -d 'delete topics, settings, quotas, access control entries and credentials'
complete -c kafka-shell -n '__metashell_command_is delete' -l dry-run -s n -d 'change nothing: show what would be done'
complete -c kafka-shell -n '__metashell_command_is delete' -l yes -s y -d 'do it without asking'
complete -c kafka-shell -n '__metashell_command_is delete' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is delete' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is delete; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a elect -d 'let partitions have another leader'
complete -c kafka-shell -n '__metashell_command_is elect' -l unclean -d 'of partitions without a leader, also a replica that is not in sync'
complete -c kafka-shell -n '__metashell_command_is elect' -l dry-run -s n -d 'change nothing: show what would be done'
complete -c kafka-shell -n '__metashell_command_is elect' -l yes -s y -d 'do it without asking'
complete -c kafka-shell -n '__metashell_command_is elect' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is elect' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is elect; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a exit -d 'leave the shell'
complete -c kafka-shell -n '__metashell_command_is exit' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is exit' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a find -d 'search for nodes below directories'
complete -c kafka-shell -n '__metashell_command_is find' -o name -l name -x -d 'the last component fits the pattern'
complete -c kafka-shell -n '__metashell_command_is find' -o path -l path-glob -x -d 'the whole path fits the pattern'
complete -c kafka-shell -n '__metashell_command_is find' -o regex -l regex -x -d 'the whole path fits the expression'
complete -c kafka-shell -n '__metashell_command_is find' -o type -l type -x -a 'd f topic partition broker controller config acl quota scram token group member offset' -d 'the node is one of these'
complete -c kafka-shell -n '__metashell_command_is find' -o maxdepth -l maxdepth -x -d 'go no deeper than N levels below PATH'
complete -c kafka-shell -n '__metashell_command_is find' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is find' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is find; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a follow -d 'print every change as it is committed'
complete -c kafka-shell -n '__metashell_command_is follow' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is follow' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a help -d 'list the commands'
complete -c kafka-shell -n '__metashell_command_is help' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is help' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is help; and __metashell_words_are 1' -x -a 'alter cat cd create delete elect exit find follow help history ls man pwd set status tree unregister unset watch'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a history -d 'print the lines typed so far'
complete -c kafka-shell -n '__metashell_command_is history' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is history' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a ls -d 'list directories'
complete -c kafka-shell -n '__metashell_command_is ls' -s l -l long -d 'one line for each name, with its type and what matters about it'
complete -c kafka-shell -n '__metashell_command_is ls' -s R -l recursive -d 'the directories below too'
complete -c kafka-shell -n '__metashell_command_is ls' -s 1 -l one -d 'one name a line, also on a terminal'
complete -c kafka-shell -n '__metashell_command_is ls' -s d -l directory -d 'directories themselves, not what they hold'
complete -c kafka-shell -n '__metashell_command_is ls' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is ls' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is ls; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a man -d 'show the page of a command'
complete -c kafka-shell -n '__metashell_command_is man' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is man' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is man; and __metashell_words_are 1' -x -a 'alter cat cd create delete elect exit find follow help history ls man pwd set status tree unregister unset watch'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a pwd -d 'print the current working directory'
complete -c kafka-shell -n '__metashell_command_is pwd' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is pwd' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a set -d 'change settings, quotas, passwords and feature levels'
complete -c kafka-shell -n '__metashell_command_is set' -l dry-run -s n -d 'change nothing: show what would be done'
complete -c kafka-shell -n '__metashell_command_is set' -l yes -s y -d 'do it without asking'
complete -c kafka-shell -n '__metashell_command_is set' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is set' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is set; and __metashell_words_are 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a status -d 'show what was read, how far it is certain, and what is wrong'
complete -c kafka-shell -n '__metashell_command_is status' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is status' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a tree -d 'show directories and the leaves in them'
complete -c kafka-shell -n '__metashell_command_is tree' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is tree' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is tree; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a unregister -d 'let the cluster forget brokers that are gone for good'
complete -c kafka-shell -n '__metashell_command_is unregister' -l force -d 'also a broker that is not fenced'
complete -c kafka-shell -n '__metashell_command_is unregister' -l dry-run -s n -d 'change nothing: show what would be done'
complete -c kafka-shell -n '__metashell_command_is unregister' -l yes -s y -d 'do it without asking'
complete -c kafka-shell -n '__metashell_command_is unregister' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is unregister' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is unregister; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a unset -d 'remove settings and quotas'
complete -c kafka-shell -n '__metashell_command_is unset' -l dry-run -s n -d 'change nothing: show what would be done'
complete -c kafka-shell -n '__metashell_command_is unset' -l yes -s y -d 'do it without asking'
complete -c kafka-shell -n '__metashell_command_is unset' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is unset' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is unset; and __metashell_words_are 1' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_words_are 0' -x -a watch -d 'print the changes below paths as they are committed'
complete -c kafka-shell -n '__metashell_command_is watch' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_command_is watch' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_command_is watch; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c dump-log -f
complete -c dump-log -l files -r -F -d 'the files to dump, separated by commas'
complete -c dump-log -l cluster-metadata-decoder -d 'decode records of the metadata log and its checkpoints'
complete -c dump-log -l offsets-decoder -d 'decode records of __consumer_offsets'
complete -c dump-log -l transaction-log-decoder -d 'decode records of __transaction_state'
complete -c dump-log -l share-group-state-decoder -d 'decode records of __share_group_state'
complete -c dump-log -l remote-log-metadata-decoder -d 'decode records of __remote_log_metadata'
complete -c dump-log -l key-decoder-class -x -d 'how to read keys: String, Integer, Long or Default (bytes), or Kafka’s class of that name'
complete -c dump-log -l value-decoder-class -x -d 'how to read values: String, Integer, Long or Default (bytes), or Kafka’s class of that name'
complete -c dump-log -l print-data-log -d 'print keys and values too; any decoder turns it on'
complete -c dump-log -l deep-iteration -d 'print the records of each batch; --print-data-log turns it on'
complete -c dump-log -l skip-record-metadata -d 'print only the key and value of a record; control records are left out'
complete -c dump-log -l verify-index-only -d 'check an index and print no entries'
complete -c dump-log -l index-sanity-check -d 'run only the check of an index that a broker runs when it starts'
complete -c dump-log -l max-bytes -x -d 'read only this many bytes of each log or checkpoint'
complete -c dump-log -l max-message-size -x -d 'size of the largest message that an index entry may point at'
complete -c dump-log -l type -s t -x -a '(__fish_append , REGISTER_BROKER_RECORD UNREGISTER_BROKER_RECORD TOPIC_RECORD PARTITION_RECORD CONFIG_RECORD PARTITION_CHANGE_RECORD ACCESS_CONTROL_RECORD FENCE_BROKER_RECORD UNFENCE_BROKER_RECORD REMOVE_TOPIC_RECORD DELEGATION_TOKEN_RECORD USER_SCRAM_CREDENTIAL_RECORD FEATURE_LEVEL_RECORD CLIENT_QUOTA_RECORD PRODUCER_IDS_RECORD BROKER_REGISTRATION_CHANGE_RECORD ACCESS_CONTROL_ENTRY_RECORD REMOVE_ACCESS_CONTROL_ENTRY_RECORD NO_OP_RECORD ZK_MIGRATION_STATE_RECORD REMOVE_USER_SCRAM_CREDENTIAL_RECORD BEGIN_TRANSACTION_RECORD END_TRANSACTION_RECORD ABORT_TRANSACTION_RECORD REMOVE_DELEGATION_TOKEN_RECORD REGISTER_CONTROLLER_RECORD CLEAR_ELR_RECORD LEGACY_OFFSET_COMMIT OFFSET_COMMIT GROUP_METADATA CONSUMER_GROUP_METADATA CONSUMER_GROUP_PARTITION_METADATA CONSUMER_GROUP_MEMBER_METADATA CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT SHARE_GROUP_MEMBER_METADATA SHARE_GROUP_METADATA SHARE_GROUP_TARGET_ASSIGNMENT_METADATA SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT SHARE_GROUP_STATE_PARTITION_METADATA CONSUMER_GROUP_REGULAR_EXPRESSION STREAMS_GROUP_METADATA STREAMS_GROUP_MEMBER_METADATA STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT STREAMS_GROUP_TOPOLOGY SHARE_GROUP_PARTITION_METADATA STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS TRANSACTION_LOG SHARE_SNAPSHOT SHARE_UPDATE REMOTE_LOG_SEGMENT_METADATA_RECORD REMOTE_LOG_SEGMENT_METADATA_UPDATE_RECORD REMOTE_PARTITION_DELETE_METADATA_RECORD REMOTE_LOG_SEGMENT_METADATA_SNAPSHOT_RECORD)' -d 'only records of this type, such as TOPIC_RECORD or GROUP_METADATA'
complete -c dump-log -l offset -x -d 'only these offsets, both included; either may be missing'
complete -c dump-log -l since -x -d 'only records of this time or later: ISO 8601 (UTC where no zone is given) or Unix ms'
complete -c dump-log -l until -x -d 'only records of this time or earlier'
complete -c dump-log -l key -x -d 'only records whose key contains a match'
complete -c dump-log -l value -x -d 'only records whose printed value contains a match'
complete -c dump-log -l batches -d 'print batches along with records; =only prints nothing else'
complete -c dump-log -l follow -s f -d 'wait at the end for what the node writes, or the quorum commits, next; Ctrl-C ends it'
complete -c dump-log -l bootstrap-controller -l controllers -s C -x -d 'attach to the quorum of these controllers as an observer; ID@HOST:PORT works too'
complete -c dump-log -l bootstrap-server -s b -x -d 'ask these brokers for the controllers, and attach there'
complete -c dump-log -l command-config -l config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c dump-log -l address-map -x -d 'connect to the second address in place of the first, where controllers advertise one that is not reachable from here'
complete -c dump-log -l timeout -x -d 'give up attaching after this time (10; 2 if no address accepts a connection); an attached observer has no limit'
complete -c dump-log -l summary -d 'print counts by type and version, offsets, time span, epochs, gaps and compression; a table without -o'
complete -c dump-log -l output -s o -x -a 'jsonl json kafka table' -d 'one object a line (jsonl, the default), or another form; only --summary has table'
complete -c dump-log -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c dump-log -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c dump-log -l jobs -s j -x -d 'number of processes; 0 means one for each core'
complete -c dump-log -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c dump-log -l version -d 'print the version and exit'
complete -c dump-log -l help -s h -d 'show the help and exit'
complete -c dump-log -n '__metashell_words_are_at_least 0' -F
complete -c kafka-metadata-shell -f
complete -c kafka-metadata-shell -n '__metashell_words_are 0' -l snapshot -s s -r -F -d 'The metadata snapshot file to read.'
complete -c kafka-metadata-shell -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c kafka-metadata-shell -n '__metashell_words_are 0' -F
complete -c kafka-metadata-shell -n '__metashell_words_are 0' -x -a cat -d 'print the contents of metadata leaves'
complete -c kafka-metadata-shell -n '__metashell_command_is cat; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-metadata-shell -n '__metashell_words_are 0' -x -a find -d 'search for nodes below directories'
complete -c kafka-metadata-shell -n '__metashell_command_is find; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-metadata-shell -n '__metashell_words_are 0' -x -a ls -d 'list directories'
complete -c kafka-metadata-shell -n '__metashell_command_is ls; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-metadata-shell -n '__metashell_words_are 0' -x -a tree -d 'show directories and the leaves in them'
complete -c kafka-metadata-shell -n '__metashell_command_is tree; and __metashell_words_are_at_least 1' -x -a '(__metashell_nodes)'
complete -c kafka-dump-log -f
complete -c kafka-dump-log -l files -r -F -d 'the files to dump, separated by commas'
complete -c kafka-dump-log -l cluster-metadata-decoder -d 'decode records of the metadata log and its checkpoints'
complete -c kafka-dump-log -l print-data-log -d 'print keys and values too; any decoder turns it on'
complete -c kafka-dump-log -l deep-iteration -d 'print the records of each batch; --print-data-log turns it on'
complete -c kafka-dump-log -l skip-record-metadata -d 'print only the key and value of a record; control records are left out'
complete -c kafka-dump-log -l max-bytes -x -d 'read only this many bytes of each log or checkpoint'
complete -c kafka-dump-log -l max-message-size -x -d 'size of the largest message that an index entry may point at'
complete -c kafka-dump-log -l verify-index-only -d 'check an index and print no entries'
complete -c kafka-dump-log -l index-sanity-check -d 'run only the check of an index that a broker runs when it starts'
complete -c kafka-dump-log -l offsets-decoder -d 'decode records of __consumer_offsets'
complete -c kafka-dump-log -l transaction-log-decoder -d 'decode records of __transaction_state'
complete -c kafka-dump-log -l share-group-state-decoder -d 'decode records of __share_group_state'
complete -c kafka-dump-log -l remote-log-metadata-decoder -d 'decode records of __remote_log_metadata'
complete -c kafka-dump-log -l key-decoder-class -d 'how to read keys: String, Integer, Long or Default (bytes), or Kafka’s class of that name'
complete -c kafka-dump-log -l value-decoder-class -d 'how to read values: String, Integer, Long or Default (bytes), or Kafka’s class of that name'
complete -c kafka-dump-log -l version -d 'print the version and exit'
complete -c kafka-dump-log -l help -d 'show the help and exit'
complete -c metashell-verify -f
complete -c metashell-verify -l deep -d 'decode every record of metadata, groups, transactions and share groups'
complete -c metashell-verify -l digest -d 'print a hash of each path’s image of everything before OFFSET, as checkpoints are named; by default at the end'
complete -c metashell-verify -l start-safe -d 'instead, predict whether Kafka would start, what it would cut or delete, and what would be lost'
complete -c metashell-verify -l config -s c -r -F -d 'the server’s configuration, for --start-safe: a directory of another node.id is refused'
complete -c metashell-verify -l output -s o -x -a 'text json jsonl' -d 'form of the output'
complete -c metashell-verify -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c metashell-verify -l verbose -s v -d 'also report what is not a finding: torn tails, files that vanished meanwhile'
complete -c metashell-verify -l version -d 'print the version and exit'
complete -c metashell-verify -l help -s h -d 'show the help and exit'
complete -c metashell-verify -n '__metashell_words_are_at_least 0' -F
complete -c metashell-rehearse -f
complete -c metashell-rehearse -l snapshot -s s -r -F -d 'a .checkpoint, a bootstrap.checkpoint or a .log segment, a metadata directory, or the log directory above it'
complete -c metashell-rehearse -l bootstrap-controller -l controllers -s C -x -d 'attach to the quorum of these controllers as an observer; ID@HOST:PORT works too'
complete -c metashell-rehearse -l bootstrap-server -s b -x -d 'ask these brokers for the controllers, and attach there'
complete -c metashell-rehearse -l command-config -l config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-rehearse -l address-map -x -d 'connect to the second address in place of the first, where controllers advertise one that is not reachable from here'
complete -c metashell-rehearse -l timeout -x -d 'give up attaching after this time (10; 2 if no address accepts a connection); an attached observer has no limit'
complete -c metashell-rehearse -l demo -d 'open the directory of a real controller that ships with the package'
complete -c metashell-rehearse -l sizes -r -F -d 'sizes of partitions: what `kafka-log-dirs --describe` prints'
complete -c metashell-rehearse -l assume -x -d 'assume something else; ASSUMPTIONS lists the names'
complete -c metashell-rehearse -l html -r -F -d 'write the answer as one HTML page with a timeline, too'
complete -c metashell-rehearse -l show -x -d 'print only these parts, whole: steps, events, troubles, quorum, states, brokers, racks, copied, diff, records, assumptions'
complete -c metashell-rehearse -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-rehearse -l certain-only -d 'stop at the newest complete checkpoint of a directory: what follows may not have been committed'
complete -c metashell-rehearse -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c metashell-rehearse -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c metashell-rehearse -l no-color -d 'print no colours, as if NO_COLOR were set in the environment'
complete -c metashell-rehearse -l version -d 'print the version and exit'
complete -c metashell-rehearse -l help -s h -d 'show the help and exit'
complete -c metashell-rehearse -n '__metashell_words_are_at_least 0' -x -a 'kill-broker restart-broker roll-brokers lose-rack unregister reassign add-broker elect feature lose-controller topic config'
complete -c metashell-simulate -f
complete -c metashell-simulate -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-simulate -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-simulate -n '__metashell_words_are 0' -x -a rebalance -d 'what rebalances cost a group, by strategy'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l members -x -d 'members of the group before the scenario'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l partitions -x -d 'partitions, of all topics together'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l topics -x -d 'topics, to which all members subscribe'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l strategy -x -a '(__fish_append , eager eager-roundrobin eager-sticky cooperative consumer consumer-range streams streams-2.0)' -d 'the strategies that are compared; STRATEGIES lists them'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l scenario -x -a 'cold-start late-join join leave scale-out scale-in crash leader-crash bounce static-bounce restart-all storm slow-member stuck-member no-poll pause twin more-partitions topic-deleted failover coordinator-crash bad-network to-cooperative to-cooperative-at-once to-consumer to-classic streams-upgrade' -d 'what happens; SCENARIOS lists them'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l static -d 'members are static: they have instance ids'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l seed -x -d 'where chance comes from: the same seed, the same answer'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l assume -x -d 'assume something else; ASSUMPTIONS lists the names'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l html -r -F -d 'write the answer as one HTML page with pictures, too'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l verbose -s v -d 'report on standard error how many events a second were simulated'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l no-color -d 'print no colours, as if NO_COLOR were set in the environment'
complete -c metashell-simulate -n '__metashell_command_is rebalance' -l help -s h -d 'show the help and exit'
complete -c metashell-storage -f
complete -c metashell-storage -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-storage -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-storage -n '__metashell_words_are 0' -x -a format -d 'prepare the log directories of a node before its server first starts'
complete -c metashell-storage -n '__metashell_command_is format' -l config -s c -r -F -d 'the server’s configuration, a properties file'
complete -c metashell-storage -n '__metashell_command_is format' -l cluster-id -s t -x -d 'the id of the cluster, the same on all its nodes'
complete -c metashell-storage -n '__metashell_command_is format' -l add-scram -s S -x -d 'a credential, SCRAM-SHA-256=[name=alice,password=...] or SCRAM-SHA-512=[...]; other users of this machine can see it'
complete -c metashell-storage -n '__metashell_command_is format' -l add-scram-file -r -F -d 'SCRAM credentials, one a line as in --add-scram; `-` is standard input. No password shows in a process list'
complete -c metashell-storage -n '__metashell_command_is format' -l ignore-formatted -s g -d 'skip directories that are formatted already, instead of failing'
complete -c metashell-storage -n '__metashell_command_is format' -l release-version -s r -x -d 'the release whose feature levels a new cluster gets (3.3 and later; by default the newest for production)'
complete -c metashell-storage -n '__metashell_command_is format' -l feature -s f -x -d 'a feature and its level'
complete -c metashell-storage -n '__metashell_command_is format' -l standalone -s s -d 'this controller is the only voter of a new dynamic quorum'
complete -c metashell-storage -n '__metashell_command_is format' -l no-initial-controllers -s N -d 'this node joins a dynamic quorum that others form'
complete -c metashell-storage -n '__metashell_command_is format' -l initial-controllers -s I -x -d 'the voters of a new dynamic quorum, id@host:port:directory-id separated by commas, the same on all of them'
complete -c metashell-storage -n '__metashell_command_is format' -l dry-run -d 'check everything and show what would be written, but write nothing'
complete -c metashell-storage -n '__metashell_command_is format' -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c metashell-storage -n '__metashell_command_is format' -l output -s o -x -a 'text json kafka' -d 'form of the output'
complete -c metashell-storage -n '__metashell_command_is format' -l help -s h -d 'show the help and exit'
complete -c metashell-storage -n '__metashell_words_are 0' -x -a info -d 'show what the log directories of a node hold, and what is wrong with them'
complete -c metashell-storage -n '__metashell_command_is info' -l config -s c -r -F -d 'the server’s configuration, a properties file'
complete -c metashell-storage -n '__metashell_command_is info' -l output -s o -x -a 'text json kafka' -d 'form of the output'
complete -c metashell-storage -n '__metashell_command_is info' -l help -s h -d 'show the help and exit'
complete -c metashell-storage -n '__metashell_words_are 0' -x -a version-mapping -d 'show the level of every feature in a release'
complete -c metashell-storage -n '__metashell_command_is version-mapping' -l release-version -s r -x -d 'the release whose feature levels a new cluster gets (3.3 and later; by default the newest for production)'
complete -c metashell-storage -n '__metashell_command_is version-mapping' -l output -s o -x -a 'text json kafka' -d 'form of the output'
complete -c metashell-storage -n '__metashell_command_is version-mapping' -l help -s h -d 'show the help and exit'
complete -c metashell-storage -n '__metashell_words_are 0' -x -a feature-dependencies -d 'show which other features a level of a feature requires'
complete -c metashell-storage -n '__metashell_command_is feature-dependencies' -l feature -s f -x -d 'a feature and its level'
complete -c metashell-storage -n '__metashell_command_is feature-dependencies' -l output -s o -x -a 'text json kafka' -d 'form of the output'
complete -c metashell-storage -n '__metashell_command_is feature-dependencies' -l help -s h -d 'show the help and exit'
complete -c metashell-storage -n '__metashell_words_are 0' -x -a random-uuid -d 'make a new id for a cluster or a directory'
complete -c metashell-storage -n '__metashell_command_is random-uuid' -l output -s o -x -a 'text json kafka' -d 'form of the output'
complete -c metashell-storage -n '__metashell_command_is random-uuid' -l help -s h -d 'show the help and exit'
complete -c kafka-storage -f
complete -c kafka-storage -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c kafka-storage -n '__metashell_words_are 0' -x -a info -d 'Get information about the Kafka log directories on this node.'
complete -c kafka-storage -n '__metashell_command_is info' -l config -s c -r -F -d 'The Kafka configuration file to use.'
complete -c kafka-storage -n '__metashell_command_is info' -l help -s h -d 'show the help and exit'
complete -c kafka-storage -n '__metashell_words_are 0' -x -a format -d 'Format the Kafka log directories on this node.'
complete -c kafka-storage -n '__metashell_command_is format' -l config -s c -r -F -d 'The Kafka configuration file to use.'
complete -c kafka-storage -n '__metashell_command_is format' -l cluster-id -s t -x -d 'The cluster ID to use.'
complete -c kafka-storage -n '__metashell_command_is format' -l add-scram -s S -x -d 'A SCRAM_CREDENTIAL to add to the __cluster_metadata log e.g. ’SCRAM-SHA-256=[name=alice,password=alice-secret]’ ’SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]’'
complete -c kafka-storage -n '__metashell_command_is format' -l ignore-formatted -s g -d 'When this option is passed, the format command will skip over already formatted directories rather than failing.'
complete -c kafka-storage -n '__metashell_command_is format' -l release-version -s r -x -d 'The release version to use for the initial feature settings. The minimum is 3.3-IV3; the default is 4.3-IV0'
complete -c kafka-storage -n '__metashell_command_is format' -l feature -s f -x -d 'The setting to use for a specific feature, in feature=level format. For example: `kraft.version=1`.'
complete -c kafka-storage -n '__metashell_command_is format' -l standalone -s s -d 'Used to initialize a controller as a single-node dynamic quorum. When setting this flag, the controller.quorum.voters config must not be set, and controller.quorum.bootstrap.servers is set instead.'
complete -c kafka-storage -n '__metashell_command_is format' -l no-initial-controllers -s N -d 'Used to initialize a server without specifying a dynamic quorum. When setting this flag, the controller.quorum.voters config should not be set, and controller.quorum.bootstrap.servers is set instead.'
complete -c kafka-storage -n '__metashell_command_is format' -l initial-controllers -s I -x -d 'Used to initialize a server with the specified dynamic quorum. The argument is a comma-separated list of id@hostname:port:directory. The same values must be used to format all nodes. For example: 0@example.com:8082:JEXY6aqzQY-32P5TStzaFg,1@example.com:8083:MvDxzVmcRsaTz33bUuRU6A,2@example.com:8084:07R5amHmR32VDA6jHkGbTA . When setting this flag, the controller.quorum.voters config must not be set, and controller.quorum.bootstrap.servers is set instead.'
complete -c kafka-storage -n '__metashell_command_is format' -l help -s h -d 'show the help and exit'
complete -c kafka-storage -n '__metashell_words_are 0' -x -a version-mapping -d 'Look up the corresponding features for a given metadata version. Using the command with no --release-version argument will return the mapping for the latest stable metadata version'
complete -c kafka-storage -n '__metashell_command_is version-mapping' -l release-version -s r -x -d 'The release version to use for the corresponding feature mapping. The minimum is 3.3-IV3; the default is 4.3-IV0'
complete -c kafka-storage -n '__metashell_command_is version-mapping' -l help -s h -d 'show the help and exit'
complete -c kafka-storage -n '__metashell_words_are 0' -x -a feature-dependencies -d 'Look up dependencies for a given feature version. If the feature is not known or the version not yet defined, an error is thrown. Multiple features can be specified.'
complete -c kafka-storage -n '__metashell_command_is feature-dependencies' -l feature -s f -x -d 'The features and their versions to look up dependencies for, in feature=version format. For example: `metadata.version=5`.'
complete -c kafka-storage -n '__metashell_command_is feature-dependencies' -l help -s h -d 'show the help and exit'
complete -c kafka-storage -n '__metashell_words_are 0' -x -a random-uuid -d 'Print a random UUID.'
complete -c kafka-storage -n '__metashell_command_is random-uuid' -l help -s h -d 'show the help and exit'
complete -c kafka-cluster -f
complete -c kafka-cluster -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c kafka-cluster -n '__metashell_words_are 0' -x -a cluster-id -d 'Get information about the ID of a cluster.'
complete -c kafka-cluster -n '__metashell_command_is cluster-id' -l bootstrap-server -s b -x -d 'A list of host/port pairs to use for establishing the connection to the Kafka cluster.'
complete -c kafka-cluster -n '__metashell_command_is cluster-id' -l bootstrap-controller -s C -x -d 'A list of host/port pairs to use for establishing the connection to the KRaft controllers.'
complete -c kafka-cluster -n '__metashell_command_is cluster-id' -l config -r -F -d '(DEPRECATED) A property file containing configurations for the Admin client. This option will be removed in a future version. Use --command-config instead.'
complete -c kafka-cluster -n '__metashell_command_is cluster-id' -l command-config -s c -r -F -d 'Config properties file for the Admin client.'
complete -c kafka-cluster -n '__metashell_command_is cluster-id' -l help -s h -d 'show the help and exit'
complete -c kafka-cluster -n '__metashell_words_are 0' -x -a unregister -d 'Unregister a broker.'
complete -c kafka-cluster -n '__metashell_command_is unregister' -l bootstrap-server -s b -x -d 'A list of host/port pairs to use for establishing the connection to the Kafka cluster.'
complete -c kafka-cluster -n '__metashell_command_is unregister' -l bootstrap-controller -s C -x -d 'A list of host/port pairs to use for establishing the connection to the KRaft controllers.'
complete -c kafka-cluster -n '__metashell_command_is unregister' -l config -r -F -d '(DEPRECATED) A property file containing configurations for the Admin client. This option will be removed in a future version. Use --command-config instead.'
complete -c kafka-cluster -n '__metashell_command_is unregister' -l command-config -s c -r -F -d 'Config properties file for the Admin client.'
complete -c kafka-cluster -n '__metashell_command_is unregister' -l id -s i -x -d 'The ID of the broker to unregister.'
complete -c kafka-cluster -n '__metashell_command_is unregister' -l help -s h -d 'show the help and exit'
complete -c kafka-cluster -n '__metashell_words_are 0' -x -a list-endpoints -d 'List endpoints'
complete -c kafka-cluster -n '__metashell_command_is list-endpoints' -l bootstrap-server -s b -x -d 'A list of host/port pairs to use for establishing the connection to the Kafka cluster.'
complete -c kafka-cluster -n '__metashell_command_is list-endpoints' -l bootstrap-controller -s C -x -d 'A list of host/port pairs to use for establishing the connection to the KRaft controllers.'
complete -c kafka-cluster -n '__metashell_command_is list-endpoints' -l config -r -F -d '(DEPRECATED) A property file containing configurations for the Admin client. This option will be removed in a future version. Use --command-config instead.'
complete -c kafka-cluster -n '__metashell_command_is list-endpoints' -l command-config -s c -r -F -d 'Config properties file for the Admin client.'
complete -c kafka-cluster -n '__metashell_command_is list-endpoints' -l include-fenced-brokers -d 'Whether to include fenced brokers when listing broker endpoints'
complete -c kafka-cluster -n '__metashell_command_is list-endpoints' -l help -s h -d 'show the help and exit'
complete -c kafka-metadata-quorum -f
complete -c kafka-metadata-quorum -n '__metashell_words_are 0' -l bootstrap-server -x -d 'A comma-separated list of host:port pairs to use for establishing the connection to the Kafka cluster.'
complete -c kafka-metadata-quorum -n '__metashell_words_are 0' -l bootstrap-controller -x -d 'A comma-separated list of host:port pairs to use for establishing the connection to the Kafka controllers.'
complete -c kafka-metadata-quorum -n '__metashell_words_are 0' -l command-config -r -F -d 'Property file containing configs to be passed to Admin Client. For add-controller, the file is used to specify the controller properties as well.'
complete -c kafka-metadata-quorum -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c kafka-metadata-quorum -n '__metashell_words_are 0' -x -a describe -d 'Describe the metadata quorum info'
complete -c kafka-metadata-quorum -n '__metashell_command_is describe' -l status -d 'A short summary of the quorum status and the other provides detailed information about the status of replication.'
complete -c kafka-metadata-quorum -n '__metashell_command_is describe' -l replication -d 'Detailed information about the status of replication'
complete -c kafka-metadata-quorum -n '__metashell_command_is describe' -l human-readable -d 'Human-readable output'
complete -c kafka-metadata-quorum -n '__metashell_command_is describe' -l help -s h -d 'show the help and exit'
complete -c kafka-metadata-quorum -n '__metashell_words_are 0' -x -a add-controller -d 'Add a controller to the KRaft controller cluster'
complete -c kafka-metadata-quorum -n '__metashell_command_is add-controller' -l dry-run -d 'True if we should print what would be done, but not do it.'
complete -c kafka-metadata-quorum -n '__metashell_command_is add-controller' -l help -s h -d 'show the help and exit'
complete -c kafka-metadata-quorum -n '__metashell_words_are 0' -x -a remove-controller -d 'Remove a controller from the KRaft controller cluster'
complete -c kafka-metadata-quorum -n '__metashell_command_is remove-controller' -l controller-id -s i -x -d 'The id of the controller to remove.'
complete -c kafka-metadata-quorum -n '__metashell_command_is remove-controller' -l controller-directory-id -s d -x -d 'The directory ID of the controller to remove.'
complete -c kafka-metadata-quorum -n '__metashell_command_is remove-controller' -l dry-run -d 'True if we should print what would be done, but not do it.'
complete -c kafka-metadata-quorum -n '__metashell_command_is remove-controller' -l help -s h -d 'show the help and exit'
complete -c kafka-features -f
complete -c kafka-features -n '__metashell_words_are 0' -l bootstrap-server -x -d 'A comma-separated list of host:port pairs to use for establishing the connection to the Kafka cluster.'
complete -c kafka-features -n '__metashell_words_are 0' -l bootstrap-controller -x -d 'A comma-separated list of host:port pairs to use for establishing the connection to the KRaft quorum.'
complete -c kafka-features -n '__metashell_words_are 0' -l command-config -r -F -d 'Property file containing configs to be passed to Admin Client.'
complete -c kafka-features -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c kafka-features -n '__metashell_words_are 0' -x -a describe -d 'Describes the current active feature flags.'
complete -c kafka-features -n '__metashell_command_is describe' -l node-id -x -d 'The node id to which the requests should be sent. If not specified, the requests will be sent to an arbitrary controller/broker.'
complete -c kafka-features -n '__metashell_command_is describe' -l help -s h -d 'show the help and exit'
complete -c kafka-features -n '__metashell_words_are 0' -x -a upgrade -d 'Upgrade one or more feature flags.'
complete -c kafka-features -n '__metashell_command_is upgrade' -l metadata -x -d 'DEPRECATED -- The level to which we should upgrade the metadata. For example, 3.3-IV3.'
complete -c kafka-features -n '__metashell_command_is upgrade' -l release-version -x -d 'The release version to update all features to. For example, 3.9-IV0 will set metadata.version=21 and kraft.version=1. Use the version-mapping command to learn which features will be set for any given version.'
complete -c kafka-features -n '__metashell_command_is upgrade' -l feature -x -d 'A feature upgrade we should perform, in feature=level format. For example: `metadata.version=5`.'
complete -c kafka-features -n '__metashell_command_is upgrade' -l dry-run -d 'Validate this upgrade, but do not perform it.'
complete -c kafka-features -n '__metashell_command_is upgrade' -l help -s h -d 'show the help and exit'
complete -c kafka-features -n '__metashell_words_are 0' -x -a downgrade -d 'Downgrade one or more feature flags.'
complete -c kafka-features -n '__metashell_command_is downgrade' -l metadata -x -d 'DEPRECATED -- The level to which we should downgrade the metadata. For example, 3.3-IV0.'
complete -c kafka-features -n '__metashell_command_is downgrade' -l release-version -x -d 'The release version to downgrade all features to. For example, 3.9-IV0 will set metadata.version=21 and kraft.version=1. Use the version-mapping command to learn which features will be set for any given version.'
complete -c kafka-features -n '__metashell_command_is downgrade' -l feature -x -d 'A feature downgrade we should perform, in feature=level format. For example: `metadata.version=5`.'
complete -c kafka-features -n '__metashell_command_is downgrade' -l unsafe -d 'Perform this downgrade even if it may irreversibly destroy metadata.'
complete -c kafka-features -n '__metashell_command_is downgrade' -l dry-run -d 'Validate this downgrade, but do not perform it.'
complete -c kafka-features -n '__metashell_command_is downgrade' -l help -s h -d 'show the help and exit'
complete -c kafka-features -n '__metashell_words_are 0' -x -a disable -d 'Disable one or more feature flags. This is the same as downgrading the version to zero.'
complete -c kafka-features -n '__metashell_command_is disable' -l feature -x -d 'A feature flag to disable.'
complete -c kafka-features -n '__metashell_command_is disable' -l unsafe -d 'Disable this feature flag even if it may irreversibly destroy metadata.'
complete -c kafka-features -n '__metashell_command_is disable' -l dry-run -d 'Perform a dry-run of this disable operation.'
complete -c kafka-features -n '__metashell_command_is disable' -l help -s h -d 'show the help and exit'
complete -c kafka-features -n '__metashell_words_are 0' -x -a version-mapping -d 'Look up the corresponding features for a given metadata version. Using the command with no --release-version  argument will return the mapping for the latest stable metadata version'
complete -c kafka-features -n '__metashell_command_is version-mapping' -l release-version -x -d 'The release version to use for the corresponding feature mapping. The minimum is 3.3-IV3; the default is 4.3-IV0'
complete -c kafka-features -n '__metashell_command_is version-mapping' -l help -s h -d 'show the help and exit'
complete -c kafka-features -n '__metashell_words_are 0' -x -a feature-dependencies -d 'Look up dependencies for a given feature version. If the feature is not known or the version not yet defined, an error is thrown. Multiple features can be specified.'
complete -c kafka-features -n '__metashell_command_is feature-dependencies' -l feature -x -d 'The feature and version to look up dependencies for, in feature=version format. For example: `metadata.version=5`.'
complete -c kafka-features -n '__metashell_command_is feature-dependencies' -l help -s h -d 'show the help and exit'
complete -c metashell-quorum -f
complete -c metashell-quorum -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-quorum -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-quorum -n '__metashell_words_are 0' -x -a start -d 'start a quorum on this machine, and print its addresses'
complete -c metashell-quorum -n '__metashell_command_is start' -l controllers -s n -x -d 'number of controllers, 1 to 15 (3)'
complete -c metashell-quorum -n '__metashell_command_is start' -l dir -r -F -d 'keep the quorum there, or open the one that is there'
complete -c metashell-quorum -n '__metashell_command_is start' -l port -s p -x -d 'port of the first controller, the others follow; else any'
complete -c metashell-quorum -n '__metashell_command_is start' -l fake-brokers -x -d 'brokers that register and do nothing else, so that topics can be made without Kafka (0 to 1000)'
complete -c metashell-quorum -n '__metashell_command_is start' -l groups -d 'let clients form groups, without any broker: in memory and without data, for tests'
complete -c metashell-quorum -n '__metashell_command_is start' -l release-version -s r -x -d 'the release whose feature levels a new quorum gets (from 3.3)'
complete -c metashell-quorum -n '__metashell_command_is start' -l feature -s f -x -d 'a feature and its level, of a new quorum'
complete -c metashell-quorum -n '__metashell_command_is start' -l override -x -d 'a setting of every controller; other users of this machine can see it'
complete -c metashell-quorum -n '__metashell_command_is start' -l foreground -d 'run in this process, until SIGINT or SIGTERM'
complete -c metashell-quorum -n '__metashell_command_is start' -l output -s o -x -a 'text json' -d 'form of the output'
complete -c metashell-quorum -n '__metashell_command_is start' -l verbose -s v -d 'with --foreground, report events on standard error'
complete -c metashell-quorum -n '__metashell_command_is start' -l help -s h -d 'show the help and exit'
complete -c metashell-quorum -n '__metashell_words_are 0' -x -a status -d 'show the quorum that runs in the background'
complete -c metashell-quorum -n '__metashell_command_is status' -l output -s o -x -a 'text json' -d 'form of the output'
complete -c metashell-quorum -n '__metashell_command_is status' -l help -s h -d 'show the help and exit'
complete -c metashell-quorum -n '__metashell_words_are 0' -x -a stop -d 'stop the quorum that runs in the background'
complete -c metashell-quorum -n '__metashell_command_is stop' -l output -s o -x -a 'text json' -d 'form of the output'
complete -c metashell-quorum -n '__metashell_command_is stop' -l help -s h -d 'show the help and exit'
complete -c metashell-quorum -n '__metashell_words_are 0' -x -a describe -d 'show the quorum of a cluster: leader, voters, observers, and how far each is'
complete -c metashell-quorum -n '__metashell_command_is describe' -l watch -d 'show it again every so often (2), until Ctrl-C'
complete -c metashell-quorum -n '__metashell_command_is describe' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-quorum -n '__metashell_command_is describe' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-quorum -n '__metashell_command_is describe' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-quorum -n '__metashell_command_is describe' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-quorum -n '__metashell_command_is describe' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-quorum -n '__metashell_command_is describe' -l timeout -x -d 'give up after this time'
complete -c metashell-quorum -n '__metashell_command_is describe' -l help -s h -d 'show the help and exit'
complete -c metashell-quorum -n '__metashell_words_are 0' -x -a add-controller -d 'let a controller vote'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l server-config -r -F -d 'the new controller’s server.properties, on the machine that it runs on'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l id -x -d 'its node.id'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l directory-id -s d -x -d 'its directory.id, as meta.properties has it'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l endpoint -x -d 'a controller listener, as it advertises it'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l force -d 'also a controller that is not seen to follow'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l wait -d 'return when the new voter has caught up; status 1 where that takes longer than this (300)'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l timeout -x -d 'give up after this time'
complete -c metashell-quorum -n '__metashell_command_is add-controller' -l help -s h -d 'show the help and exit'
complete -c metashell-quorum -n '__metashell_words_are 0' -x -a remove-controller -d 'take a controller’s vote away'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l directory-id -s d -x -d 'its directory.id, as meta.properties has it'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l force -d 'also where the rest may not be able to elect a leader'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l timeout -x -d 'give up after this time'
complete -c metashell-quorum -n '__metashell_command_is remove-controller' -l help -s h -d 'show the help and exit'
complete -c metashell-topics -f
complete -c metashell-topics -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-topics -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-topics -n '__metashell_words_are 0' -x -a list -d 'list topics'
complete -c metashell-topics -n '__metashell_command_is list' -l internal -d 'also Kafka’s own topics, such as __consumer_offsets'
complete -c metashell-topics -n '__metashell_command_is list' -l unhealthy -d 'only what is not as it should be: no leader, or replicas that are not in sync'
complete -c metashell-topics -n '__metashell_command_is list' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-topics -n '__metashell_command_is list' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-topics -n '__metashell_command_is list' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-topics -n '__metashell_command_is list' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-topics -n '__metashell_command_is list' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-topics -n '__metashell_command_is list' -l timeout -x -d 'give up after this time'
complete -c metashell-topics -n '__metashell_command_is list' -l help -s h -d 'show the help and exit'
complete -c metashell-topics -n '__metashell_words_are 0' -x -a describe -d 'show the partitions of topics'
complete -c metashell-topics -n '__metashell_command_is describe' -l unhealthy -d 'only what is not as it should be: no leader, or replicas that are not in sync'
complete -c metashell-topics -n '__metashell_command_is describe' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-topics -n '__metashell_command_is describe' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-topics -n '__metashell_command_is describe' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-topics -n '__metashell_command_is describe' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-topics -n '__metashell_command_is describe' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-topics -n '__metashell_command_is describe' -l timeout -x -d 'give up after this time'
complete -c metashell-topics -n '__metashell_command_is describe' -l help -s h -d 'show the help and exit'
complete -c metashell-topics -n '__metashell_words_are 0' -x -a create -d 'make topics'
complete -c metashell-topics -n '__metashell_command_is create' -l partitions -s p -x -d 'number of partitions; else num.partitions of the cluster'
complete -c metashell-topics -n '__metashell_command_is create' -l replication-factor -s r -x -d 'number of replicas of each; else default.replication.factor of the cluster'
complete -c metashell-topics -n '__metashell_command_is create' -l assignment -x -d 'the brokers of each new partition, the preferred leader first: 1:2:3,2:3:1 is two partitions of three replicas'
complete -c metashell-topics -n '__metashell_command_is create' -l config -x -d 'a setting of the topic'
complete -c metashell-topics -n '__metashell_command_is create' -l if-not-exists -d 'a topic that is there already is no error'
complete -c metashell-topics -n '__metashell_command_is create' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-topics -n '__metashell_command_is create' -l wait -d 'return when every partition has a leader; status 1 where that takes longer than this (300)'
complete -c metashell-topics -n '__metashell_command_is create' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-topics -n '__metashell_command_is create' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-topics -n '__metashell_command_is create' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-topics -n '__metashell_command_is create' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-topics -n '__metashell_command_is create' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-topics -n '__metashell_command_is create' -l timeout -x -d 'give up after this time'
complete -c metashell-topics -n '__metashell_command_is create' -l help -s h -d 'show the help and exit'
complete -c metashell-topics -n '__metashell_words_are 0' -x -a alter -d 'add partitions to topics'
complete -c metashell-topics -n '__metashell_command_is alter' -l partitions -s p -x -d 'number of partitions in all'
complete -c metashell-topics -n '__metashell_command_is alter' -l assignment -x -d 'the brokers of each new partition, the preferred leader first: 1:2:3,2:3:1 is two partitions of three replicas'
complete -c metashell-topics -n '__metashell_command_is alter' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-topics -n '__metashell_command_is alter' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-topics -n '__metashell_command_is alter' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-topics -n '__metashell_command_is alter' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-topics -n '__metashell_command_is alter' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-topics -n '__metashell_command_is alter' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-topics -n '__metashell_command_is alter' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-topics -n '__metashell_command_is alter' -l timeout -x -d 'give up after this time'
complete -c metashell-topics -n '__metashell_command_is alter' -l help -s h -d 'show the help and exit'
complete -c metashell-topics -n '__metashell_words_are 0' -x -a delete -d 'delete topics and all of their records'
complete -c metashell-topics -n '__metashell_command_is delete' -l if-exists -d 'a topic that is not there is no error'
complete -c metashell-topics -n '__metashell_command_is delete' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-topics -n '__metashell_command_is delete' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-topics -n '__metashell_command_is delete' -l wait -d 'return when the topics are gone from the metadata; status 1 where that takes longer than this (300)'
complete -c metashell-topics -n '__metashell_command_is delete' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-topics -n '__metashell_command_is delete' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-topics -n '__metashell_command_is delete' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-topics -n '__metashell_command_is delete' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-topics -n '__metashell_command_is delete' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-topics -n '__metashell_command_is delete' -l timeout -x -d 'give up after this time'
complete -c metashell-topics -n '__metashell_command_is delete' -l help -s h -d 'show the help and exit'
complete -c metashell-configs -f
complete -c metashell-configs -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-configs -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-configs -n '__metashell_words_are 0' -x -a get -d 'show settings'
complete -c metashell-configs -n '__metashell_command_is get' -l all -s a -d 'also what has its default'
complete -c metashell-configs -n '__metashell_command_is get' -l key -s k -x -d 'only this key, set or not'
complete -c metashell-configs -n '__metashell_command_is get' -l explain -d 'say what each key is for'
complete -c metashell-configs -n '__metashell_command_is get' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-configs -n '__metashell_command_is get' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-configs -n '__metashell_command_is get' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-configs -n '__metashell_command_is get' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-configs -n '__metashell_command_is get' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-configs -n '__metashell_command_is get' -l timeout -x -d 'give up after this time'
complete -c metashell-configs -n '__metashell_command_is get' -l help -s h -d 'show the help and exit'
complete -c metashell-configs -n '__metashell_words_are 0' -x -a set -d 'change settings'
complete -c metashell-configs -n '__metashell_command_is set' -l from-file -r -F -d 'a properties file with keys and values to set'
complete -c metashell-configs -n '__metashell_command_is set' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-configs -n '__metashell_command_is set' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-configs -n '__metashell_command_is set' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-configs -n '__metashell_command_is set' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-configs -n '__metashell_command_is set' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-configs -n '__metashell_command_is set' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-configs -n '__metashell_command_is set' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-configs -n '__metashell_command_is set' -l timeout -x -d 'give up after this time'
complete -c metashell-configs -n '__metashell_command_is set' -l help -s h -d 'show the help and exit'
complete -c metashell-configs -n '__metashell_words_are 0' -x -a unset -d 'let settings have their defaults again'
complete -c metashell-configs -n '__metashell_command_is unset' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-configs -n '__metashell_command_is unset' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-configs -n '__metashell_command_is unset' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-configs -n '__metashell_command_is unset' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-configs -n '__metashell_command_is unset' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-configs -n '__metashell_command_is unset' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-configs -n '__metashell_command_is unset' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-configs -n '__metashell_command_is unset' -l timeout -x -d 'give up after this time'
complete -c metashell-configs -n '__metashell_command_is unset' -l help -s h -d 'show the help and exit'
complete -c metashell-cluster -f
complete -c metashell-cluster -l version -d 'print the version and exit'
complete -c metashell-cluster -l watch -d 'show it again every so often (2), until Ctrl-C'
complete -c metashell-cluster -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-cluster -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-cluster -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-cluster -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-cluster -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-cluster -l timeout -x -d 'give up after this time'
complete -c metashell-cluster -l help -s h -d 'show the help and exit'
complete -c metashell-brokers -f
complete -c metashell-brokers -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-brokers -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-brokers -n '__metashell_words_are 0' -x -a list -d 'list brokers'
complete -c metashell-brokers -n '__metashell_command_is list' -l watch -d 'show it again every so often (2), until Ctrl-C'
complete -c metashell-brokers -n '__metashell_command_is list' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-brokers -n '__metashell_command_is list' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-brokers -n '__metashell_command_is list' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-brokers -n '__metashell_command_is list' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-brokers -n '__metashell_command_is list' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-brokers -n '__metashell_command_is list' -l timeout -x -d 'give up after this time'
complete -c metashell-brokers -n '__metashell_command_is list' -l help -s h -d 'show the help and exit'
complete -c metashell-brokers -n '__metashell_words_are 0' -x -a describe -d 'show brokers in full'
complete -c metashell-brokers -n '__metashell_command_is describe' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-brokers -n '__metashell_command_is describe' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-brokers -n '__metashell_command_is describe' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-brokers -n '__metashell_command_is describe' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-brokers -n '__metashell_command_is describe' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-brokers -n '__metashell_command_is describe' -l timeout -x -d 'give up after this time'
complete -c metashell-brokers -n '__metashell_command_is describe' -l help -s h -d 'show the help and exit'
complete -c metashell-brokers -n '__metashell_words_are 0' -x -a unregister -d 'let the cluster forget brokers that are gone for good'
complete -c metashell-brokers -n '__metashell_command_is unregister' -l force -d 'also a broker that is not fenced'
complete -c metashell-brokers -n '__metashell_command_is unregister' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-brokers -n '__metashell_command_is unregister' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-brokers -n '__metashell_command_is unregister' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-brokers -n '__metashell_command_is unregister' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-brokers -n '__metashell_command_is unregister' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-brokers -n '__metashell_command_is unregister' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-brokers -n '__metashell_command_is unregister' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-brokers -n '__metashell_command_is unregister' -l timeout -x -d 'give up after this time'
complete -c metashell-brokers -n '__metashell_command_is unregister' -l help -s h -d 'show the help and exit'
complete -c metashell-features -f
complete -c metashell-features -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-features -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-features -n '__metashell_words_are 0' -x -a describe -d 'show feature levels'
complete -c metashell-features -n '__metashell_command_is describe' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-features -n '__metashell_command_is describe' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-features -n '__metashell_command_is describe' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-features -n '__metashell_command_is describe' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-features -n '__metashell_command_is describe' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-features -n '__metashell_command_is describe' -l timeout -x -d 'give up after this time'
complete -c metashell-features -n '__metashell_command_is describe' -l help -s h -d 'show the help and exit'
complete -c metashell-features -n '__metashell_words_are 0' -x -a upgrade -d 'finalize higher feature levels'
complete -c metashell-features -n '__metashell_command_is upgrade' -l release-version -s r -x -d 'the levels of this release, for all features'
complete -c metashell-features -n '__metashell_command_is upgrade' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-features -n '__metashell_command_is upgrade' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-features -n '__metashell_command_is upgrade' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-features -n '__metashell_command_is upgrade' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-features -n '__metashell_command_is upgrade' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-features -n '__metashell_command_is upgrade' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-features -n '__metashell_command_is upgrade' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-features -n '__metashell_command_is upgrade' -l timeout -x -d 'give up after this time'
complete -c metashell-features -n '__metashell_command_is upgrade' -l help -s h -d 'show the help and exit'
complete -c metashell-features -n '__metashell_words_are 0' -x -a downgrade -d 'finalize lower feature levels'
complete -c metashell-features -n '__metashell_command_is downgrade' -l unsafe -d 'also where that loses metadata'
complete -c metashell-features -n '__metashell_command_is downgrade' -l release-version -s r -x -d 'the levels of this release, for all features'
complete -c metashell-features -n '__metashell_command_is downgrade' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-features -n '__metashell_command_is downgrade' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-features -n '__metashell_command_is downgrade' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-features -n '__metashell_command_is downgrade' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-features -n '__metashell_command_is downgrade' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-features -n '__metashell_command_is downgrade' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-features -n '__metashell_command_is downgrade' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-features -n '__metashell_command_is downgrade' -l timeout -x -d 'give up after this time'
complete -c metashell-features -n '__metashell_command_is downgrade' -l help -s h -d 'show the help and exit'
complete -c metashell-features -n '__metashell_words_are 0' -x -a disable -d 'switch features off'
complete -c metashell-features -n '__metashell_command_is disable' -l unsafe -d 'also where that loses metadata'
complete -c metashell-features -n '__metashell_command_is disable' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-features -n '__metashell_command_is disable' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-features -n '__metashell_command_is disable' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-features -n '__metashell_command_is disable' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-features -n '__metashell_command_is disable' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-features -n '__metashell_command_is disable' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-features -n '__metashell_command_is disable' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-features -n '__metashell_command_is disable' -l timeout -x -d 'give up after this time'
complete -c metashell-features -n '__metashell_command_is disable' -l help -s h -d 'show the help and exit'
complete -c metashell-elect -f
complete -c metashell-elect -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-elect -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-elect -n '__metashell_words_are 0' -x -a preferred -d 'let the preferred replicas lead'
complete -c metashell-elect -n '__metashell_command_is preferred' -l all -d 'all partitions that need it'
complete -c metashell-elect -n '__metashell_command_is preferred' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-elect -n '__metashell_command_is preferred' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-elect -n '__metashell_command_is preferred' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-elect -n '__metashell_command_is preferred' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-elect -n '__metashell_command_is preferred' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-elect -n '__metashell_command_is preferred' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-elect -n '__metashell_command_is preferred' -l timeout -x -d 'give up after this time'
complete -c metashell-elect -n '__metashell_command_is preferred' -l help -s h -d 'show the help and exit'
complete -c metashell-elect -n '__metashell_words_are 0' -x -a unclean -d 'let a replica lead that is not in sync'
complete -c metashell-elect -n '__metashell_command_is unclean' -l all -d 'all partitions without a leader'
complete -c metashell-elect -n '__metashell_command_is unclean' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-elect -n '__metashell_command_is unclean' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-elect -n '__metashell_command_is unclean' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-elect -n '__metashell_command_is unclean' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-elect -n '__metashell_command_is unclean' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-elect -n '__metashell_command_is unclean' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-elect -n '__metashell_command_is unclean' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-elect -n '__metashell_command_is unclean' -l timeout -x -d 'give up after this time'
complete -c metashell-elect -n '__metashell_command_is unclean' -l help -s h -d 'show the help and exit'
complete -c metashell-reassign -f
complete -c metashell-reassign -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-reassign -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-reassign -n '__metashell_words_are 0' -x -a plan -d 'compute which brokers should have which replicas'
complete -c metashell-reassign -n '__metashell_command_is plan' -l off -x -d 'move everything off these brokers: 3,4'
complete -c metashell-reassign -n '__metashell_command_is plan' -l brokers -x -d 'only these brokers take replicas, all others are left; by default all do'
complete -c metashell-reassign -n '__metashell_command_is plan' -l topic -s t -x -d 'change only this topic; by default all'
complete -c metashell-reassign -n '__metashell_command_is plan' -l even -x -d 'what to even out, of topics,replicas,leaders; none: move only what has to'
complete -c metashell-reassign -n '__metashell_command_is plan' -l ignore-racks -d 'do not look at racks'
complete -c metashell-reassign -n '__metashell_command_is plan' -l sizes -r -F -d 'output of kafka-log-dirs --describe: small partitions move first, and sizes are shown'
complete -c metashell-reassign -n '__metashell_command_is plan' -l throttle -x -d 'with --sizes, say how long the copies take at so many bytes a second for each broker'
complete -c metashell-reassign -n '__metashell_command_is plan' -l out -r -F -d 'write the plan to this file; - is standard output, in place of the figures'
complete -c metashell-reassign -n '__metashell_command_is plan' -l snapshot -s s -r -F -d 'a checkpoint, segment or metadata directory, in place of a live cluster'
complete -c metashell-reassign -n '__metashell_command_is plan' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-reassign -n '__metashell_command_is plan' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-reassign -n '__metashell_command_is plan' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-reassign -n '__metashell_command_is plan' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-reassign -n '__metashell_command_is plan' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-reassign -n '__metashell_command_is plan' -l timeout -x -d 'give up after this time'
complete -c metashell-reassign -n '__metashell_command_is plan' -l help -s h -d 'show the help and exit'
complete -c metashell-reassign -n '__metashell_words_are 0' -x -a apply -d 'carry a plan out, or go on with it'
complete -c metashell-reassign -n '__metashell_command_is apply' -l throttle -x -d 'let no broker send or receive more than this a second for the moves: 50M'
complete -c metashell-reassign -n '__metashell_command_is apply' -l batch -x -d 'move so many partitions at a time, and wait for them'
complete -c metashell-reassign -n '__metashell_command_is apply' -l skip-changed -d 'leave out what is not as the plan assumed, and do the rest; the status is 1'
complete -c metashell-reassign -n '__metashell_command_is apply' -l wait -d 'return when it is done, not when it has begun; status 1 where that takes longer than this (300)'
complete -c metashell-reassign -n '__metashell_command_is apply' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-reassign -n '__metashell_command_is apply' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-reassign -n '__metashell_command_is apply' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-reassign -n '__metashell_command_is apply' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-reassign -n '__metashell_command_is apply' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-reassign -n '__metashell_command_is apply' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-reassign -n '__metashell_command_is apply' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-reassign -n '__metashell_command_is apply' -l timeout -x -d 'give up after this time'
complete -c metashell-reassign -n '__metashell_command_is apply' -l help -s h -d 'show the help and exit'
complete -c metashell-reassign -n '__metashell_command_is apply; and __metashell_words_are 1' -F
complete -c metashell-reassign -n '__metashell_words_are 0' -x -a status -d 'show moves that are under way, or how far a plan is'
complete -c metashell-reassign -n '__metashell_command_is status' -l watch -d 'show it again every so often (2), until Ctrl-C'
complete -c metashell-reassign -n '__metashell_command_is status' -l clear-throttle -d 'remove the plan’s throttled replicas, and --throttle’s rate, if none of it is being moved'
complete -c metashell-reassign -n '__metashell_command_is status' -l throttle -x -d 'the rate that apply was given: only this rate is removed from brokers; without it all rates stay'
complete -c metashell-reassign -n '__metashell_command_is status' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-reassign -n '__metashell_command_is status' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-reassign -n '__metashell_command_is status' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-reassign -n '__metashell_command_is status' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-reassign -n '__metashell_command_is status' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-reassign -n '__metashell_command_is status' -l timeout -x -d 'give up after this time'
complete -c metashell-reassign -n '__metashell_command_is status' -l help -s h -d 'show the help and exit'
complete -c metashell-reassign -n '__metashell_command_is status; and __metashell_words_are 1' -F
complete -c metashell-reassign -n '__metashell_words_are 0' -x -a cancel -d 'stop moves that are under way, and go back'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l all -d 'every move under way in the cluster'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l throttle -x -d 'the rate that apply was given: only this rate is removed from brokers; without it all rates stay'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l timeout -x -d 'give up after this time'
complete -c metashell-reassign -n '__metashell_command_is cancel' -l help -s h -d 'show the help and exit'
complete -c metashell-reassign -n '__metashell_command_is cancel; and __metashell_words_are 1' -F
complete -c metashell-acls -f
complete -c metashell-acls -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-acls -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-acls -n '__metashell_words_are 0' -x -a list -d 'show access control entries'
complete -c metashell-acls -n '__metashell_command_is list' -l topic -x -d 'a topic'
complete -c metashell-acls -n '__metashell_command_is list' -l group -x -d 'a consumer group'
complete -c metashell-acls -n '__metashell_command_is list' -l transactional-id -x -d 'a transactional id'
complete -c metashell-acls -n '__metashell_command_is list' -l delegation-token -x -d 'a delegation token'
complete -c metashell-acls -n '__metashell_command_is list' -l user-principal -x -d 'a user, for CREATE_TOKENS and DESCRIBE_TOKENS'
complete -c metashell-acls -n '__metashell_command_is list' -l cluster -d 'the cluster itself'
complete -c metashell-acls -n '__metashell_command_is list' -l pattern -x -a 'any literal prefixed match' -d 'how the names of entries are compared: `match` finds all that apply to a resource of that name, prefixes and * too'
complete -c metashell-acls -n '__metashell_command_is list' -l principal -x -d 'for whom; User:NAME, or NAME alone'
complete -c metashell-acls -n '__metashell_command_is list' -l host -x -d 'from where, as the entry has it'
complete -c metashell-acls -n '__metashell_command_is list' -l operation -x -d 'READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT or ALL, in any case'
complete -c metashell-acls -n '__metashell_command_is list' -l permission -x -a 'allow deny' -d 'entries that allow, or those that deny'
complete -c metashell-acls -n '__metashell_command_is list' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-acls -n '__metashell_command_is list' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-acls -n '__metashell_command_is list' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-acls -n '__metashell_command_is list' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-acls -n '__metashell_command_is list' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-acls -n '__metashell_command_is list' -l timeout -x -d 'give up after this time'
complete -c metashell-acls -n '__metashell_command_is list' -l help -s h -d 'show the help and exit'
complete -c metashell-acls -n '__metashell_words_are 0' -x -a add -d 'allow or deny principals something'
complete -c metashell-acls -n '__metashell_command_is add' -l allow-principal -l allow -x -d 'User:NAME, or NAME alone'
complete -c metashell-acls -n '__metashell_command_is add' -l deny-principal -l deny -x -d 'likewise, denied'
complete -c metashell-acls -n '__metashell_command_is add' -l host -x -d 'the address that they connect from (*, any)'
complete -c metashell-acls -n '__metashell_command_is add' -l operation -x -d 'READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT or ALL, in any case'
complete -c metashell-acls -n '__metashell_command_is add' -l producer -d 'the operations of a producer'
complete -c metashell-acls -n '__metashell_command_is add' -l consumer -d 'the operations of a consumer'
complete -c metashell-acls -n '__metashell_command_is add' -l topic -x -d 'a topic'
complete -c metashell-acls -n '__metashell_command_is add' -l group -x -d 'a consumer group'
complete -c metashell-acls -n '__metashell_command_is add' -l transactional-id -x -d 'a transactional id'
complete -c metashell-acls -n '__metashell_command_is add' -l delegation-token -x -d 'a delegation token'
complete -c metashell-acls -n '__metashell_command_is add' -l user-principal -x -d 'a user, for CREATE_TOKENS and DESCRIBE_TOKENS'
complete -c metashell-acls -n '__metashell_command_is add' -l cluster -d 'the cluster itself'
complete -c metashell-acls -n '__metashell_command_is add' -l pattern -x -a 'literal prefixed' -d 'prefixed: the entry is for all names that begin so (the literal name * is for all)'
complete -c metashell-acls -n '__metashell_command_is add' -l dry-run -d 'change nothing: show which entries would be added, and which are there already'
complete -c metashell-acls -n '__metashell_command_is add' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-acls -n '__metashell_command_is add' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-acls -n '__metashell_command_is add' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-acls -n '__metashell_command_is add' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-acls -n '__metashell_command_is add' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-acls -n '__metashell_command_is add' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-acls -n '__metashell_command_is add' -l timeout -x -d 'give up after this time'
complete -c metashell-acls -n '__metashell_command_is add' -l help -s h -d 'show the help and exit'
complete -c metashell-acls -n '__metashell_words_are 0' -x -a remove -d 'remove access control entries'
complete -c metashell-acls -n '__metashell_command_is remove' -l topic -x -d 'a topic'
complete -c metashell-acls -n '__metashell_command_is remove' -l group -x -d 'a consumer group'
complete -c metashell-acls -n '__metashell_command_is remove' -l transactional-id -x -d 'a transactional id'
complete -c metashell-acls -n '__metashell_command_is remove' -l delegation-token -x -d 'a delegation token'
complete -c metashell-acls -n '__metashell_command_is remove' -l user-principal -x -d 'a user, for CREATE_TOKENS and DESCRIBE_TOKENS'
complete -c metashell-acls -n '__metashell_command_is remove' -l cluster -d 'the cluster itself'
complete -c metashell-acls -n '__metashell_command_is remove' -l pattern -x -a 'any literal prefixed match' -d 'how the names of entries are compared: `match` finds all that apply to a resource of that name, prefixes and * too'
complete -c metashell-acls -n '__metashell_command_is remove' -l principal -x -d 'for whom; User:NAME, or NAME alone'
complete -c metashell-acls -n '__metashell_command_is remove' -l host -x -d 'from where, as the entry has it'
complete -c metashell-acls -n '__metashell_command_is remove' -l operation -x -d 'READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT or ALL, in any case'
complete -c metashell-acls -n '__metashell_command_is remove' -l permission -x -a 'allow deny' -d 'entries that allow, or those that deny'
complete -c metashell-acls -n '__metashell_command_is remove' -l all -d 'all entries, where nothing else chooses some'
complete -c metashell-acls -n '__metashell_command_is remove' -l dry-run -d 'change nothing: show which entries would be removed'
complete -c metashell-acls -n '__metashell_command_is remove' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-acls -n '__metashell_command_is remove' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-acls -n '__metashell_command_is remove' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-acls -n '__metashell_command_is remove' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-acls -n '__metashell_command_is remove' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-acls -n '__metashell_command_is remove' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-acls -n '__metashell_command_is remove' -l timeout -x -d 'give up after this time'
complete -c metashell-acls -n '__metashell_command_is remove' -l help -s h -d 'show the help and exit'
complete -c metashell-quotas -f
complete -c metashell-quotas -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-quotas -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-quotas -n '__metashell_words_are 0' -x -a list -d 'show quotas'
complete -c metashell-quotas -n '__metashell_command_is list' -l user -x -d 'quotas of a user'
complete -c metashell-quotas -n '__metashell_command_is list' -l user-default -d 'what applies to users without a quota of their own'
complete -c metashell-quotas -n '__metashell_command_is list' -l client-id -l client -x -d 'quotas of a client id; together with a user, of that user’s client'
complete -c metashell-quotas -n '__metashell_command_is list' -l client-id-default -d 'what applies to client ids without a quota of their own'
complete -c metashell-quotas -n '__metashell_command_is list' -l ip -x -d 'quotas of an address, alone'
complete -c metashell-quotas -n '__metashell_command_is list' -l ip-default -d 'what applies to addresses without a quota of their own'
complete -c metashell-quotas -n '__metashell_command_is list' -l strict -d 'leave out what is also about a type that is not named'
complete -c metashell-quotas -n '__metashell_command_is list' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-quotas -n '__metashell_command_is list' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-quotas -n '__metashell_command_is list' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-quotas -n '__metashell_command_is list' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-quotas -n '__metashell_command_is list' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-quotas -n '__metashell_command_is list' -l timeout -x -d 'give up after this time'
complete -c metashell-quotas -n '__metashell_command_is list' -l help -s h -d 'show the help and exit'
complete -c metashell-quotas -n '__metashell_words_are 0' -x -a set -d 'set quotas of a user, client id or address'
complete -c metashell-quotas -n '__metashell_command_is set' -l user -x -d 'set for a user'
complete -c metashell-quotas -n '__metashell_command_is set' -l user-default -d 'set for all users without a quota of their own'
complete -c metashell-quotas -n '__metashell_command_is set' -l client-id -l client -x -d 'set for a client id; together with a user, of that user’s client'
complete -c metashell-quotas -n '__metashell_command_is set' -l client-id-default -d 'set for all client ids without a quota of their own'
complete -c metashell-quotas -n '__metashell_command_is set' -l ip -x -d 'set for an address, alone'
complete -c metashell-quotas -n '__metashell_command_is set' -l ip-default -d 'set for all addresses without a quota of their own'
complete -c metashell-quotas -n '__metashell_command_is set' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-quotas -n '__metashell_command_is set' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-quotas -n '__metashell_command_is set' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-quotas -n '__metashell_command_is set' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-quotas -n '__metashell_command_is set' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-quotas -n '__metashell_command_is set' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-quotas -n '__metashell_command_is set' -l timeout -x -d 'give up after this time'
complete -c metashell-quotas -n '__metashell_command_is set' -l help -s h -d 'show the help and exit'
complete -c metashell-quotas -n '__metashell_words_are 0' -x -a unset -d 'remove quotas of a user, client id or address'
complete -c metashell-quotas -n '__metashell_command_is unset' -l user -x -d 'remove from a user'
complete -c metashell-quotas -n '__metashell_command_is unset' -l user-default -d 'remove from what applies to all users without a quota of their own'
complete -c metashell-quotas -n '__metashell_command_is unset' -l client-id -l client -x -d 'remove from a client id; together with a user, of that user’s client'
complete -c metashell-quotas -n '__metashell_command_is unset' -l client-id-default -d 'remove from what applies to all client ids without a quota of their own'
complete -c metashell-quotas -n '__metashell_command_is unset' -l ip -x -d 'remove from an address, alone'
complete -c metashell-quotas -n '__metashell_command_is unset' -l ip-default -d 'remove from what applies to all addresses without a quota of their own'
complete -c metashell-quotas -n '__metashell_command_is unset' -l all -d 'all quotas of the entity'
complete -c metashell-quotas -n '__metashell_command_is unset' -l dry-run -d 'change nothing: show what would be done, and whether the cluster would refuse it'
complete -c metashell-quotas -n '__metashell_command_is unset' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-quotas -n '__metashell_command_is unset' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-quotas -n '__metashell_command_is unset' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-quotas -n '__metashell_command_is unset' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-quotas -n '__metashell_command_is unset' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-quotas -n '__metashell_command_is unset' -l timeout -x -d 'give up after this time'
complete -c metashell-quotas -n '__metashell_command_is unset' -l help -s h -d 'show the help and exit'
complete -c metashell-scram -f
complete -c metashell-scram -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-scram -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-scram -n '__metashell_words_are 0' -x -a list -d 'show which users have SCRAM credentials'
complete -c metashell-scram -n '__metashell_command_is list' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-scram -n '__metashell_command_is list' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-scram -n '__metashell_command_is list' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-scram -n '__metashell_command_is list' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-scram -n '__metashell_command_is list' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-scram -n '__metashell_command_is list' -l timeout -x -d 'give up after this time'
complete -c metashell-scram -n '__metashell_command_is list' -l help -s h -d 'show the help and exit'
complete -c metashell-scram -n '__metashell_words_are 0' -x -a set -d 'give a user a password'
complete -c metashell-scram -n '__metashell_command_is set' -l mechanism -x -a 'SCRAM-SHA-256 SCRAM-SHA-512' -d 'which credential, SCRAM-SHA-512 if none is named'
complete -c metashell-scram -n '__metashell_command_is set' -l iterations -x -d 'how often the password is hashed, 4096 to 16384'
complete -c metashell-scram -n '__metashell_command_is set' -l password-file -r -F -d 'read the password from this file, which holds nothing else; - is standard input'
complete -c metashell-scram -n '__metashell_command_is set' -l password-env -x -d 'read the password from this environment variable'
complete -c metashell-scram -n '__metashell_command_is set' -l dry-run -d 'change nothing: check the password’s place, and show what would be made or replaced'
complete -c metashell-scram -n '__metashell_command_is set' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-scram -n '__metashell_command_is set' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-scram -n '__metashell_command_is set' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-scram -n '__metashell_command_is set' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-scram -n '__metashell_command_is set' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-scram -n '__metashell_command_is set' -l timeout -x -d 'give up after this time'
complete -c metashell-scram -n '__metashell_command_is set' -l help -s h -d 'show the help and exit'
complete -c metashell-scram -n '__metashell_words_are 0' -x -a delete -d 'delete SCRAM credentials of users'
complete -c metashell-scram -n '__metashell_command_is delete' -l mechanism -x -a 'SCRAM-SHA-256 SCRAM-SHA-512' -d 'only this one'
complete -c metashell-scram -n '__metashell_command_is delete' -l dry-run -d 'change nothing: show what would be deleted'
complete -c metashell-scram -n '__metashell_command_is delete' -l yes -s y -d 'do it without asking, also what can lose data or availability'
complete -c metashell-scram -n '__metashell_command_is delete' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-scram -n '__metashell_command_is delete' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-scram -n '__metashell_command_is delete' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-scram -n '__metashell_command_is delete' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-scram -n '__metashell_command_is delete' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-scram -n '__metashell_command_is delete' -l timeout -x -d 'give up after this time'
complete -c metashell-scram -n '__metashell_command_is delete' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -f
complete -c metashell-groups -n '__metashell_words_are 0' -l version -d 'print the version and exit'
complete -c metashell-groups -n '__metashell_words_are 0' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -n '__metashell_words_are 0' -x -a list -d 'list groups with their kind, state, members and offsets'
complete -c metashell-groups -n '__metashell_command_is list' -l group-type -x -a 'classic consumer share streams' -d 'only these'
complete -c metashell-groups -n '__metashell_command_is list' -l state -x -d 'only groups in this state, such as Empty or Stable'
complete -c metashell-groups -n '__metashell_command_is list' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-groups -n '__metashell_command_is list' -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c metashell-groups -n '__metashell_command_is list' -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c metashell-groups -n '__metashell_command_is list' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-groups -n '__metashell_command_is list' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-groups -n '__metashell_command_is list' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-groups -n '__metashell_command_is list' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-groups -n '__metashell_command_is list' -l timeout -x -d 'give up after this time'
complete -c metashell-groups -n '__metashell_command_is list' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -n '__metashell_command_is list; and __metashell_words_are_at_least 1' -F
complete -c metashell-groups -n '__metashell_words_are 0' -x -a describe -d 'show a group with its members'
complete -c metashell-groups -n '__metashell_command_is describe' -l metadata -r -F -d 'metadata that has the names of topics; by default those that the log directories around the paths know'
complete -c metashell-groups -n '__metashell_command_is describe' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-groups -n '__metashell_command_is describe' -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c metashell-groups -n '__metashell_command_is describe' -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c metashell-groups -n '__metashell_command_is describe' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-groups -n '__metashell_command_is describe' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-groups -n '__metashell_command_is describe' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-groups -n '__metashell_command_is describe' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-groups -n '__metashell_command_is describe' -l timeout -x -d 'give up after this time'
complete -c metashell-groups -n '__metashell_command_is describe' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -n '__metashell_command_is describe; and __metashell_words_are_at_least 2' -F
complete -c metashell-groups -n '__metashell_words_are 0' -x -a offsets -d 'show a group’s committed offsets, and its lag'
complete -c metashell-groups -n '__metashell_command_is offsets' -l lag -d 'also show where the logs end and how much is left to read; offline where they lie beside'
complete -c metashell-groups -n '__metashell_command_is offsets' -l metadata -r -F -d 'metadata that has the names of topics; by default those that the log directories around the paths know'
complete -c metashell-groups -n '__metashell_command_is offsets' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-groups -n '__metashell_command_is offsets' -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c metashell-groups -n '__metashell_command_is offsets' -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c metashell-groups -n '__metashell_command_is offsets' -l bootstrap-server -s b -x -d 'brokers of the cluster; any of them will do'
complete -c metashell-groups -n '__metashell_command_is offsets' -l bootstrap-controller -l controllers -s C -x -d 'controllers of the cluster, where no broker answers; the active one is found from any of them'
complete -c metashell-groups -n '__metashell_command_is offsets' -l command-config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c metashell-groups -n '__metashell_command_is offsets' -l address-map -x -d 'connect to the second address in place of the first, where nodes advertise one that is not reachable from here'
complete -c metashell-groups -n '__metashell_command_is offsets' -l timeout -x -d 'give up after this time'
complete -c metashell-groups -n '__metashell_command_is offsets' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -n '__metashell_command_is offsets; and __metashell_words_are_at_least 2' -F
complete -c metashell-groups -n '__metashell_words_are 0' -x -a why -d 'say why a group rebalanced, and who held it up'
complete -c metashell-groups -n '__metashell_command_is why' -l last -x -d 'only the last N rebalances'
complete -c metashell-groups -n '__metashell_command_is why' -l metadata -r -F -d 'metadata that has the names of topics; by default those that the log directories around the paths know'
complete -c metashell-groups -n '__metashell_command_is why' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-groups -n '__metashell_command_is why' -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c metashell-groups -n '__metashell_command_is why' -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c metashell-groups -n '__metashell_command_is why' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -n '__metashell_command_is why; and __metashell_words_are_at_least 2' -F
complete -c metashell-groups -n '__metashell_words_are 0' -x -a history -d 'tell the story of a group: members, generations, assignments, commits'
complete -c metashell-groups -n '__metashell_command_is history' -l since -x -d 'only what happened at or after this time; 10m: ten minutes ago'
complete -c metashell-groups -n '__metashell_command_is history' -l until -x -d 'only what happened before this time'
complete -c metashell-groups -n '__metashell_command_is history' -l commits -d 'also show runs of commits'
complete -c metashell-groups -n '__metashell_command_is history' -l metadata -r -F -d 'metadata that has the names of topics; by default those that the log directories around the paths know'
complete -c metashell-groups -n '__metashell_command_is history' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-groups -n '__metashell_command_is history' -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c metashell-groups -n '__metashell_command_is history' -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c metashell-groups -n '__metashell_command_is history' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -n '__metashell_command_is history; and __metashell_words_are_at_least 2' -F
complete -c metashell-groups -n '__metashell_words_are 0' -x -a expiring -d 'show offsets that expire soon'
complete -c metashell-groups -n '__metashell_command_is expiring' -l within -x -d 'from now on, such as 24h or 3d'
complete -c metashell-groups -n '__metashell_command_is expiring' -l retention -x -d 'offsets.retention.minutes of the brokers, such as 7d or 24h'
complete -c metashell-groups -n '__metashell_command_is expiring' -l at -x -d 'as if it were this time (default: now)'
complete -c metashell-groups -n '__metashell_command_is expiring' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-groups -n '__metashell_command_is expiring' -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c metashell-groups -n '__metashell_command_is expiring' -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c metashell-groups -n '__metashell_command_is expiring' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -n '__metashell_command_is expiring; and __metashell_words_are_at_least 1' -F
complete -c metashell-groups -n '__metashell_words_are 0' -x -a downgrade-check -d 'say what would break if brokers or groups went back'
complete -c metashell-groups -n '__metashell_command_is downgrade-check' -l to -x -d 'only what would break with this release, such as 3.9; status 1 if anything would'
complete -c metashell-groups -n '__metashell_command_is downgrade-check' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-groups -n '__metashell_command_is downgrade-check' -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c metashell-groups -n '__metashell_command_is downgrade-check' -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c metashell-groups -n '__metashell_command_is downgrade-check' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -n '__metashell_command_is downgrade-check; and __metashell_words_are_at_least 2' -F
complete -c metashell-groups -n '__metashell_words_are 0' -x -a streams-upgrade -d 'say how far the upgrade of a Kafka Streams application is'
complete -c metashell-groups -n '__metashell_command_is streams-upgrade' -l output -s o -x -a 'text json jsonl table csv' -d 'form of the output'
complete -c metashell-groups -n '__metashell_command_is streams-upgrade' -l max-decompressed -x -d 'largest size of a batch after decompression; a larger batch is reported as a fault'
complete -c metashell-groups -n '__metashell_command_is streams-upgrade' -l verbose -s v -d 'report on standard error what was read, torn tails and every fault'
complete -c metashell-groups -n '__metashell_command_is streams-upgrade' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -n '__metashell_command_is streams-upgrade; and __metashell_words_are_at_least 2' -F
complete -c metashell-groups -n '__metashell_words_are 0' -x -a assign -d 'what an assignor gives to whom'
complete -c metashell-groups -n '__metashell_command_is assign' -l assignor -s a -x -a 'range roundrobin sticky cooperative-sticky server-uniform server-range server-simple' -d 'the assignor of clients, or of the broker (server-...); by default each row names its own'
complete -c metashell-groups -n '__metashell_command_is assign' -l check -d 'compare with the output that rows have, and show only those that differ; status 1 where one does'
complete -c metashell-groups -n '__metashell_command_is assign' -l output -s o -x -a 'text json jsonl csv table' -d 'form of the output'
complete -c metashell-groups -n '__metashell_command_is assign' -l help -s h -d 'show the help and exit'
complete -c metashell-groups -n '__metashell_command_is assign; and __metashell_words_are_at_least 1' -F
complete -c metashell-server -f
complete -c metashell-server -l override -x -d 'a setting in place of that in the configuration; other users of this machine can see it'
complete -c metashell-server -l log-format -x -a 'text json' -d 'form of the lines on standard error'
complete -c metashell-server -l metrics-port -x -d 'serve /metrics, /healthz and /readyz over HTTP on this port of loopback, 0 for any (needs metashell[metrics])'
complete -c metashell-server -l allow-plaintext -d 'let other machines in without authentication'
complete -c metashell-server -l accept-loss -d 'start and vote although records or a vote were lost, as Kafka does (docs/damage.md)'
complete -c metashell-server -l version -d 'print the version and exit'
complete -c metashell-server -l help -s h -d 'show the help and exit'
complete -c metashell-server -n '__metashell_words_are 0' -F
complete -c metashell-export -f
complete -c metashell-export -l out -r -F -d 'directory to write to; created if it does not exist'
complete -c metashell-export -l format -s f -x -a 'parquet arrow csv jsonl' -d 'file format'
complete -c metashell-export -l tables -s t -x -a '(__fish_append , all records control batches faults register_broker unregister_broker topic partition config partition_change access_control fence_broker unfence_broker remove_topic delegation_token user_scram_credential feature_level client_quota producer_ids broker_registration_change access_control_entry remove_access_control_entry no_op zk_migration_state remove_user_scram_credential begin_transaction end_transaction abort_transaction remove_delegation_token register_controller clear_elr legacy_offset_commit offset_commit group_metadata consumer_group_metadata consumer_group_partition_metadata consumer_group_member_metadata consumer_group_target_assignment_metadata consumer_group_target_assignment_member consumer_group_current_member_assignment share_group_member_metadata share_group_metadata share_group_target_assignment_metadata share_group_target_assignment_member share_group_current_member_assignment share_group_state_partition_metadata consumer_group_regular_expression streams_group_metadata streams_group_member_metadata streams_group_target_assignment_metadata streams_group_target_assignment_member streams_group_current_member_assignment streams_group_topology transaction_log share_snapshot share_update remote_log_segment_metadata remote_log_segment_metadata_update remote_partition_delete_metadata remote_log_segment_metadata_snapshot)' -d 'only these tables, separated by commas, or all. The default is all but records, whose JSON text costs several times as much as everything else'
complete -c metashell-export -l on-error -x -a 'fail skip' -d 'at a corrupt batch or record: end the run, or skip it and list it among the faults'
complete -c metashell-export -l jobs -s j -x -d 'number of processes; 0 means one for each core'
complete -c metashell-export -l log -x -a 'metadata offsets transactions share remote_log' -d 'what the files hold, where neither their records nor their directory shows it; files of other logs are skipped'
complete -c metashell-export -l show-secrets -d 'export passwords, keys and salts instead of redacting them; the files say so'
complete -c metashell-export -l quiet -s q -d 'print no progress bar and no summary'
complete -c metashell-export -l version -d 'print the version and exit'
complete -c metashell-export -l help -s h -d 'show the help and exit'
complete -c metashell-export -n '__metashell_words_are_at_least 0' -F
complete -c metashell-sql -f
complete -c metashell-sql -l output -s o -x -a 'text json jsonl csv table' -d 'form of the output'
complete -c metashell-sql -l on-error -x -a 'fail skip' -d 'at a corrupt batch or record: end the run, or skip it and list it among the faults'
complete -c metashell-sql -l log -x -a 'metadata offsets transactions share remote_log' -d 'what the files hold, where neither their records nor their directory shows it; files of other logs are skipped'
complete -c metashell-sql -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c metashell-sql -l version -d 'print the version and exit'
complete -c metashell-sql -l help -s h -d 'show the help and exit'
complete -c metashell-sql -n '__metashell_words_are_at_least 1' -F
complete -c metashell-report -f
complete -c metashell-report -l out -r -F -d 'directory to write to; created if it does not exist'
complete -c metashell-report -l format -x -a 'parquet csv json html' -d 'form of the answer; all four by default'
complete -c metashell-report -l on-error -x -a 'fail skip' -d 'at a corrupt batch or record: end the run, or skip it and list it among the faults'
complete -c metashell-report -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c metashell-report -l version -d 'print the version and exit'
complete -c metashell-report -l help -s h -d 'show the help and exit'
complete -c metashell-report -n '__metashell_words_are 0' -x -a 'leadership_churn unclean_elections under_replicated topic_history broker_sessions controller_elections metadata_growth group_rebalances group_offsets group_expiring all'
complete -c metashell-report -n '__metashell_words_are_at_least 1' -F
complete -c metashell-completion -f
complete -c metashell-completion -l version -d 'print the version and exit'
complete -c metashell-completion -l help -s h -d 'show the help and exit'
complete -c metashell-completion -n '__metashell_words_are 0' -x -a 'bash zsh fish'
complete -c spark-reports -f
complete -c spark-reports -l out -r -F -d 'directory to write to; created if it does not exist'
complete -c spark-reports -l master -x -d 'where Spark runs: local[2], spark://HOST:PORT, yarn, k8s://...'
complete -c spark-reports -l format -x -a 'parquet csv json html' -d 'form of the answer; all four by default'
complete -c spark-reports -l table -x -a '(__fish_append , all records control batches faults register_broker unregister_broker topic partition config partition_change access_control fence_broker unfence_broker remove_topic delegation_token user_scram_credential feature_level client_quota producer_ids broker_registration_change access_control_entry remove_access_control_entry no_op zk_migration_state remove_user_scram_credential begin_transaction end_transaction abort_transaction remove_delegation_token register_controller clear_elr legacy_offset_commit offset_commit group_metadata consumer_group_metadata consumer_group_partition_metadata consumer_group_member_metadata consumer_group_target_assignment_metadata consumer_group_target_assignment_member consumer_group_current_member_assignment share_group_member_metadata share_group_metadata share_group_target_assignment_metadata share_group_target_assignment_member share_group_current_member_assignment share_group_state_partition_metadata consumer_group_regular_expression streams_group_metadata streams_group_member_metadata streams_group_target_assignment_metadata streams_group_target_assignment_member streams_group_current_member_assignment streams_group_topology transaction_log share_snapshot share_update remote_log_segment_metadata remote_log_segment_metadata_update remote_partition_delete_metadata remote_log_segment_metadata_snapshot)' -d 'for export and stream: only this table; all that occur by default'
complete -c spark-reports -l on-error -x -a 'fail skip' -d 'at a corrupt batch or record: end the run, or skip it and list it among the faults'
complete -c spark-reports -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c spark-reports -l split-size -x -d 'how much of a file one task reads, roughly; 8 to 32 MiB by default'
complete -c spark-reports -l once -d 'stream what is there, then end'
complete -c spark-reports -l version -d 'print the version and exit'
complete -c spark-reports -l help -s h -d 'show the help and exit'
complete -c spark-reports -n '__metashell_words_are 0' -x -a 'leadership_churn unclean_elections under_replicated topic_history broker_sessions controller_elections metadata_growth group_rebalances group_offsets group_expiring all export stream'
complete -c spark-reports -n '__metashell_words_are_at_least 1' -F
