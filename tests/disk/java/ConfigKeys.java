import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;

/** Prints what a broker's or controller's configuration knows: a line for each key, in the order in which they are checked. */
public class ConfigKeys {
    public static void main(String[] args) throws Exception {
        for (ConfigDef.ConfigKey key : kafka.server.KafkaConfig.configDef().configKeys().values()) {
            String fallback = key.hasDefault() ? text(key.defaultValue) : "(required)";
            System.out.println(String.join("\t", key.name, key.type.name(), fallback, validator(key.validator)));
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
                addFields(nested, words);
            } else if (value instanceof Collection<?> || value instanceof Number || value instanceof Boolean || value == null) {
                words.add(field.getName() + "=" + text(value));
            }
        }
    }

    private static String text(Object value) {
        if (value instanceof Collection<?> list) {
            return String.join(",", list.stream().map(Object::toString).toList());
        }
        return value instanceof Class<?> type ? type.getName() : value == null ? "(null)" : value.toString();
    }
}
