# Made by `python -m tools.gen_completions`; do not edit.

# The words of the line that are no options and no values of options, without the command itself.
function __metashell_words
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word -s --snapshot -o --output --max-decompressed
            set skip 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

function __metashell_no_word
    test (count (__metashell_words)) = 0
end

function __metashell_word
    set -l words (__metashell_words)
    test "$words[1]" = $argv[1]
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
complete -c metashell -n '__metashell_no_word' -l version -d 'print the version and exit'
complete -c metashell -n '__metashell_no_word' -l help -s h -d 'show the help and exit'
complete -c metashell -n '__metashell_no_word' -x -a shell -d 'look at the metadata of a Kafka cluster as a tree of files'
complete -c metashell -n '__metashell_no_word' -x -a dump-log -d 'print the batches and records of Kafka’s logs and checkpoints as JSON lines'
complete -c metashell -n '__metashell_no_word' -x -a verify -d 'check what Kafka left on disk: checksums, offsets, epochs, indexes, checkpoints'
complete -c metashell -n '__metashell_no_word' -x -a report -d 'answer an operator’s question from the logs of a cluster, as a table and as a page'
complete -c metashell -n '__metashell_no_word' -x -a storage -d 'prepare and inspect the log directories of a node'
complete -c metashell -n '__metashell_no_word' -x -a export -d 'write the records of logs as tables: Parquet, Arrow, CSV or JSON lines'
complete -c metashell -n '__metashell_no_word' -x -a sql -d 'ask questions of logs in SQL'
complete -c metashell -n '__metashell_no_word' -x -a kafka-metadata-shell -d 'the shell in Kafka’s own voice'
complete -c metashell -n '__metashell_no_word' -x -a kafka-dump-log -d 'dump-log in Kafka’s own voice'
complete -c metashell -n '__metashell_no_word' -x -a kafka-storage -d 'storage in Kafka’s own voice'
complete -c kafka-shell -f
complete -c kafka-shell -n '__metashell_no_word' -l snapshot -s s -r -F -d 'a .checkpoint, a bootstrap.checkpoint or a .log segment, a metadata directory, or the log directory above it'
complete -c kafka-shell -n '__metashell_no_word' -l bootstrap-controller -l controllers -s C -x -d 'attach to the quorum of these controllers as an observer; ID@HOST:PORT is taken too'
complete -c kafka-shell -n '__metashell_no_word' -l bootstrap-server -s b -x -d 'ask these brokers where the controllers are, and attach there'
complete -c kafka-shell -n '__metashell_no_word' -l command-config -l config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c kafka-shell -n '__metashell_no_word' -l address-map -x -d 'where to connect instead, for controllers whose own addresses cannot be reached from here; [::1]:9093 is IPv6'
complete -c kafka-shell -n '__metashell_no_word' -l timeout -x -d 'give up attaching after so long (10; 2 where no address takes a connection); once attached there is no limit'
complete -c kafka-shell -n '__metashell_no_word' -l demo -d 'open the directory of a real controller that ships with the package'
complete -c kafka-shell -n '__metashell_no_word' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of what is printed'
complete -c kafka-shell -n '__metashell_no_word' -l certain-only -d 'of a directory, stop at the newest complete checkpoint: what follows may not have been committed'
complete -c kafka-shell -n '__metashell_no_word' -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c kafka-shell -n '__metashell_no_word' -l keep-going -s k -d 'in a script, go on after a command that failed'
complete -c kafka-shell -n '__metashell_no_word' -l max-decompressed -x -d 'largest size of a batch after decompression; a larger one is a fault'
complete -c kafka-shell -n '__metashell_no_word' -l verbose -s v -d 'tell on standard error what was read, torn tails and every fault'
complete -c kafka-shell -n '__metashell_no_word' -l no-color -d 'no colours, as with NO_COLOR in the environment'
complete -c kafka-shell -n '__metashell_no_word' -l version -d 'print the version and exit'
complete -c kafka-shell -n '__metashell_no_word' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_no_word' -x -a cat -d 'print the contents of metadata leaves'
complete -c kafka-shell -n '__metashell_word cat' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word cat' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_word cat' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_no_word' -x -a cd -d 'set the current working directory'
complete -c kafka-shell -n '__metashell_word cd' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word cd' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_word cd' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_no_word' -x -a exit -d 'leave the shell'
complete -c kafka-shell -n '__metashell_word exit' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word exit' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_no_word' -x -a find -d 'search for nodes below directories'
complete -c kafka-shell -n '__metashell_word find' -o name -l name -x -d 'the last component fits the pattern'
complete -c kafka-shell -n '__metashell_word find' -o path -l path-glob -x -d 'the whole path fits the pattern'
complete -c kafka-shell -n '__metashell_word find' -o regex -l regex -x -d 'the whole path fits the expression'
complete -c kafka-shell -n '__metashell_word find' -o type -l type -x -a 'd f topic partition broker controller config acl quota scram token' -d 'the node is one of these'
complete -c kafka-shell -n '__metashell_word find' -o maxdepth -l maxdepth -x -d 'go no deeper than N levels below PATH'
complete -c kafka-shell -n '__metashell_word find' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word find' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_word find' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_no_word' -x -a follow -d 'print every change as it is committed'
complete -c kafka-shell -n '__metashell_word follow' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word follow' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_no_word' -x -a help -d 'list the commands'
complete -c kafka-shell -n '__metashell_word help' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word help' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_no_word' -x -a history -d 'print the lines typed so far'
complete -c kafka-shell -n '__metashell_word history' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word history' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_no_word' -x -a ls -d 'list directories'
complete -c kafka-shell -n '__metashell_word ls' -s l -l long -d 'one line for each name, with its type and what matters about it'
complete -c kafka-shell -n '__metashell_word ls' -s R -l recursive -d 'the directories below too'
complete -c kafka-shell -n '__metashell_word ls' -s 1 -l one -d 'one name a line, also on a terminal'
complete -c kafka-shell -n '__metashell_word ls' -s d -l directory -d 'directories themselves, not what they hold'
complete -c kafka-shell -n '__metashell_word ls' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word ls' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_word ls' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_no_word' -x -a man -d 'show the page of a command'
complete -c kafka-shell -n '__metashell_word man' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word man' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_no_word' -x -a pwd -d 'print the current working directory'
complete -c kafka-shell -n '__metashell_word pwd' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word pwd' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_no_word' -x -a status -d 'say what was read, how far it is certain, and what is wrong'
complete -c kafka-shell -n '__metashell_word status' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word status' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_no_word' -x -a tree -d 'show directories and the leaves in them'
complete -c kafka-shell -n '__metashell_word tree' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word tree' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_word tree' -x -a '(__metashell_nodes)'
complete -c kafka-shell -n '__metashell_no_word' -x -a watch -d 'print the changes below paths as they are committed'
complete -c kafka-shell -n '__metashell_word watch' -l output -s o -x -a 'text json jsonl table csv kafka' -d 'form of the answer'
complete -c kafka-shell -n '__metashell_word watch' -l help -s h -d 'show the help and exit'
complete -c kafka-shell -n '__metashell_word watch' -x -a '(__metashell_nodes)'
complete -c dump-log -l files -r -F -d 'files as Kafka’s tool takes them, separated by commas'
complete -c dump-log -l cluster-metadata-decoder -d 'decode records of the metadata log and its checkpoints'
complete -c dump-log -l offsets-decoder -d 'decode records of __consumer_offsets'
complete -c dump-log -l transaction-log-decoder -d 'decode records of __transaction_state'
complete -c dump-log -l share-group-state-decoder -d 'decode records of __share_group_state'
complete -c dump-log -l remote-log-metadata-decoder -d 'decode records of __remote_log_metadata'
complete -c dump-log -l key-decoder-class -x -d 'what keys are: String, Integer, Long or Default (bytes), or Kafka’s class'
complete -c dump-log -l value-decoder-class -x -d 'what values are: String, Integer, Long or Default (bytes), or Kafka’s class'
complete -c dump-log -l print-data-log -d 'print keys and values too; any decoder turns it on'
complete -c dump-log -l deep-iteration -d 'go into the batches, record by record; --print-data-log turns it on'
complete -c dump-log -l skip-record-metadata -d 'of a record, print only key and value; control records are left out'
complete -c dump-log -l verify-index-only -d 'of an index, run the checks and print no entries'
complete -c dump-log -l index-sanity-check -d 'of an index, run only the check that a broker runs when it starts'
complete -c dump-log -l max-bytes -x -d 'read only so many bytes of each log or checkpoint'
complete -c dump-log -l max-message-size -x -d 'size of the largest message that an index entry may point at'
complete -c dump-log -l type -s t -x -d 'only records of this type, such as TOPIC_RECORD or GROUP_METADATA'
complete -c dump-log -l offset -x -d 'only these offsets; both ends are included and either may be missing'
complete -c dump-log -l since -x -d 'only records of this time or later: ISO 8601 (UTC unless it says more) or Unix ms'
complete -c dump-log -l until -x -d 'only records of this time or earlier'
complete -c dump-log -l key -x -d 'only records in whose key this is found'
complete -c dump-log -l value -x -d 'only records in whose printed value this is found'
complete -c dump-log -l batches -d 'print batch lines too, or nothing else'
complete -c dump-log -l follow -s f -d 'wait for more at the end, as the node writes it, or the quorum commits it; Ctrl-C ends it'
complete -c dump-log -l bootstrap-controller -l controllers -s C -x -d 'attach to the quorum of these controllers as an observer; ID@HOST:PORT is taken too'
complete -c dump-log -l bootstrap-server -s b -x -d 'ask these brokers where the controllers are, and attach there'
complete -c dump-log -l command-config -l config -s c -r -F -d 'property file of a Kafka client: security.protocol, sasl.*, ssl.*'
complete -c dump-log -l address-map -x -d 'where to connect instead, for controllers whose own addresses cannot be reached from here; [::1]:9093 is IPv6'
complete -c dump-log -l timeout -x -d 'give up attaching after so long (10; 2 where no address takes a connection); once attached there is no limit'
complete -c dump-log -l summary -d 'print counts by type and version, offsets, time span, epochs, gaps and compression instead; a table without -o'
complete -c dump-log -l output -s o -x -a 'jsonl json kafka' -d 'form of what is printed: jsonl, one object a line, unless told otherwise'
complete -c dump-log -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c dump-log -l max-decompressed -x -d 'largest size of a batch after decompression; a larger one is a fault'
complete -c dump-log -l jobs -s j -x -d 'processes that decode; by default two for large files where there are two cores'
complete -c dump-log -l verbose -s v -d 'tell on standard error what was read, torn tails and every fault'
complete -c dump-log -l version -d 'print the version and exit'
complete -c dump-log -l help -s h -d 'show the help and exit'
complete -c kafka-metadata-shell -f
complete -c kafka-metadata-shell -n '__metashell_no_word' -l snapshot -s s -r -F -d 'The metadata snapshot file to read.'
complete -c kafka-metadata-shell -n '__metashell_no_word' -l help -s h -d 'show the help and exit'
complete -c kafka-metadata-shell -n '__metashell_no_word' -x -a cat -d 'print the contents of metadata leaves'
complete -c kafka-metadata-shell -n '__metashell_word cat' -x -a '(__metashell_nodes)'
complete -c kafka-metadata-shell -n '__metashell_no_word' -x -a find -d 'search for nodes below directories'
complete -c kafka-metadata-shell -n '__metashell_word find' -x -a '(__metashell_nodes)'
complete -c kafka-metadata-shell -n '__metashell_no_word' -x -a ls -d 'list directories'
complete -c kafka-metadata-shell -n '__metashell_word ls' -x -a '(__metashell_nodes)'
complete -c kafka-metadata-shell -n '__metashell_no_word' -x -a tree -d 'show directories and the leaves in them'
complete -c kafka-metadata-shell -n '__metashell_word tree' -x -a '(__metashell_nodes)'
complete -c kafka-dump-log -f
complete -c kafka-dump-log -l files -r -F -d 'the files to dump, separated by commas'
complete -c kafka-dump-log -l cluster-metadata-decoder -d 'decode records of the metadata log and its checkpoints'
complete -c kafka-dump-log -l print-data-log -d 'print keys and values too; any decoder turns it on'
complete -c kafka-dump-log -l deep-iteration -d 'go into the batches, record by record; --print-data-log turns it on'
complete -c kafka-dump-log -l skip-record-metadata -d 'of a record, print only key and value; control records are left out'
complete -c kafka-dump-log -l max-bytes -x -d 'read only so many bytes of each log or checkpoint'
complete -c kafka-dump-log -l max-message-size -x -d 'size of the largest message that an index entry may point at'
complete -c kafka-dump-log -l verify-index-only -d 'of an index, run the checks and print no entries'
complete -c kafka-dump-log -l index-sanity-check -d 'of an index, run only the check that a broker runs when it starts'
complete -c kafka-dump-log -l offsets-decoder -d 'decode records of __consumer_offsets'
complete -c kafka-dump-log -l transaction-log-decoder -d 'decode records of __transaction_state'
complete -c kafka-dump-log -l share-group-state-decoder -d 'decode records of __share_group_state'
complete -c kafka-dump-log -l remote-log-metadata-decoder -d 'decode records of __remote_log_metadata'
complete -c kafka-dump-log -l key-decoder-class -d 'decoder of keys: String, Default, Integer or Long of org.apache.kafka.tools.api'
complete -c kafka-dump-log -l value-decoder-class -d 'decoder of values: String, Default, Integer or Long of org.apache.kafka.tools.api'
complete -c kafka-dump-log -l version -d 'print the version and exit'
complete -c kafka-dump-log -l help -d 'show the help and exit'
complete -c metashell-verify -l deep -d 'decode every record of metadata, groups, transactions and share groups'
complete -c metashell-verify -l digest -d 'hash the image of each path, of all that lies before OFFSET, as checkpoints are named; by default at the end'
complete -c metashell-verify -l output -s o -x -a 'text json jsonl' -d 'form of what is printed'
complete -c metashell-verify -l max-decompressed -x -d 'largest size of a batch after decompression; a larger one is a fault'
complete -c metashell-verify -l verbose -s v -d 'tell what is no finding too: torn tails, files that vanished meanwhile'
complete -c metashell-verify -l version -d 'print the version and exit'
complete -c metashell-verify -l help -s h -d 'show the help and exit'
complete -c metashell-storage -f
complete -c metashell-storage -l config -s c -r -F -d 'the server’s configuration, a properties file'
complete -c metashell-storage -l cluster-id -s t -x -d 'the id of the cluster, the same on all nodes'
complete -c metashell-storage -l add-scram -s S -x -d 'a credential, SCRAM-SHA-256=[name=alice,password=...] or SCRAM-SHA-512=[...]; others on this machine can read it'
complete -c metashell-storage -l add-scram-file -r -F -d 'SCRAM credentials, one a line as --add-scram takes them; `-` is standard input, so that no password stands in a process list'
complete -c metashell-storage -l ignore-formatted -s g -d 'leave directories alone that are formatted, instead of failing'
complete -c metashell-storage -l release-version -s r -x -d 'the release whose levels a new cluster has (3.3 and later; by default the newest for production)'
complete -c metashell-storage -l feature -s f -x -d 'the feature and its level'
complete -c metashell-storage -l standalone -s s -d 'this controller is the only voter of a new dynamic quorum'
complete -c metashell-storage -l no-initial-controllers -s N -d 'the node joins a dynamic quorum that others form'
complete -c metashell-storage -l initial-controllers -s I -x -d 'the voters of a new dynamic quorum, id@host:port:directory-id between commas, the same on all of them'
complete -c metashell-storage -l dry-run -d 'check everything and show what would be written; nothing is'
complete -c metashell-storage -l output -s o -x -a 'text json kafka' -d 'form of what is printed'
complete -c metashell-storage -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c metashell-storage -l version -d 'print the version and exit'
complete -c metashell-storage -l help -s h -d 'show the help and exit'
complete -c metashell-storage -n '__metashell_no_word' -x -a format -d 'prepare the log directories of a node before its server first starts'
complete -c metashell-storage -n '__metashell_no_word' -x -a info -d 'what the log directories of a node hold, and what is wrong with them'
complete -c metashell-storage -n '__metashell_no_word' -x -a version-mapping -d 'the levels of all features that a release stands for'
complete -c metashell-storage -n '__metashell_no_word' -x -a feature-dependencies -d 'what the level of a feature needs of other features'
complete -c metashell-storage -n '__metashell_no_word' -x -a random-uuid -d 'a new id for a cluster or a directory'
complete -c kafka-storage -f
complete -c kafka-storage -l config -s c -r -F -d 'The Kafka configuration file to use.'
complete -c kafka-storage -l cluster-id -s t -x -d 'The cluster ID to use.'
complete -c kafka-storage -l add-scram -s S -x -d 'A SCRAM_CREDENTIAL to add to the __cluster_metadata log e.g. ’SCRAM-SHA-256=[name=alice,password=alice-secret]’ ’SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]’'
complete -c kafka-storage -l ignore-formatted -s g -d 'When this option is passed, the format command will skip over already formatted directories rather than failing.'
complete -c kafka-storage -l release-version -s r -x -d 'The release version to use for the corresponding feature mapping. The minimum is 3.3-IV3; the default is 4.3-IV0'
complete -c kafka-storage -l feature -s f -x -d 'The features and their versions to look up dependencies for, in feature=version format. For example: `metadata.version=5`.'
complete -c kafka-storage -l standalone -s s -d 'Used to initialize a controller as a single-node dynamic quorum. When setting this flag, the controller.quorum.voters config must not be set, and controller.quorum.bootstrap.servers is set instead.'
complete -c kafka-storage -l no-initial-controllers -s N -d 'Used to initialize a server without specifying a dynamic quorum. When setting this flag, the controller.quorum.voters config should not be set, and controller.quorum.bootstrap.servers is set instead.'
complete -c kafka-storage -l initial-controllers -s I -x -d 'Used to initialize a server with the specified dynamic quorum. The argument is a comma-separated list of id@hostname:port:directory. The same values must be used to format all nodes. For example: 0@example.com:8082:JEXY6aqzQY-32P5TStzaFg,1@example.com:8083:MvDxzVmcRsaTz33bUuRU6A,2@example.com:8084:07R5amHmR32VDA6jHkGbTA . When setting this flag, the controller.quorum.voters config must not be set, and controller.quorum.bootstrap.servers is set instead.'
complete -c kafka-storage -l help -s h -d 'show the help and exit'
complete -c kafka-storage -n '__metashell_no_word' -x -a info -d 'Get information about the Kafka log directories on this node.'
complete -c kafka-storage -n '__metashell_no_word' -x -a format -d 'Format the Kafka log directories on this node.'
complete -c kafka-storage -n '__metashell_no_word' -x -a version-mapping -d 'Look up the corresponding features for a given metadata version. Using the command with no --release-version argument will return the mapping for the latest stable metadata version'
complete -c kafka-storage -n '__metashell_no_word' -x -a feature-dependencies -d 'Look up dependencies for a given feature version. If the feature is not known or the version not yet defined, an error is thrown. Multiple features can be specified.'
complete -c kafka-storage -n '__metashell_no_word' -x -a random-uuid -d 'Print a random UUID.'
complete -c metashell-export -l out -r -F -d 'where the tables go'
complete -c metashell-export -l format -s f -x -a 'parquet arrow csv jsonl' -d 'form of the files'
complete -c metashell-export -l tables -s t -x -d 'only these tables, separated by commas; all stands for all of them. By default all but records, whose JSON text costs several times what everything else does'
complete -c metashell-export -l on-error -x -a 'fail skip' -d 'at a corrupt batch or record: fail, or go on and list it in the table faults'
complete -c metashell-export -l jobs -s j -x -d 'processes; by default one a core'
complete -c metashell-export -l log -x -a 'metadata offsets transactions share remote_log' -d 'what the files hold, where neither their records nor their directory tell; other logs are left out'
complete -c metashell-export -l show-secrets -d 'export passwords, keys and salts instead of redacting them; the files say that they do'
complete -c metashell-export -l quiet -s q -d 'no progress bar and no summary'
complete -c metashell-export -l version -d 'print the version and exit'
complete -c metashell-export -l help -s h -d 'show the help and exit'
complete -c metashell-sql -f
complete -c metashell-sql -l output -s o -x -a 'text json jsonl csv table' -d 'form of what is printed'
complete -c metashell-sql -l on-error -x -a 'fail skip' -d 'at a corrupt batch or record: fail, or go on and list it in the table faults'
complete -c metashell-sql -l log -x -a 'metadata offsets transactions share remote_log' -d 'what the files hold, where neither their records nor their directory tell; other logs are left out'
complete -c metashell-sql -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c metashell-sql -l version -d 'print the version and exit'
complete -c metashell-sql -l help -s h -d 'show the help and exit'
complete -c metashell-report -f
complete -c metashell-report -l out -x -d 'where files are written; made if absent'
complete -c metashell-report -l format -x -a 'parquet csv json html' -d 'a form of the answer; may be given again (default: all four)'
complete -c metashell-report -l on-error -x -a 'fail skip' -d 'what a corrupt batch does: end the run, or be left out and counted'
complete -c metashell-report -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c metashell-report -l version -d 'print the version and exit'
complete -c metashell-report -l help -s h -d 'show the help and exit'
complete -c spark-reports -f
complete -c spark-reports -l out -x -d 'where files are written; made if absent'
complete -c spark-reports -l master -x -d 'where Spark runs: local[2], spark://HOST:PORT, yarn, k8s://...'
complete -c spark-reports -l format -x -a 'parquet csv json html' -d 'a form of the answer; may be given again (default: all four)'
complete -c spark-reports -l table -x -d 'for export and stream: a table; may be given again (default: all that occur)'
complete -c spark-reports -l on-error -x -a 'fail skip' -d 'what a corrupt batch does: end the run, or be left out and counted'
complete -c spark-reports -l show-secrets -d 'print passwords, keys and salts instead of redacting them'
complete -c spark-reports -l split-size -x -d 'about how much of a file one task reads (default: 8 to 32 MiB)'
complete -c spark-reports -l once -d 'stream what is there, then end'
complete -c spark-reports -l version -d 'print the version and exit'
complete -c spark-reports -l help -s h -d 'show the help and exit'
