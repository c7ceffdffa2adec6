import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints the settings that are known for kinds of resource, a form feed and the kind before those of each; lists have one item between two bars. */
public class ConfigDefinitions {
    public static void main(String[] kinds) throws Exception {
        for (String kind : kinds) {
            System.out.println("\f" + kind);
            print(kind);
        }
    }

    private static void print(String kind) throws Exception {
        Map<String, ConfigDef.ConfigKey> keys = switch (kind) {
            case "topic" -> LogConfig.configKeys();
            case "broker" -> kafka.server.KafkaConfig.configDef().configKeys();
            case "group" -> GroupConfig.CONFIG_DEF.configKeys();
            default -> ClientMetricsConfigs.configDef().configKeys();
        };
        for (ConfigDef.ConfigKey key : keys.values()) {
            String fallback = key.hasDefault() ? text(ConfigDef.convertToString(key.defaultValue, key.type)) : "(required)";
            System.out.println(String.join("\t", key.name, key.type.name(), fallback, validator(key.validator), flags(kind, key), synonyms(kind, key),
                String.valueOf(key.documentation).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")));
        }
    }

    private static String flags(String kind, ConfigDef.ConfigKey key) {
        List<String> words = new ArrayList<>();
        if (key.internalConfig) {
            words.add("internal");
        }
        if (kind.equals("broker") && DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS.contains(key.name)) {
            words.add("dynamic");
        }
        return String.join(" ", words);
    }

    private static String synonyms(String kind, ConfigDef.ConfigKey key) {
        if (kind.equals("topic")) {
            List<ConfigSynonym> list = ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.getOrDefault(key.name, List.of());
            return String.join(" ", list.stream().map(one -> one.name() + factor(one)).toList());
        }
        if (kind.equals("group")) {
            return GroupConfig.brokerSynonym(key.name).orElse("");
        }
        return kind.equals("broker") ? String.join(" ", DynamicBrokerConfig.brokerConfigSynonyms(key.name, true)) : "";
    }

    /** What a synonym's value is multiplied by: hours and minutes count as milliseconds. */
    private static String factor(ConfigSynonym synonym) {
        try {
            String one = synonym.converter().apply("1");
            return one.equals("1") ? "" : "*" + one;
        } catch (RuntimeException notANumber) {
            return "";
        }
    }

    private static String validator(Object validator) throws Exception {
        if (validator == null) {
            return "";
        }
        List<String> words = new ArrayList<>(List.of(validator.getClass().getSimpleName().replaceAll("\\$.*", "")));
        addFields(validator, words);
        return String.join(" ", words);
    }

    private static void addFields(Object validator, List<String> words) throws Exception {
        for (Field field : validator.getClass().getDeclaredFields()) {
            if (java.lang.reflect.Modifier.isStatic(field.getModifiers()) || field.isSynthetic()) {
                continue;
            }
            field.setAccessible(true);
            Object value = field.get(validator);
            if (value instanceof ConfigDef.Validator nested) {
                words.add(validator(nested));
            } else if (value instanceof ConfigDef.Validator[] all) {
                for (ConfigDef.Validator one : all) {
                    words.add("| " + validator(one));
                }
            } else if (value instanceof List<?> all && !all.isEmpty() && all.get(0) instanceof ConfigDef.Validator) {
                for (Object one : all) {
                    words.add("| " + validator(one));
                }
            } else if (value instanceof Collection<?> || value instanceof Number || value instanceof Boolean || value == null) {
                words.add(field.getName() + "=" + text(value));
            }
        }
    }

    private static String text(Object value) {
        if (value instanceof Collection<?> list) {
            return String.join(",", list.stream().map(Object::toString).toList());
        }
        return value == null ? "(null)" : value.toString();
    }
}
